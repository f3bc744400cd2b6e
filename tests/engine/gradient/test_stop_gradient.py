"""What stops, zeroes or limits a derivative, in both modes and in loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back

ONE = T.constant(1.0)
numbers = st.lists(st.floats(-9, 9, width=16), min_size=1, max_size=4)


@pytest.mark.parametrize("barrier", [scanviz.disconnected_grad, scanviz.zero_grad])
def test_a_barrier_stops_derivatives_in_both_modes(barrier):
    x = T.scalar("x")
    assert pull_back({barrier(x * x) * 3: ONE}, [x]) == [None]
    assert push_forward({x: ONE}, [barrier(x * x) * 3]) == [None]
    beside = barrier(x * x) * x  # taken as a constant, and the other factor is not
    assert float(scanviz.grad(beside, x).eval({x: 3.0})) == 9.0
    assert float(scanviz.Rop(beside, x, ONE).eval({x: 3.0})) == 9.0


def test_a_disconnected_input_is_an_error_and_a_derivative_of_zero_is_none():
    x = T.scalar("x")
    with pytest.raises(scanviz.ScanvizError, match="`x` is not connected"):
        scanviz.grad(scanviz.disconnected_grad(x), x)
    assert float(scanviz.grad(scanviz.zero_grad(x), x).eval({x: 3.0})) == 0.0


@given(
    numbers, st.floats(-4, 4, width=16), st.floats(0, 4, width=16), st.sampled_from(["float64", "float32"])
)
def test_a_clipped_gradient_stays_in_its_interval_and_keeps_its_dtype(row, low, width, dtype):
    x = T.tensor(dtype, (None,), "x")
    g = scanviz.grad(T.sum(scanviz.grad_clip(x, low, low + width) ** 2), x)
    found = g.eval({x: np.array(row, dtype)})
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.clip(2 * np.array(row, dtype), low, low + width).astype(dtype))


def test_tangents_pass_a_clipped_gradient_unchanged():
    x = T.scalar("x")
    assert float(scanviz.Rop(scanviz.grad_clip(x, -1, 1) * 5, x, ONE).eval({x: 3.0})) == 5.0


def test_the_gradient_of_a_clipped_gradient_is_zero_where_it_was_cut():
    x = T.vector("x")
    first = scanviz.grad(T.sum(scanviz.grad_clip(x, -3, 3) ** 2), x)
    second = scanviz.grad(T.sum(first), x)  # 2 where it is not cut, which the limit lets pass
    assert second.eval({x: [0.2, 3.0, -3.0]}).tolist() == [2.0, 0.0, 0.0]


def test_a_gradient_is_clipped_at_every_step_of_a_loop():
    x = T.scalar("x")
    rows, _ = scanviz.scan(lambda h: scanviz.grad_clip(h, -1.5, 1.5) * 2, outputs_info=x, n_steps=4)
    assert float(scanviz.grad(rows[-1], x).eval({x: 1.0})) == 1.5
    plain, _ = scanviz.scan(lambda h: h * 2, outputs_info=x, n_steps=4)
    assert float(scanviz.grad(plain[-1], x).eval({x: 1.0})) == 16.0


def test_a_barrier_in_a_step_cuts_the_way_through_the_state_alone():
    w, x = T.scalar("w"), T.scalar("x")
    rows, _ = scanviz.scan(
        lambda h, w: scanviz.disconnected_grad(h) * w, outputs_info=x, non_sequences=w, n_steps=3
    )
    # the last row is x w³, and only the last step counts: x w²
    assert float(scanviz.grad(rows[-1], w).eval({w: 2.0, x: 3.0})) == 12.0
