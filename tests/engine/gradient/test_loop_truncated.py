"""``truncate_gradient=k``: the gradient of the loop in which all that steps before the last k computed is constant.

The loop to compare with is unrolled, with ``disconnected_grad`` around every result of those steps: their contributions to
non-sequences, to sequences and to initial rows are zero, and an initial row has a gradient where one of the last k steps
reads it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.testing import random_loops, unroll
from tests.engine.gradient.test_loop_random import CHOICES, MODES, compare, cost_of, gradients

LIMITS = st.integers(1, 5)


def both(case, chosen, seed, limit, of_update):
    """Return the cost by scan and unrolled, what to differentiate with respect to, and the inputs with their values."""
    chosen = [k % len(case.outputs) for k in chosen]
    results, updates, inputs, state = case.build(truncate_gradient=limit)
    unrolled, last = unroll(case, inputs, state, truncate_gradient=limit)
    costs = [cost_of(results, chosen, seed), cost_of(unrolled, chosen, seed)]
    wrt = [variable for variable, _ in inputs]
    if state is not None:
        wrt.append(state)
        if of_update:
            costs = [costs[0] + T.sum(T.sin(updates[state])), costs[1] + T.sum(T.sin(last))]
    return costs, wrt, inputs


@given(
    case=random_loops(dtypes=("float64",)),
    chosen=CHOICES,
    seed=st.integers(0, 99),
    limit=LIMITS,
    mode=st.sampled_from(MODES),
    of_update=st.booleans(),
)
def test_a_truncated_gradient_is_that_of_the_last_steps_of_the_loop_unrolled(
    case, chosen, seed, limit, mode, of_update
):
    costs, wrt, inputs = both(case, chosen, seed, limit, of_update)
    pairs = zip(*(gradients(cost, wrt) for cost in costs), strict=True)
    compare(inputs, [costs, *pairs], mode, 1e-9)


@settings(max_examples=max(10, settings.default.max_examples // 2))
@given(
    case=random_loops(dtypes=("float64",), longest=4),
    chosen=CHOICES,
    seed=st.integers(0, 99),
    limit=st.integers(1, 3),
    of_update=st.booleans(),
)
def test_the_gradient_of_a_truncated_gradient_stops_at_the_same_step(case, chosen, seed, limit, of_update):
    costs, wrt, inputs = both(case, chosen, seed, limit, of_update)
    seconds = []
    for cost in costs:
        inner = sum((T.sum(T.sin(g)) for g in gradients(cost, wrt)), T.constant(0.0))
        seconds.append(gradients(inner, wrt))
    compare(inputs, list(zip(*seconds, strict=True)), "numpy", 1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_deep_taps_let_the_last_steps_reach_initial_rows(mode):
    """Step t reads row t - 4 of a mitsot: the last two of five steps read initial row 3 and the row of step 0."""
    start, w = T.vector("start"), T.scalar("w")
    rows, _ = scanviz.scan(
        lambda old, w: w * old**2,
        outputs_info=dict(initial=start, taps=[-4]),
        non_sequences=w,
        n_steps=5,
        truncate_gradient=2,
    )
    f = scanviz.function([start, w], scanviz.grad(T.sum(rows), [start, w]), mode=mode)
    at = np.array([0.2, 0.3, 0.4, 0.5])
    to_start, to_w = f(at, 3.0)
    np.testing.assert_allclose(to_start, [0, 0, 0, 2 * 3 * 0.5])
    np.testing.assert_allclose(to_w, 0.5**2 + (3 * 0.2**2) ** 2)
