"""Gradients of random loops against those of the same loop unrolled, at first to third order, and forward against reverse."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.forward import push_forward
from scanviz.engine.gradient.reverse import pull_back
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from scanviz.testing import random_loops, run_plainly, unroll


def gradients(cost, wrt):
    """Return the gradient with respect to each, zeros where there is none."""
    found = pull_back({cost: T.constant(np.ones((), cost.dtype))}, wrt)
    return [T.zeros_like(x) if g is None else g for g, x in zip(found, wrt, strict=True)]


def cost_of(outputs, chosen, seed):
    """Return a smooth function of some of the results; some are used twice."""
    rng = np.random.default_rng(seed)
    total = T.constant(np.zeros((), outputs[0].dtype))
    for k in chosen:
        weight = T.constant(rng.uniform(0.5, 1.5, ()).astype(outputs[0].dtype))
        total = total + T.sum(T.sin(outputs[k] * weight))
    return total


def both(case, chosen, seed, of_update=False):
    """Return the cost by scan and unrolled, with what to differentiate with respect to and the values."""
    results, updates, inputs, state = case.build()
    unrolled, last = unroll(case, inputs, state)
    wrt = [variable for variable, _ in inputs] + ([state] if state is not None else [])
    costs = [cost_of(results, chosen, seed), cost_of(unrolled, chosen, seed)]
    if of_update and state is not None:
        costs = [costs[0] + T.sum(T.sin(updates[state])), costs[1] + T.sum(T.sin(last))]
    return costs, wrt, inputs


def compare(inputs, pairs, mode, tolerance):
    given = [variable for variable, _ in inputs]
    f = scanviz.function(
        given,
        [each for pair in pairs for each in pair],
        mode=mode,
        on_unused_input="ignore",
        no_default_updates=True,
    )
    found = f(*(value for _, value in inputs))
    for mine, theirs in zip(found[::2], found[1::2], strict=True):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


MODES = ("numpy", "reference")
CHOICES = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@given(
    case=random_loops(dtypes=("float64",)),
    chosen=CHOICES,
    seed=st.integers(0, 99),
    mode=st.sampled_from(MODES),
    of_update=st.booleans(),
)
def test_first_order(case, chosen, seed, mode, of_update):
    chosen = [k % len(case.outputs) for k in chosen]
    costs, wrt, inputs = both(case, chosen, seed, of_update)
    compare(inputs, [costs, *zip(*(gradients(cost, wrt) for cost in costs), strict=True)], mode, 1e-9)


@given(case=random_loops(dtypes=("float64",), longest=4), chosen=CHOICES, seed=st.integers(0, 99))
def test_second_order(case, chosen, seed):
    chosen = [k % len(case.outputs) for k in chosen]
    costs, wrt, inputs = both(case, chosen, seed)
    seconds = []
    for cost in costs:
        inner = sum((T.sum(T.sin(g)) for g in gradients(cost, wrt)), T.constant(0.0))
        seconds.append(gradients(inner, wrt))
    compare(inputs, list(zip(*seconds, strict=True)), "numpy", 1e-8)


@given(
    case=random_loops(dtypes=("float64",), longest=3, nesting=False, updates=False), seed=st.integers(0, 99)
)
def test_third_order(case, seed):
    assume(len(case.outputs) < 3)
    costs, wrt, inputs = both(case, [0], seed)
    thirds = []
    for each in costs:
        cost = each
        for _ in range(2):
            cost = sum((T.sum(T.sin(g)) for g in gradients(cost, wrt)), T.constant(0.0))
        thirds.append(gradients(cost, wrt))
    compare(inputs, list(zip(*thirds, strict=True)), "numpy", 1e-7)


@given(case=random_loops(dtypes=("float64",)), chosen=CHOICES, seed=st.integers(0, 99))
def test_forward_mode_is_the_transpose_of_reverse_mode(case, chosen, seed):
    chosen = [k % len(case.outputs) for k in chosen]
    costs, wrt, inputs = both(case, chosen, seed)
    rng = np.random.default_rng(seed)
    values = [value for _, value in inputs] + ([case.shared_start] if case.shared_start is not None else [])
    along = [T.constant(rng.normal(size=np.shape(value))) for value in values]
    (tangent,) = push_forward(dict(zip(wrt, along, strict=True)), [costs[0]])
    projected = sum(
        (T.sum(g * v) for g, v in zip(gradients(costs[0], wrt), along, strict=True)), T.constant(0.0)
    )
    compare(inputs, [(T.constant(0.0) if tangent is None else tangent, projected)], "numpy", 1e-9)


@given(case=random_loops(dtypes=("float32",), stops=False), chosen=CHOICES, seed=st.integers(0, 99))
def test_float32_gradients_are_near_those_in_float64(case, chosen, seed):
    chosen = [k % len(case.outputs) for k in chosen]
    costs, wrt, inputs = both(case, chosen, seed)
    found = gradients(costs[0], wrt)
    assert all(g.dtype == "float32" for g in found)
    compare(inputs, [costs, *zip(found, gradients(costs[1], wrt), strict=True)], "numpy", 2e-3)


@given(case=random_loops(dtypes=("float64",), nesting=False), seed=st.integers(0, 99))
def test_a_function_of_a_loop_and_its_gradient_runs_the_loop_once(case, seed):
    costs, wrt, inputs = both(case, range(len(case.outputs)), seed)
    assume(len(run_plainly(case)[0][0]) > 1 and case.n_steps != 1)
    f = scanviz.function(
        [variable for variable, _ in inputs],
        [costs[0], *gradients(costs[0], wrt)],
        on_unused_input="ignore",
        no_default_updates=True,
    )
    names = [node.op.scan_name for node in toposort(f.outputs) if isinstance(node.op, Scan)]
    assert len([name for name in names if not name.startswith("grad_of_")]) <= 1


@pytest.mark.parametrize("mode", MODES)
def test_whole_numbers_beside_floats(mode):
    x, k = T.vector("x"), T.lvector("k")
    (h, count), _ = scanviz.scan(
        lambda x_t, k_t, h, count: (T.tanh(h * T.cast(k_t, "float64") + x_t * count), count + k_t),
        sequences=[x, k],
        outputs_info=[0.5, T.constant(1)],
    )
    g = scanviz.grad(T.sum(h) + T.cast(count[-1], "float64"), x)
    at, ks = np.array([0.1, -0.2, 0.3]), np.array([1, 2, -1])
    found = scanviz.function([x, k], [T.sum(h), g], mode=mode)
    for t in range(3):
        move = 1e-6 * np.eye(3)[t]
        difference = (found(at + move, ks)[0] - found(at - move, ks)[0]) / 2e-6
        np.testing.assert_allclose(found(at, ks)[1][t], difference, rtol=1e-6)


@given(case=random_loops(dtypes=("float64",), smooth=True), chosen=CHOICES, seed=st.integers(0, 99))
def test_the_gradient_along_a_direction_is_the_difference(case, chosen, seed):
    ends = [float(np.sum(row)) for row in run_plainly(case)[0][0]]
    assume(case.stop is None or all(abs(end - case.stop) > 1e-3 for end in ends))
    chosen = [k % len(case.outputs) for k in chosen]
    results, updates, inputs, state = case.build()
    cost = cost_of(results, chosen, seed)
    given, at = [variable for variable, _ in inputs], [value for _, value in inputs]
    wrt = given
    if state is not None:
        cost += T.sum(T.cos(updates[state]))
        wrt, at = [*given, state], [*at, case.shared_start]
    f = scanviz.function(
        given,
        [results[0].shape[0], cost, *gradients(cost, wrt)],
        on_unused_input="ignore",
        no_default_updates=True,
    )

    def compute(values):
        if state is not None:
            state.set_value(values[-1])
        return f(*values[: len(given)])

    rng = np.random.default_rng(seed)
    along = [rng.normal(size=np.shape(each)) for each in at]
    steps, _, *slopes = compute(at)
    expected = sum(float(np.sum(g * v)) for g, v in zip(slopes, along, strict=True))
    moved = {
        move: compute([a + move * v for a, v in zip(at, along, strict=True)])[:2]
        for move in (2e-5, 1e-5, -1e-5, -2e-5)
    }
    assume(
        all(each == steps for each, _ in moved.values())
    )  # the number of steps of a loop with a stop jumps
    coarse, fine = ((moved[move][1] - moved[-move][1]) / (2 * move) for move in (2e-5, 1e-5))
    # A state that doubles at each step makes the cost wind quickly: Richardson's extrapolation takes the error of move**2 off,
    # where the moves are short beside a turn of the cost.
    assume(abs(coarse - fine) <= 1e-4 * max(1.0, abs(fine)))
    np.testing.assert_allclose(expected, (4 * fine - coarse) / 3, rtol=1e-6, atol=1e-6)
