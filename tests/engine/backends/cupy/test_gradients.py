"""Gradients of loops on CuPy, and on the stand-in for its array module where there is no GPU."""

import numpy as np
import pytest
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.testing import random_loops
from tests.engine.backends.cupy import stand_in

stand_in.register()


def agree(case, mode):
    """Check the gradient of a random loop's results on a tier against the reference."""
    results, _, inputs, _ = case.build()
    cost = sum((T.sum(T.sin(result)) for result in results), T.constant(0.0))
    wrt = [variable for variable, _ in inputs]
    found = pull_back({cost: T.constant(1.0)}, wrt)
    outputs = [cost, *(g for g in found if g is not None)]
    values = [value for _, value in inputs]
    options = {"on_unused_input": "ignore", "no_default_updates": True}
    mine = scanviz.function(wrt, outputs, mode=mode, **options)(*values)
    theirs = scanviz.function(wrt, outputs, mode="reference", **options)(*values)
    for a, b in zip(mine, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@given(case=random_loops(dtypes=("float64",)))
def test_gradients_of_random_loops_agree_with_the_reference(case):
    agree(case, "stand-in")


def lstm_like(mode):
    x, h0, W = T.matrix("x"), T.vector("h0"), T.matrix("W")

    def step(x_t, h, W):
        gates = T.dot(h, W) + x_t[0]
        return T.sigmoid(gates[:2].sum()) * T.tanh(gates)

    h, _ = scanviz.scan_checkpoints(step, x, h0, W, save_every_N=2)
    cost = T.sum(h[-1] ** 2)
    f = scanviz.function([x, h0, W], [cost, *scanviz.grad(cost, [x, h0, W])], mode=mode)
    rng = np.random.default_rng(0)
    return f(rng.normal(size=(5, 3)), rng.normal(size=4), rng.normal(size=(4, 4)) / 2)


def test_gradients_of_slices_products_and_checkpoints_agree_with_the_reference():
    for a, b in zip(lstm_like("stand-in"), lstm_like("reference"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.gpu
@given(case=random_loops(dtypes=("float64",)))
def test_gradients_of_random_loops_agree_on_a_gpu(case):
    agree(case, "cupy")


@pytest.mark.gpu
def test_gradients_of_slices_products_and_checkpoints_agree_on_a_gpu():
    for a, b in zip(lstm_like("cupy"), lstm_like("reference"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
