"""Laws of gradients of whole random loops: against Taylor coefficients, unrolled, with checkpoints, of both modes."""

from collections.abc import Mapping

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.table import connection
from scanviz.engine.graph.nodes import Array, Variable, is_floating
from scanviz.engine.graph.traversal import depending_on, toposort
from scanviz.engine.mode import Mode
from scanviz.engine.scan.loop import Scan
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from scanviz.testing.unrolled import unroll
from tests.laws.frame import MODES, PLAIN, Built, built, cost_of, gradients
from tests.laws.law import law
from tests.support.taylor import taylor_coefficients


def _directions(loop: Built, seed: int) -> dict[Variable, Array]:
    """Return a direction for each input and the shared variable."""
    rng = np.random.default_rng(seed)
    values = loop.given | ({} if loop.state is None else {loop.state: loop.state.get_value()})
    return {name: np.asarray(rng.normal(size=value.shape), value.dtype) for name, value in values.items()}


def _slope(value: Variable, along: Mapping[Variable, Array]) -> Variable:
    """Return the derivative of a number along a direction, from its gradient."""
    pairs = zip(gradients(value, list(along)), along.values(), strict=True)
    return sum((T.sum(g * v) for g, v in pairs), T.constant(0.0))


@law(
    sample=16,
    case=random_loops(smooth=True, stops=False, dtypes=("float64",), longest=4),
    order=st.integers(1, 3),
    seed=st.integers(0, 999),
    mode=MODES,
)
def derivatives_of_a_loop_agree_with_its_taylor_coefficients(
    case: LoopCase, order: int, seed: int, mode: Mode
) -> None:
    """Directional derivatives of orders 1 to 3 agree with a plain loop over complex numbers."""
    loop = built(case)
    along = _directions(loop, seed)
    derivatives = [loop.cost]
    for _ in range(order):
        derivatives.append(_slope(derivatives[-1], along))
    named = {str(variable.name): v for variable, v in along.items()}
    coefficients, doubt = taylor_coefficients(case, named, order)
    factorials = np.cumprod([1.0, *range(1, order + 1)])
    assume(bool((doubt <= 1e-5 * (1 + np.abs(coefficients))).all()))
    for found, coefficient, unsure, k in zip(
        loop.computed(derivatives, mode), coefficients, doubt, factorials, strict=True
    ):
        np.testing.assert_allclose(found / k, coefficient, rtol=1e-7, atol=1e-7 + unsure)


@law(sample=16, case=random_loops(dtypes=("float64",)), seed=st.integers(0, 999), mode=MODES)
def forward_mode_is_the_transpose_of_reverse_mode(case: LoopCase, seed: int, mode: Mode) -> None:
    """U · (J v) equals v · (Jᵀ u) for all results of a loop at once."""
    loop = built(case)
    along, rng = _directions(loop, seed), np.random.default_rng(seed + 1)
    shapes = [array.shape for array in loop.computed(loop.results, PLAIN)]
    weights = [np.asarray(rng.normal(size=shape)) for shape in shapes]
    wrt, vectors = list(along), list(along.values())
    pushed = scanviz.Rop(loop.results, wrt, vectors, disconnected_outputs="ignore")
    pulled = scanviz.Lop(loop.results, wrt, weights, disconnected_inputs="ignore")
    found = loop.computed([*pushed, *pulled], mode)
    left = sum(float(np.sum(u * t)) for u, t in zip(weights, found, strict=False))
    right = sum(float(np.sum(v * g)) for v, g in zip(vectors, found[len(weights) :], strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


@law(
    sample=16,
    case=random_loops(dtypes=("float64",)),
    limit=st.just(-1) | st.integers(1, 4),
    rows=st.sampled_from([slice(None), slice(-1, None)]),
    mode=MODES,
)
def a_gradient_agrees_with_the_unrolled_loop(case: LoopCase, limit: int, rows: slice, mode: Mode) -> None:
    """The gradient of a loop, truncated or not, agrees with that of the unrolled graph.

    Of all rows or of the last one, beside which a truncated gradient needs but few.
    """
    loop = built(case, truncate_gradient=limit)
    unrolled, last = unroll(case, list(loop.given.items()), loop.state, truncate_gradient=limit)
    read, others = ([result[rows] for result in found] for found in (loop.results, unrolled))
    mine = gradients(cost_of(read, loop.new_state), loop.read)
    theirs = gradients(cost_of(others, last), loop.read)
    found = loop.computed([*mine, *theirs], mode)
    for a, b in zip(found[: len(mine)], found[len(mine) :], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@law(
    sample=16,
    case=random_loops(dtypes=("float64",), stops=False),
    every=st.integers(1, 4),
    mode=MODES,
)
def a_loop_with_checkpoints_has_the_gradient_of_the_plain_one(case: LoopCase, every: int, mode: Mode) -> None:
    """Keeping every N-th step alone changes no gradient of the kept rows."""
    assume(not case.go_backwards)
    found, expected = [], []
    for loop, values in ((built(case, every), found), (built(case), expected)):
        cost = cost_of([variable[-1:] for variable in loop.results], loop.new_state)
        values += loop.computed([cost, *gradients(cost, loop.read)], mode)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@law(sample=6, case=random_loops(dtypes=("float64",), stops=False), seed=st.integers(0, 999))
def disconnected_results_do_not_change(case: LoopCase, seed: int) -> None:
    """A result does not change with an input from which the connection pattern disconnects it."""
    loop = built(case)
    nodes = [node for node in toposort(loop.results) if isinstance(node.op, Scan)]
    assume(bool(nodes))
    node = nodes[-1]  # a nested loop stands in its step
    pattern = connection(node)
    floats = [k for k, output in enumerate(node.outputs) if is_floating(output)]
    values, f = loop.values, loop.function([node.outputs[k] for k in floats], PLAIN)
    before = f(*values)
    rng = np.random.default_rng(seed)
    for k, (variable, value) in enumerate(loop.given.items()):
        moved = f(*values[:k], value + np.asarray(rng.normal(size=value.shape)), *values[k + 1 :])
        depending = depending_on([variable], node.inputs)
        rows = [row for given, row in zip(node.inputs, pattern, strict=True) if given in depending]
        for j, old, new in zip(floats, before, moved, strict=True):
            if not any(row[j] for row in rows):
                np.testing.assert_array_equal(old, new)
