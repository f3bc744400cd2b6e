"""Laws of ``jvp`` and ``vjp``, transposes of one another and finite differences; ``clone``, named subgraphs, edits of loops."""

import contextlib

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from scanviz import ScanArgs, clone, equal_computations, jvp, named_subgraph, vjp
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.function import function
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort, variables
from scanviz.engine.graph.types import TensorType
from scanviz.engine.mode import Mode
from scanviz.engine.scan.loop import Scan
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import MODES, TIERS, Built, built, computed, cost_of, gradients
from tests.laws.law import law
from tests.support.comparing import check_same

SMOOTH = random_loops(dtypes=("float64",), smooth=True, updates=False, stops=False)
STEP = 1e-5


@law(sample=12, case=SMOOTH, seed=st.integers(0, 2**31), called=st.booleans(), rewrites=st.booleans())
def jvp_and_vjp_are_transposes_and_jvp_is_a_difference(
    case: LoopCase, seed: int, called: bool, rewrites: bool
) -> None:
    """u·(J v) equals (uᵀ J)·v and J v is the slope along v, for graphs and functions, under any rules."""
    loop, rng = built(case), np.random.default_rng(seed)
    results, wrt = loop.results, loop.floats
    assume(wrt)
    tangents = [np.asarray(rng.normal(size=loop.given[name].shape)) for name in wrt]

    def f(*given: Variable) -> list[Variable]:
        return replace(results, dict(zip(wrt, given, strict=True)))

    what = f if called else results
    values, slopes = jvp(what, wrt, tangents, disconnected_outputs="ignore")
    mode = "numpy" if rewrites else "reference"
    found = loop.computed([*values, *slopes], mode)
    first, along = found[: len(values)], [np.asarray(value) for value in found[len(values) :]]
    cotangents = [rng.normal(size=value.shape) for value in first]
    _, pullback = vjp(what, wrt, disconnected_inputs="ignore")
    pulled = loop.computed(pullback(cotangents), mode)
    forward = sum(float(np.vdot(u, array)) for u, array in zip(cotangents, along, strict=True))
    backward = sum(float(np.vdot(cotangent, v)) for cotangent, v in zip(pulled, tangents, strict=True))
    assert abs(forward - backward) <= 1e-8 * (1 + abs(forward)), (forward, backward)
    _check_difference(loop, tangents, along)


def _check_difference(loop: Built, tangents: list[Array], along: list[Array]) -> None:
    """Raise unless tangents agree with central differences along a direction."""

    def moved(by: float) -> list[Array]:
        there = {name: loop.given[name] + by * v for name, v in zip(loop.floats, tangents, strict=True)}
        return loop._replace(given=loop.given | there).computed(loop.results, "numpy")

    for mine, above, below in zip(along, moved(STEP), moved(-STEP), strict=True):
        slope = (above - below) / (2 * STEP)
        np.testing.assert_allclose(mine, slope, rtol=1e-4, atol=1e-5 * (1 + np.abs(mine).max(initial=0)))


@law(sample=10, size=st.integers(0, 4), seed=st.integers(0, 2**31))
def a_function_is_differentiated_with_respect_to_its_arguments_alone(size: int, seed: int) -> None:
    """Captured variables of a function are constant to jvp and vjp, even if passed as an argument too."""
    x, rng = T.vector("x"), np.random.default_rng(seed)
    point, v = rng.normal(size=size), rng.normal(size=size)
    _, slope = jvp(lambda a: T.sin(a) * x, x, v)
    _, pullback = vjp(lambda a: T.sin(a) * x, x)
    found = function([x], [slope, pullback(v)])(point)
    for derivative in found:
        np.testing.assert_allclose(derivative, np.cos(point) * point * v, rtol=1e-12)


@law(
    sample=15,
    case=random_loops(symbolic_steps=True, updates=False),
    tier=TIERS,
)
def a_clone_computes_the_same_from_other_inputs(case: LoopCase, tier: str) -> None:
    """A loop cloned to other inputs has the loop's results for their values and equals it with inputs paired."""
    loop = built(case)
    results, read = loop.results, set(variables(loop.results))
    known = {variable: Variable(variable.type, "other") for variable in loop.given if variable in read}
    fresh = clone(results, known)
    assert equal_computations(results, fresh, list(known), list(known.values()))
    assert equal_computations(results, fresh) == (not known)
    found = computed({other: loop.given[variable] for variable, other in known.items()}, fresh, tier)
    check_same(found, loop.computed(results, "reference"), case.dtype)


@law(
    sample=12,
    case=random_loops(symbolic_steps=True, updates=False),
    which=st.integers(0, 9),
    tier=TIERS,
)
def an_edited_loop_keeps_its_other_results(case: LoopCase, which: int, tier: str) -> None:
    """A loop with results, states and sequences added and removed keeps its other results."""
    loop = built(case, name="edited")
    loops = [
        node for node in toposort(loop.results) if isinstance(node.op, Scan) and node.op.scan_name == "edited"
    ]
    assume(loops)
    (node,) = loops
    args = ScanArgs.from_node(node)
    steps = Variable(T.lscalar().type, "steps so far")
    row, count = Variable(T.lscalar().type, "row"), len(args.outer_out_nit_sot)
    args = args.add_sequence(T.arange(args.n_steps), row)
    args = args.add_state(T.constant(0, "int64"), steps, steps + row)
    args = args.add_output(steps * 2, "doubled")
    total, doubled = args.outer_out_sit_sot[-1], args.outer_out_nit_sot[count]
    outputs = list(node.outputs)
    gone = outputs[which % len(outputs)]
    with contextlib.suppress(ScanvizValueError):  # the stop condition depends on it
        args = args.remove(args.results[gone], dependents=True)
        total, doubled = args.outer_out_sit_sot[-1], args.outer_out_nit_sot[-1]
    left = [output for output in outputs if output in args.results and isinstance(output.type, TensorType)]
    before = loop.computed(left, "reference")
    wanted = [*clone(left, {variable: args.results[variable] for variable in left}), total, doubled]
    *after, sums, twice = loop.computed(wanted, tier)
    check_same(after, before, case.dtype)
    done = len(run_plainly(case)[0][0])
    expected = np.cumsum(np.arange(done))
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(twice, 2 * (expected - np.arange(done)))


@law(
    sample=12,
    case=SMOOTH,
    mode=MODES,
    captured=st.booleans(),
)
def a_named_subgraph_agrees_with_its_graph(case: LoopCase, mode: Mode, captured: bool) -> None:
    """A loop as a named subgraph has the loop's values and gradients, with inputs passed or captured."""
    loop = built(case)
    results, floats = loop.results, loop.floats
    assume(floats)
    named = named_subgraph(floats[:1] if captured else floats, results, "a graph")
    mine = named(*(floats[:1] if captured else floats))

    def run(outputs: list[Variable]) -> list[Array]:
        return loop.computed([*outputs, *gradients(cost_of(outputs, None), floats)], mode)

    check_same(run(mine), run(results), case.dtype)
