"""Decompositions: errors at run time and while building (their values: the laws of NumPy's names)."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import NumericalError, ScanvizTypeError, ScanvizValueError, ShapeError

X = T.matrix("x")
STACK = np.stack([np.eye(2), np.full((2, 2), np.nan)])


@pytest.mark.parametrize("build", [T.linalg.svdvals, lambda x: T.linalg.svd(x)[0], T.linalg.pinv])
def test_nan_is_an_error_in_words_with_its_place_in_a_batch(build):
    x = T.tensor3("x")
    for mode in ("reference", "numpy"):
        with pytest.raises(NumericalError, match=r"did not converge.*NaN.*\(matrix 1 of the batch\)"):
            scanviz.function([x], build(x), mode=mode)(STACK)


def test_least_squares_of_nan_are_an_error_in_words():
    with pytest.raises(NumericalError, match="did not converge"):
        scanviz.function([X], T.linalg.lstsq(X, X[:, 0])[0])(STACK[1])


@pytest.mark.parametrize(
    "build", [T.linalg.eigh, T.linalg.eigvalsh, T.linalg.expm, lambda x: T.linalg.matrix_power(x, 2)]
)
def test_a_matrix_of_known_nonsquare_shape_is_named(build):
    with pytest.raises(ShapeError, match="`W`"):
        build(T.tensor("float64", (2, 3), "W"))


@pytest.mark.parametrize(
    "build", [T.linalg.svd, T.linalg.qr, T.linalg.pinv, T.linalg.expm, lambda x: T.linalg.lstsq(x, x)]
)
def test_half_precision_and_vectors_are_refused(build):
    with pytest.raises(ScanvizTypeError, match="no linear algebra in float16"):
        build(T.tensor("float16", (2, 2), "x"))
    with pytest.raises(ScanvizTypeError, match="matrix"):
        build(T.vector("v"))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: T.linalg.qr(X, "raw"), ScanvizValueError, "found:    'raw'"),
        (lambda: T.linalg.eigh(X, "M"), ScanvizValueError, "UPLO"),
        (lambda: T.linalg.pinv(X, 0.1, rtol=0.1), ScanvizValueError, "two names of one number"),
        (lambda: T.linalg.pinv(X, T.scalar("s")), ScanvizTypeError, "known when building"),
        (lambda: T.linalg.matrix_power(X, 0.5), ScanvizTypeError, "matrix_power: n"),
        (
            lambda: T.linalg.lstsq(T.tensor("float64", (3, 2)), T.tensor("float64", (4,))),
            ShapeError,
            "as many rows",
        ),
    ],
)
def test_options_that_do_not_fit_are_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_results_have_numpys_names():
    assert T.linalg.eigh(X)._fields == np.linalg.eigh(np.eye(2))._fields
    assert T.linalg.qr(X)._fields == np.linalg.qr(np.eye(2))._fields
    assert T.linalg.svd(X)._fields == np.linalg.svd(np.eye(2))._fields
