"""Derivatives of decompositions: undetermined vectors, second order, and missing ones (others: the laws of NumPy's names)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import NumericalError, ScanvizError
from scanviz.testing import verify_grad

X = T.matrix("x")
RNG = np.random.default_rng(0)
TALL = RNG.normal(size=(4, 3))
SQUARE = RNG.normal(size=(3, 3))


def symmetric(x):
    return (x + x.mT) / 2


def scaled(vectors, values):
    return (vectors * values[..., None, :]) @ vectors.mT


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [2.0, 0.0, 0.0]])
def test_equal_eigenvalues_have_derivatives_and_their_vectors_do_not(values):
    matrix = np.diag(values)
    for found in (T.linalg.eigvalsh(X), T.linalg.eigh(X)[0], T.linalg.svdvals(X), T.linalg.svd(X)[1]):
        assert np.isfinite(scanviz.grad(T.sum(T.tanh(found)), X).eval({X: matrix})).all()
    for found in (T.linalg.eigh(X)[1], T.linalg.svd(X, full_matrices=False)[0]):
        assert not np.isfinite(scanviz.grad(T.sum(found[:, -1] ** 3), X).eval({X: matrix})).all()


def test_determined_singular_vectors_of_zero_have_derivatives():
    def build(x):
        u, _, vh = T.linalg.svd(x, full_matrices=False)
        return [u**2, vh**2]

    verify_grad(build, [SQUARE[:, :2] @ SQUARE[:2]])
    u = T.linalg.svd(X, full_matrices=False)[0]
    found = scanviz.grad(T.sum(u**3), X).eval({X: np.eye(4, 3) * [1.0, 0.5, 0.0]})
    assert not np.isfinite(found).all()


SECOND = {
    "eigh": lambda x: scaled(*reversed(T.linalg.eigh(symmetric(x)))) + T.linalg.eigh(symmetric(x))[1] ** 2,
    "eigvalsh": lambda x: T.linalg.eigvalsh(symmetric(x)),
    "qr": lambda x: T.linalg.qr(x)[0] ** 2 + T.linalg.qr(x)[1] ** 2,
    "qr of more columns": lambda x: T.linalg.qr(x[:2])[1] ** 2,
    "svd": lambda x: T.linalg.svd(x)[0] ** 2 + T.linalg.svd(x)[1] + T.linalg.svd(x)[2] ** 2,
    "svdvals": T.linalg.svdvals,
    "pinv": lambda x: T.linalg.pinv(x[:, :2]),
    "lstsq": lambda x: T.linalg.lstsq(x[:, :2], x[:, 2])[0],
    "expm": T.linalg.expm,
    "matrix_power": lambda x: T.linalg.matrix_power(x, 3),
}


@pytest.mark.parametrize("name", SECOND)
def test_the_second_derivative_is_that_of_finite_differences(name):
    def gradient(x):
        return scanviz.grad(T.sum(T.sin(SECOND[name](x))), x)

    verify_grad(gradient, [SQUARE / 3 + np.diag([1.0, 2.0, 4.0])], known_shapes=True, tolerance=1e-4)


@pytest.mark.parametrize(
    ("build", "instead"),
    [
        (lambda: T.linalg.qr(X, "complete")[0], 'mode="reduced"'),
        (lambda: T.linalg.svd(X)[0], "full_matrices=False"),
        (lambda: T.linalg.svd(X)[2], "full_matrices=False"),
        (lambda: T.linalg.lstsq(X, X)[1], "T.sum((b - a @ x) ** 2, 0)"),
    ],
)
def test_a_decomposition_without_a_derivative_is_an_error_with_a_fix(build, instead):
    with pytest.raises(ScanvizError) as caught:
        scanviz.grad(T.sum(build()), X)
    assert instead in str(caught.value) and "test_decompose.py" in str(caught.value)


def test_unique_factors_have_derivatives_and_others_have_none():
    verify_grad(lambda x: T.linalg.svd(x)[1], [TALL])
    verify_grad(lambda x: abs(T.linalg.qr(x, "complete")[1]), [TALL])
    verify_grad(lambda x: T.linalg.svd(x)[0] ** 2, [SQUARE], known_shapes=True)
    verify_grad(lambda x: T.linalg.qr(x, "complete")[0] ** 2, [TALL.T], known_shapes=True)


def test_a_gradient_of_qr_with_a_zero_on_the_diagonal_of_r_is_an_error():
    gradient = scanviz.function([X], scanviz.grad(T.sum(T.linalg.qr(X)[0]), X))
    with pytest.raises(NumericalError, match="singular"):
        gradient(np.zeros((3, 2)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_a_pseudoinverse_of_low_rank_has_the_gradient_while_the_rank_stays(seed, least):
    """Along changes of the factors of a matrix of rank 1 its rank stays."""
    rng = np.random.default_rng(seed)
    column, row = rng.uniform(0.5, 1, (3, 1)), rng.uniform(0.5, 1, (1, least))
    verify_grad(lambda a, b: T.linalg.pinv(a @ b, rcond=1e-6), [column, row])
    verify_grad(lambda a, b: T.linalg.lstsq(a @ b, T.constant([1.0, 2.0, 4.0]), rcond=1e-6)[0], [column, row])


def test_gradients_of_eigenvectors_in_a_loop_agree_with_finite_differences():
    def looped(x):
        def step(h):
            values, vectors = T.linalg.eigh(h + x + x.mT)
            return scaled(vectors, T.tanh(values))

        rows, _ = scanviz.scan(step, outputs_info=T.constant(np.diag([1.0, 2.0, 3.0])), n_steps=3)
        return rows[-1]

    verify_grad(looped, [SQUARE])
