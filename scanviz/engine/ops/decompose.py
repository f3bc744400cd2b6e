"""Decomposing matrices: eigenvalues, orthogonal factors and singular values; pseudoinverses, least squares, exponentials.

Leading axes are batches, as in NumPy, but for least squares.  Integers are computed as float64; float16 is refused, since
LAPACK has none.  Counts of operations are those of Golub and Van Loan, "Matrix Computations", 4th ed., 5.2, 8.3 and 8.6, for
square matrices.  Those of the exponential belong to the Padé approximant of degree 13 (Higham, "The scaling and squaring method
for the matrix exponential revisited", 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine import cost
from scanviz.engine.errors import NumericalError, ScanvizTypeError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build, build_one
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.linalg import (
    contracted,
    floating_dtypes,
    matrix_shapes,
    of_matrices,
    rectangular,
    square,
)
from scanviz.engine.ops.scalar_functions import scipy_module
from scanviz.engine.ops.support import as_variable, float_dtype, infer_by
from scanviz.engine.sizes.dims import Dims


class TriangleParameters(NamedTuple):
    """The triangle of a symmetric matrix that is read: ``"L"`` or ``"U"``."""

    uplo: str


class FactorsParameters(NamedTuple):
    """Parameters of an orthogonal factorisation: ``full`` factors are square, others have the matrix's own columns only."""

    full: bool


class CutoffParameters(NamedTuple):
    """The share of the largest singular value from which on smaller ones are 0; None for what rounding makes."""

    rcond: int | float | None  # as it was given: an int in a file stays one


NO_EIGENVALUES = "the search for eigenvalues did not converge, as happens with NaN and infinities"
NO_FACTOR = "the matrix has no orthogonal factor"
NO_SINGULAR_VALUES = "the search for singular values did not converge, as happens with NaN and infinities"


def _eigh_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, size = square(dims)
    return ((*batch, size), (*batch, size, size))[: op.declaration.outputs]


_of_matrices = partial(of_matrices, "decompose")
EIGH = _of_matrices(
    np.linalg.eigh,
    "Eigenvalues of symmetric matrices in ascending order, and eigenvectors as columns.",
    _eigh_shapes,
    Fraction(9),
    failure=NO_EIGENVALUES,
    outputs=2,
)
EIGVALSH = _of_matrices(
    np.linalg.eigvalsh,
    "Eigenvalues of symmetric matrices in ascending order.",
    _eigh_shapes,
    Fraction(4, 3),
    failure=NO_EIGENVALUES,
)


def _qr_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, rows, columns = rectangular(dims)
    inner = rows if op.parameters.full else dims.minimum(rows, columns)
    return ((*batch, rows, inner), (*batch, inner, columns))


QR = _of_matrices(
    lambda matrices, full: np.linalg.qr(matrices, "complete" if full else "reduced"),
    "Factors of matrices: orthogonal columns, and an upper triangle.",
    _qr_shapes,
    Fraction(8, 3),
    failure=NO_FACTOR,
    outputs=2,
    name="qr",
)


def _svd_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, rows, columns = rectangular(dims)
    full, least = op.parameters.full, dims.minimum(rows, columns)
    return (
        (*batch, rows, rows if full else least),
        (*batch, least),
        (*batch, columns if full else least, columns),
    )


SVD = _of_matrices(
    np.linalg.svd,
    "Singular vectors as columns, singular values in descending order, and singular vectors as rows.",
    _svd_shapes,
    Fraction(26),
    failure=NO_SINGULAR_VALUES,
    outputs=3,
)


def _values_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, rows, columns = rectangular(dims)
    return ((*batch, dims.minimum(rows, columns)),)


SVDVALS = _of_matrices(
    lambda matrices: np.linalg.svd(matrices, compute_uv=False),
    "Singular values of matrices in descending order.",
    _values_shapes,
    Fraction(8, 3),
    failure=NO_SINGULAR_VALUES,
    name="svdvals",
)


def _pinv_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, rows, columns = rectangular(dims)
    return ((*batch, columns, rows),)


def rounding(matrices: Any) -> float:
    """Return the share of the largest singular value that rounding makes of 0: the larger size times the precision."""
    dtype = float_dtype(matrices.dtype.name)
    return float(max(matrices.shape[-2:]) * np.finfo(dtype).eps)


def _pinv(matrices: Array, rcond: float | None) -> Array:
    dtype = float_dtype(matrices.dtype.name)  # which NumPy forgets where there are no elements
    return np.asarray(np.linalg.pinv(matrices, rounding(matrices) if rcond is None else rcond), dtype)


