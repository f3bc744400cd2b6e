"""Laws of gradients of whole random loops: against Taylor coefficients, unrolled, with checkpoints, of both modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.table import connection
from scanviz.engine.graph.nodes import Array, Variable, is_floating
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import depending_on, toposort
from scanviz.engine.mode import Mode
from scanviz.engine.scan.loop import Scan
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from scanviz.testing.unrolled import unroll
from tests.laws.law import law
from tests.laws.tiers import TIERS
from tests.support.taylor import taylor_coefficients

Inputs = list[tuple[Variable, Array]]
_MODES = st.builds(Mode, TIERS, st.sampled_from(["all", "none"]))


def cost_of(results: Sequence[Variable], state: Variable | None) -> Variable:
    """Return the number that ``cost_of_values`` computes of values."""
    total = sum((T.sum(T.sin(result * (1 + 0.25 * k))) for k, result in enumerate(results)), T.constant(0.0))
    return total if state is None else total + T.sum(T.cos(state))


def _directions(inputs: Inputs, state: SharedVariable | None, seed: int) -> dict[Variable, Array]:
    """Return a direction for each input and the shared variable."""
    rng = np.random.default_rng(seed)
    values = [*inputs, *([(state, state.get_value())] if state is not None else [])]
    return {variable: np.asarray(rng.normal(size=value.shape), value.dtype) for variable, value in values}


def _gradients(cost: Variable, wrt: Sequence[Variable]) -> list[Variable]:
    found: list[Variable] = scanviz.grad(cost, list(wrt), disconnected_inputs="ignore")
    return found


def _slope(value: Variable, along: Mapping[Variable, Array]) -> Variable:
    """Return the derivative of a number along a direction, from its gradient."""
    pairs = zip(_gradients(value, list(along)), along.values(), strict=True)
    return sum((T.sum(g * v) for g, v in pairs), T.constant(0.0))


def _computed(inputs: Inputs, results: Sequence[Variable], mode: Mode) -> list[Array]:
    f = scanviz.function(
        [variable for variable, _ in inputs],
        list(results),
        mode=mode,
        on_unused_input="ignore",
        no_default_updates=True,
    )
    found: list[Array] = f(*(value for _, value in inputs))
    return found


@law(
    sample=16,
    case=random_loops(smooth=True, stops=False, dtypes=("float64",), longest=4),
    order=st.integers(1, 3),
    seed=st.integers(0, 999),
    mode=_MODES,
)
def derivatives_of_a_loop_are_its_taylor_coefficients(
    case: LoopCase, order: int, seed: int, mode: Mode
) -> None:
    """Derivatives of orders 1 to 3 along a direction are those of a plain loop over complex numbers."""
    results, updates, inputs, state = case.build()
    along = _directions(inputs, state, seed)
    cost = cost_of(results, updates[state] if state is not None else None)
    derivatives = [cost]
    for _ in range(order):
        derivatives.append(_slope(derivatives[-1], along))
    named = {str(variable.name): v for variable, v in along.items()}
    coefficients, doubt = taylor_coefficients(case, named, order)
    factorials = np.cumprod([1.0, *range(1, order + 1)])
    assume(bool((doubt <= 1e-5 * (1 + np.abs(coefficients))).all()))
    for found, coefficient, unsure, k in zip(
        _computed(inputs, derivatives, mode), coefficients, doubt, factorials, strict=True
    ):
        np.testing.assert_allclose(found / k, coefficient, rtol=1e-7, atol=1e-7 + unsure)


@law(sample=16, case=random_loops(dtypes=("float64",)), seed=st.integers(0, 999), mode=_MODES)
def forward_mode_is_the_transpose_of_reverse_mode(case: LoopCase, seed: int, mode: Mode) -> None:
    """U · (J v) is v · (Jᵀ u) for all results of a loop at once."""
    results, _, inputs, state = case.build()
    along = _directions(inputs, state, seed)
    rng = np.random.default_rng(seed + 1)
    shapes = [array.shape for array in _computed(inputs, results, Mode("reference", "none"))]
    weights = [np.asarray(rng.normal(size=shape)) for shape in shapes]
    wrt, vectors = list(along), list(along.values())
    pushed = scanviz.Rop(results, wrt, vectors, disconnected_outputs="ignore")
    pulled = scanviz.Lop(results, wrt, weights, disconnected_inputs="ignore")
    found = _computed(inputs, [*pushed, *pulled], mode)
    left = sum(float(np.sum(u * t)) for u, t in zip(weights, found, strict=False))
    right = sum(float(np.sum(v * g)) for v, g in zip(vectors, found[len(weights) :], strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


@law(
    sample=16,
    case=random_loops(dtypes=("float64",)),
    limit=st.just(-1) | st.integers(1, 4),
    rows=st.sampled_from([slice(None), slice(-1, None)]),
    mode=_MODES,
)
def a_gradient_is_that_of_the_loop_unrolled(case: LoopCase, limit: int, rows: slice, mode: Mode) -> None:
    """The gradient of a loop, truncated or not, is that of the graph that a Python loop builds step by step.

    Of all rows or of the last one, beside which a truncated gradient needs but few.
    """
    results, updates, inputs, state = case.build(truncate_gradient=limit)
    unrolled, last = unroll(case, inputs, state, truncate_gradient=limit)
    wrt = [variable for variable, _ in inputs] + ([state] if state is not None else [])
    read, others = ([result[rows] for result in found] for found in (results, unrolled))
    mine = _gradients(cost_of(read, updates[state] if state is not None else None), wrt)
    theirs = _gradients(cost_of(others, last), wrt)
    found = _computed(inputs, [*mine, *theirs], mode)
    for a, b in zip(found[: len(wrt)], found[len(wrt) :], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@law(
    sample=16,
    case=random_loops(dtypes=("float64",), stops=False),
    every=st.integers(1, 4),
    mode=_MODES,
)
def a_loop_with_checkpoints_has_the_gradient_of_the_plain_one(case: LoopCase, every: int, mode: Mode) -> None:
    """Keeping every N-th step alone changes no gradient of what is kept."""
    assume(not case.go_backwards)
    kept, new, inputs, state = case.build(every)
    plain, updates, others, other_state = case.build()
    costs = [cost_of([variable[-1:] for variable in kept], new[state] if state is not None else None)]
    costs += [
        cost_of(
            [variable[-1:] for variable in plain], updates[other_state] if other_state is not None else None
        )
    ]
    first = [variable for variable, _ in inputs] + ([state] if state is not None else [])
    second = [variable for variable, _ in others] + ([other_state] if other_state is not None else [])
    found = _computed(inputs, [costs[0], *_gradients(costs[0], first)], mode)
    expected = _computed(others, [costs[1], *_gradients(costs[1], second)], mode)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@law(sample=6, case=random_loops(dtypes=("float64",), stops=False), seed=st.integers(0, 999))
def what_is_not_connected_does_not_change(case: LoopCase, seed: int) -> None:
    """Where a connection pattern says no, a result of the loop does not change with the input."""
    results, _, inputs, _ = case.build()
    nodes = [node for node in toposort(results) if isinstance(node.op, Scan)]
    assume(bool(nodes))
    node = nodes[-1]  # a nested loop stands in its step
    pattern, mode = connection(node), Mode("reference", "none")
    floats = [k for k, output in enumerate(node.outputs) if is_floating(output)]
    values = [value for _, value in inputs]
    f = scanviz.function(
        [variable for variable, _ in inputs],
        [node.outputs[k] for k in floats],
        mode=mode,
        on_unused_input="ignore",
        no_default_updates=True,
    )
    before = f(*values)
    rng = np.random.default_rng(seed)
    for k, (variable, value) in enumerate(inputs):
        moved = f(*values[:k], value + np.asarray(rng.normal(size=value.shape)), *values[k + 1 :])
        depending = depending_on([variable], node.inputs)
        rows = [row for given, row in zip(node.inputs, pattern, strict=True) if given in depending]
        for j, old, new in zip(floats, before, moved, strict=True):
            if not any(row[j] for row in rows):
                np.testing.assert_array_equal(old, new)
