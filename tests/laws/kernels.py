"""Laws of loops as one CUDA kernel, run on the host: random steps, states and layouts agree with the reference tier."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.cupy import fused_loop, kernel, kernel_operations, kernel_rows, kernel_slots
from scanviz.engine.backends.cupy.fused_loop import WHY
from scanviz.engine.backends.cupy.kernel_support import KERNEL
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Array, Variable, is_floating, tensor_type
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.mode import Mode
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.runtime import row_storage
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from tests.engine.backends.cupy.fake_cupy import FakeArray
from tests.laws.frame import PLAIN, built, constants_set, gradients
from tests.laws.law import law
from tests.support.comparing import check_same
from tests.support.declared import ROWS
from tests.support.graphs import GraphCase, random_graphs
from tests.support.host_kernels import HAS_COMPILER, ORDERS, HostLauncher

KERNELS = "stand-in-kernels"
# results of these, but for softmaxes, depend on no last place, so that no test or rounding of them does
_OPERATIONS = [
    made
    for made in ROWS
    if isinstance(made, ElementwiseDeclaration) and made.facts.cheap and not made.facts.raises
]
_OPERATIONS += 3 * [made for made in ROWS if made.name in KERNEL]
_DRAWS: dict[str, Callable[[Any, Variable], Any]] = {
    "normal": lambda state, p: T.random.normal(state, p, p),
    "normal of float32": lambda state, p: T.random.normal(state, size=p.shape, dtype="float32"),
    "uniform": lambda state, p: T.random.uniform(state, -p, p),
    "exponential": lambda state, p: T.random.exponential(state, p),
    "gamma": lambda state, p: T.random.gamma(state, p, 2.0),
    "bernoulli": lambda state, p: T.random.bernoulli(state, p),
    "a number": lambda state, p: T.random.uniform(state),
}
_SEEDS = st.integers(0, 2**32 - 1)


def _run(f: Function, values: Sequence[Any], rng: Random) -> list[Array]:
    """Return the results of a call, made twice, whose kernels have few threads and take them in any order."""
    threads, ahead = rng.choice((2, 8)), rng.choice((1, 2, 8))
    with (
        constants_set(HostLauncher, {"order": rng.choice(sorted(ORDERS.values()))}),
        constants_set(fused_loop, {"THREADS": threads}),
        constants_set(kernel_rows, {"MOST_THREADS": threads}),
        constants_set(kernel_operations, {"FEW": rng.choice((1, 2, 16))}),
        constants_set(kernel, {"AHEAD": ahead}),
        constants_set(kernel_slots, {"AHEAD": ahead}),
        constants_set(row_storage, {"FIRST_ROOM": rng.choice((1, 2, 1024))}),
    ):
        for _ in range(2):
            found = f(*values)
    return [array.get() if isinstance(array, FakeArray) else array for array in found]


def _is_fused(f: Function) -> bool:
    return any(made.why == WHY for made in all_made(f.executable.flat.runners).values())


@law(
    sample=10,
    case=random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True, updates=False),
    rules=st.sampled_from(["none", "all"]),
    seed=_SEEDS,
)
def a_loop_as_a_kernel_agrees_with_the_reference(case: LoopCase, rules: str, seed: int) -> None:
    """A random loop and its gradient agree with the reference tier, in any order of blocks and threads."""
    if not HAS_COMPILER:
        return
    loop = built(case)
    expected = loop.computed(loop.wanted, PLAIN)
    f = loop.function(loop.wanted, Mode(KERNELS, rules))
    found = _run(f, loop.values, Random(seed))
    assume(_is_fused(f))
    check_same(found, expected, case.dtype)


@law(sample=14, case=random_graphs(12, among=_OPERATIONS, moderate=True), seed=_SEEDS)
def a_random_step_as_a_kernel_agrees_with_the_reference(case: GraphCase, seed: int) -> None:
    """Any operations in a step, on rows that lie in any way, have the results or the error of the reference tier."""
    if not HAS_COMPILER:
        return
    rng = Random(seed)
    loop = _StepLoop(rng, case)
    outputs = loop.results()
    if rng.random() < 0.3:
        outputs += _slopes(outputs, loop.inputs)
    try:
        expected = scanviz.function(loop.inputs, outputs, mode=PLAIN, on_unused_input="ignore")(*loop.values)
    except ScanvizError as error:
        expected = error
    mode = Mode(KERNELS, rng.choice(["none", "all"]))
    f = scanviz.function(loop.inputs, outputs, mode=mode, on_unused_input="ignore")
    given = [_laid(rng, value) for value in loop.values]
    try:
        found = _run(f, given, rng)
    except ScanvizError as error:
        assert isinstance(expected, ScanvizError), error
        assert type(error) is type(expected), (error, expected)
        return
    assert not isinstance(expected, ScanvizError), expected
    assume(_is_fused(f))
    for mine, theirs in zip(found, expected, strict=True):
        check_same([mine], [theirs], str(theirs.dtype), repr(loop))


@law(
    sample=8,
    draws=st.lists(st.tuples(st.sampled_from(sorted(_DRAWS)), st.integers(0, 1)), min_size=1, max_size=3),
    shape=st.sampled_from([(), (3,), (2, 3), (2, 1)]),
    mixes=st.booleans(),
    steps=st.integers(0, 5),
    ends=st.booleans(),
    seed=_SEEDS,
)
def a_loop_that_draws_as_a_kernel_agrees_with_the_reference(
    draws: list[tuple[str, int]], shape: tuple[int, ...], mixes: bool, steps: int, ends: bool, seed: int
) -> None:
    """Draws of one or two random states in a step give the reference tier's numbers, and states to the last bit."""
    if not HAS_COMPILER:
        return
    found = []
    for mode in (PLAIN, Mode(KERNELS, "none"), Mode(KERNELS, "all")):
        streams = [T.random.random_state(seed), T.random.random_state(seed + 1)]

        def step(h: Variable, streams: Sequence[Any] = streams) -> Any:
            after, total = list(streams), h * 0.5 + (h.mean() if mixes else 0)
            for name, number in draws:
                after[number], drawn = _DRAWS[name](after[number], T.tanh(h) * 0.4 + 0.5)
                total += T.cast(drawn, "float64")
            updates = {old: new for old, new in zip(streams, after, strict=True) if new is not old}
            return (total, updates, scanviz.until((total > 3).all())) if ends else (total, updates)

        h = T.tensor("float64", (None,) * len(shape))
        rows, updates = scanviz.scan(step, None, h, n_steps=steps, name="law")
        f = scanviz.function([h], [rows], updates=updates, mode=mode)
        made = [_run(f, [np.full(shape, 0.25)], Random(seed))[0]]
        made += [np.asarray(stream.get_value()) for stream in streams]
        if mode is not PLAIN:
            assume(_is_fused(f))
        found.append(made)
    expected, *others = found
    for rows_and_states in others:
        check_same(rows_and_states[:1], expected[:1], "float32")
        for mine, theirs in zip(rows_and_states[1:], expected[1:], strict=True):
            np.testing.assert_array_equal(mine, theirs)


