"""Gradients of random loops in float32, how often their loops run, and what tests of gradients share; their values: the laws of loops."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
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