PINV = _of_matrices(
    _pinv,
    "Pseudoinverse of matrices, after Moore and Penrose.",
    _pinv_shapes,
    Fraction(28),
    failure=NO_SINGULAR_VALUES,
    name="pinv",
)


def _expm(matrices: Array) -> Array:
    dtype = float_dtype(matrices.dtype.name)
    if not matrices.size:
        return np.zeros(matrices.shape, dtype)
    return np.asarray(scipy_module("linalg").expm(matrices.astype(dtype, copy=False)), dtype)


EXPM = _of_matrices(
    _expm,
    "Exponential of square matrices.",
    matrix_shapes,
    Fraction(40),
    failure="the matrix has no exponential",
    name="expm",
)


def _lstsq_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, rows, columns = rectangular(dims)
    right = dims.shapes[1]
    if batch or not 1 <= len(right) <= 2:
        raise ScanvizTypeError("lstsq needs one matrix and one right-hand side, a vector or a matrix")
    contracted(dims, rows, right[0], "the right-hand side must have as many rows as the matrix")
    return ((columns, *right[1:]), (None,), (), (dims.minimum(rows, columns),))


def _lstsq_dtypes(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    dtype = floating_dtypes(op, kinds)[0]
    return (dtype, dtype, "int64", dtype)


def _lstsq(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    a, b = (np.asarray(value) for value in values)
    dtype = np.result_type(*(float_dtype(array.dtype.name) for array in (a, b)))
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    rcond = op.parameters.rcond
    try:
        x, residuals, rank, singular = np.linalg.lstsq(a, b, rounding(a) if rcond is None else rcond)
    except np.linalg.LinAlgError:
        raise NumericalError(NO_SINGULAR_VALUES) from None
    return x, residuals, np.asarray(rank, np.int64), singular


LSTSQ = Declaration(
    "lstsq",
    "decompose",
    arity=2,
    doc="Solution of a x = b with the least squares: also the squares left, the rank of a, and its singular values.",
    infer=infer_by(_lstsq_dtypes),
    perform=_lstsq,
    shapes=_lstsq_shapes,
    outputs=4,
    facts=Facts(cost.cube(Fraction(28)), weight="heavy", axes=axes.nowhere, calls=50),
)


def eigh(value: Any, uplo: str = "L") -> Sequence[Variable]:
    """Return eigenvalues and eigenvectors of symmetric matrices."""
    return build(Op(EIGH, TriangleParameters(uplo)), [as_variable(value)])


def eigvalsh(value: Any, uplo: str = "L") -> Variable:
    """Return eigenvalues of symmetric matrices."""
    return build_one(Op(EIGVALSH, TriangleParameters(uplo)), as_variable(value))


def qr(value: Any, full: bool = False) -> Sequence[Variable]:
    """Return orthogonal columns and an upper triangle whose product matrices are."""
    return build(Op(QR, FactorsParameters(full)), [as_variable(value)])


def svd(value: Any, full: bool = False) -> Sequence[Variable]:
    """Return singular vectors, singular values and singular vectors whose product matrices are."""
    return build(Op(SVD, FactorsParameters(full)), [as_variable(value)])


def svdvals(x: Any) -> Variable:
    """Singular values of matrices in descending order; parameters and errors as of :func:`svd`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.linalg.svdvals(A).eval({A: [[3.0, 0.0], [0.0, 4.0]]})
    array([4., 3.])
    """
    return build_one(Op(SVDVALS), as_variable(x))


def pinv(value: Any, rcond: float | None = None) -> Variable:
    """Return the pseudoinverse of matrices."""
    return build_one(Op(PINV, CutoffParameters(rcond)), as_variable(value))


def lstsq(a: Any, b: Any, rcond: float | None = None) -> Sequence[Variable]:
    """Return solution, residuals, rank and singular values of a system in the sense of least squares."""
    return build(Op(LSTSQ, CutoffParameters(rcond)), [as_variable(a), as_variable(b)])


def expm(A: Any) -> Variable:  # SciPy's name
    """Exponential of square matrices, as ``scipy.linalg.expm``: ``I + A + A @ A / 2 + …``.

    Parameters
    ----------
    A : array_like
        Matrices of shape ``(..., n, n)``.

    Returns
    -------
    Variable
        Of the same shape, floating.  Its derivative is a block of the exponential of a matrix of twice the size.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16.
    ShapeError
        If it is known not to be square.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.linalg.expm(A).eval({A: [[0.0, 1.0], [0.0, 0.0]]})
    array([[1., 1.],
           [0., 1.]])
    """
    return build_one(Op(EXPM), as_variable(A))