class _StepLoop:
    """A loop whose step is a random graph: its inputs are rows of sequences, states or numbers of all steps.

    Parameters
    ----------
    rng : Random
        Draws the roles.
    case : GraphCase
        The graph.
    """

    def __init__(self, rng: Random, case: GraphCase) -> None:
        self.rng, self.case = rng, case
        self.steps = rng.choice((1, 2, 3, 5))
        self.inputs: list[Variable] = []
        self.values: list[Array] = []
        self.roles: list[tuple[str, int, int]] = []  # role, tap, output
        for variable, value in zip(case.inputs, case.rows[0], strict=True):
            kind, shape = tensor_type(variable), value.shape
            fitting = [
                k
                for k, output in enumerate(case.outputs)
                if tensor_type(output).dtype == kind.dtype and case.expected[0][k].shape == shape
            ]
            role, tap = rng.choice(("sequence", "fixed", *(["state"] * 3 if fitting else []))), 0
            if role == "sequence":
                shape = (self.steps, *shape)
            elif role == "state":
                tap = rng.choice((-1, -1, -2, -3))
                shape = shape if tap == -1 else (-tap, *shape)
            self.roles.append((role, tap, rng.choice(fitting) if role == "state" else -1))
            self.inputs.append(T.tensor(kind.dtype, (None,) * len(shape), variable.name))
            self.values.append(_numbers(rng, kind.dtype, shape))

    def __repr__(self) -> str:
        return f"{self.case!r}: {self.steps} steps, {self.roles}, {self.values}"

    def results(self) -> list[Variable]:
        """Return the loop's results: all rows, the last ones or the last one."""
        roles = list(zip(self.roles, self.inputs, strict=True))
        states = [(role, given) for role, given in roles if role[0] == "state"]
        sequences = [given for role, given in roles if role[0] == "sequence"]
        ends = self.rng.choice((0, 0, 0, 2))

        def step(*parts: Variable) -> Any:
            rows = iter(parts)
            held = {k: next(rows) for k, (role, _) in enumerate(roles) if role[0] == "sequence"}
            count = next(rows)
            held |= {k: next(rows) for k, (role, _) in enumerate(roles) if role[0] == "state"}
            read = set(leaves(self.case.outputs))
            given = {inner: held.get(k, roles[k][1]) for k, inner in enumerate(self.case.inputs)}
            made = scanviz.clone(
                list(self.case.outputs), {inner: new for inner, new in given.items() if inner in read}
            )
            new = [made[role[2]] for role, _ in states]
            results = [count + 1, *new, *made]
            return (results, {}, scanviz.until(count > ends)) if ends else results

        first = [{"initial": given, "taps": [tap]} for (_, tap, _), given in states]
        outputs = [None] * len(self.case.outputs)
        rows, _ = scanviz.scan(
            step, sequences, [T.constant(0), *first, *outputs], n_steps=self.steps, name="law"
        )
        last = self.rng.choice((slice(None), slice(None), slice(-1, None), slice(-2, None)))
        return [row[last] for row in rows]


def _slopes(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> list[Variable]:
    floats = [variable for variable in inputs if is_floating(variable)]
    cost = sum(
        (T.cast(output, "float64").sum() for output in outputs if is_floating(output)), T.constant(0.0)
    )
    return gradients(cost, floats)


def _numbers(rng: Random, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return small numbers, of which a few may be added and multiplied in any order."""
    kind = np.dtype(dtype).kind
    some = {"b": (0, 1), "u": (0, 1, 2, 3), "i": (-2, -1, 0, 1, 2), "f": (-2, -1, -0.5, 0.5, 1, 2)}[kind]
    return np.array([rng.choice(some) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)


def _laid(rng: Random, value: Array) -> Any:
    """Return an array of the host, or of the device that lies backwards, transposed or in gaps."""
    how = rng.choice(("host", "backwards", "transposed", "gaps"))
    if not value.ndim:
        return value if how == "host" else FakeArray(value)
    if how == "backwards":
        return FakeArray(np.flip(np.ascontiguousarray(np.flip(value))))
    if how == "transposed":
        return FakeArray(np.ascontiguousarray(value.T).T)
    if how == "gaps":
        gaps = np.zeros((*value.shape[:-1], 2 * value.shape[-1]), value.dtype)
        gaps[..., ::2] = value
        return FakeArray(gaps[..., ::2])
    return value
