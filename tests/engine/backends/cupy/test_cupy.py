"""The CuPy backend without a GPU, on a stand-in for its array module, and with one where there is one."""

import numpy as np
import pytest
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.testing import random_loops, run_plainly
from tests.engine.backends.cupy import stand_in

stand_in.register()


@given(case=random_loops())
def test_random_loops_agree_with_a_plain_python_loop(case):
    expected, state = run_plainly(case)
    if case.stop is not None and any(abs(float(np.sum(row)) - case.stop) < 1e-3 for row in expected[0]):
        return
    found, new = case.compute("stand-in")
    tolerance = {"float64": 1e-10, "float32": 2e-4}.get(case.dtype, 0)
    for a, b in zip(found, expected, strict=True):
        assert isinstance(a, np.ndarray) and a.dtype == case.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    if state is not None:
        np.testing.assert_allclose(new, state, rtol=tolerance, atol=tolerance)


OPERATIONS = {
    "softmax": lambda x: T.softmax(x),
    "log_softmax": lambda x: T.log_softmax(x),
    "assignment": lambda x: T.set_subtensor(x[0], 5.0),
    "increment at repeated places": lambda x: T.inc_subtensor(x[[0, 0]], 1.0),
    "sorting": lambda x: T.sort(x)[::-1],
    "argmax": lambda x: T.argmax(x, axis=1),
    "cumulative sum": lambda x: T.cumsum(x, axis=0),
    "inverse": lambda x: T.linalg.inv(T.dot(x.T, x) + T.eye(4)),
    "eigenvalues and vectors": lambda x: (
        abs(T.linalg.eigh(T.dot(x.T, x))[1]) + T.linalg.eigvalsh(T.dot(x.T, x))
    ),
    "orthogonal factors": lambda x: abs(T.linalg.qr(x)[1]) + T.sum(T.linalg.qr(x, "complete")[0] ** 2),
    "singular values": lambda x: abs(T.linalg.svd(x)[0]) + T.sum(T.linalg.svdvals(x)),
    "pseudoinverse": lambda x: T.linalg.pinv(x),
    "least squares": lambda x: T.linalg.lstsq(x, x[:, 0])[0] + T.linalg.lstsq(x, x)[2],
    "exponential": lambda x: T.linalg.expm(T.dot(x.T, x) / 8),
    "searching": lambda x: T.searchsorted(T.sort(x[0]), x, "right"),
    "counting": lambda x: T.bincount(T.argsort(x[0]), x[1], 6) + T.bincount(T.argsort(x[0]), minlength=6),
    "median": lambda x: T.median(x, axis=0) + T.quantile(x, [0.2, 0.5], axis=1).sum(),
    "padding": lambda x: T.pad(x, 2, "reflect"),
    "einsum": lambda x: T.einsum("ij,kj,kl->il", x, x, x),
    "solve": lambda x: T.linalg.solve(T.dot(x.T, x) + T.eye(4), T.ones(4)),
    "shapes": lambda x: T.tile(x.dimshuffle(1, "x", 0), (1, 2, 1)).reshape((-1, x.shape[0])),
    "joining": lambda x: T.concatenate([x, T.zeros_like(x)], axis=1),
    "triangle": lambda x: T.tril(x) + T.triu(x, 1),
    "a mask": lambda x: x[x > 0],
    "variance": lambda x: x.var(axis=0),
    "rolled": lambda x: T.roll(x, 2, axis=1),
    "repeated": lambda x: T.repeat(x, 2, axis=0),
    "sigmoid and softplus": lambda x: T.sigmoid(x) + T.softplus(x),
    "a choice": lambda x: scanviz.ifelse(x.sum() > 0, x, -x),
    "diagonal": lambda x: T.diag(T.diagonal(x)),
    "where and clip": lambda x: T.where(x > 0, T.clip(x, -0.5, 0.5), 0.0),
    "tensordot": lambda x: T.tensordot(x, x, axes=[[0], [0]]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_agree_with_the_reference(name):
    x = T.matrix("x")
    value = np.random.default_rng(3).normal(size=(3, 4))
    result = OPERATIONS[name](x)
    expected = scanviz.function([x], result, mode="reference")(value)
    found = scanviz.function([x], result, mode="stand-in")(value)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.gpu
@given(case=random_loops())
def test_random_loops_agree_on_a_gpu(case):
    expected, _ = run_plainly(case)
    if case.stop is not None and any(abs(float(np.sum(row)) - case.stop) < 1e-3 for row in expected[0]):
        return
    found, _ = case.compute("cupy")
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)
