"""Linear algebra under NumPy's names: solving, factorising, determinants, norms; products and decompositions are here too.

Leading axes of matrices are batches, as in NumPy.  float16 has products only; ints are computed in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import factorise as f
from scanviz.engine.ops.creation import diagonal
from scanviz.engine.ops.decompose import expm, svdvals
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.other_names import missing
from scanviz.tensor.linalg.decompositions import (
    eigh,
    eigvalsh,
    lstsq,
    matrix_power,
    pinv,
    qr,
    svd,
)
from scanviz.tensor.linalg.norms import norm
from scanviz.tensor.products import batched_dot, cross, dot, inner, kron, matmul, outer, tensordot

__all__ = [
    "batched_dot",
    "cholesky",
    "cross",
    "det",
    "dot",
    "eigh",
    "eigvalsh",
    "expm",
    "inner",
    "inv",
    "kron",
    "lstsq",
    "matmul",
    "matrix_power",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def inv(a: Any) -> Variable:
    """Inverse of square matrices.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.

    Returns
    -------
    Variable
        The inverses, of the same shape, floating.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16.
    ShapeError
        If it is known not to be square.
    NumericalError
        At run time, if a matrix is singular.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.inv(A).eval({A: [[2.0, 0.0], [0.0, 4.0]]})
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return f.inv(a)


def solve(a: Any, b: Any, *, assume_a: Literal["gen", "pos"] = "gen") -> Variable:
    """Solution x of the linear system ``a @ x = b``.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.
    b : array_like
        A vector of shape ``(n,)``, or matrices of shape ``(..., n, k)`` whose batch broadcasts with that of ``a``.
    assume_a : {"gen", "pos"}
        What is known of ``a``: nothing, or that it is symmetric and positive definite; then only its lower triangle
        is read and it takes half the time.

    Returns
    -------
    Variable
        Tensor of the shape of ``b``, with the batch that both broadcast to; floating.

    Raises
    ------
    ScanvizTypeError
        If ``a`` is no matrix, or one is float16.
    ShapeError
        If sizes known when building do not fit.
    NumericalError
        At run time, if a matrix is singular, or not positive definite where that was promised.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A, b = T.matrix("A"), T.vector("b")
    >>> T.solve(A, b).eval({A: [[2.0, 0.0], [0.0, 4.0]], b: [2.0, 8.0]})
    array([1., 2.])
    """
    return f.solve(a, b, assume_a)


def solve_triangular(
    a: Any, b: Any, *, lower: bool = False, trans: Literal[0, 1, "N", "T"] = 0, unit_diagonal: bool = False
) -> Variable:
    """Solution x of ``a @ x = b`` for a triangular matrix; the other triangle is not read.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.
    b : array_like
        A vector of shape ``(n,)``, or matrices of shape ``(..., n, k)``.
    lower : bool
        Whether the lower triangle counts, instead of the upper one.
    trans : {0, 1, "N", "T"}
        1 or ``"T"`` solves with the transpose of ``a``.
    unit_diagonal : bool
        Whether the diagonal is taken as ones and not read.

    Returns
    -------
    Variable
        Tensor of the shape of ``b``, with the batch that both broadcast to; floating.

    Raises
    ------
    ScanvizTypeError
        If ``a`` is no matrix, or one is float16.
    ShapeError
        If sizes known when building do not fit.
    NumericalError
        At run time, if there is a 0 on the diagonal.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> L, b = T.matrix("L"), T.vector("b")
    >>> T.solve_triangular(L, b, lower=True).eval({L: [[1.0, 0.0], [1.0, 2.0]], b: [1.0, 5.0]})
    array([1., 2.])
    """
    return f.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


def cholesky(a: Any, *, lower: bool = True) -> Variable:
    """Triangular factor of symmetric, positive definite matrices.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``; only one triangle is read.
    lower : bool
        Whether the lower triangle is read and the factor is lower, ``a = L @ L.T``; else ``a = U.T @ U``.

    Returns
    -------
    Variable
        The factors, of the same shape, floating.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16.
    ShapeError
        If it is known not to be square.
    NumericalError
        At run time, if a matrix is not positive definite.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.cholesky(A).eval({A: [[4.0, 2.0], [2.0, 2.0]]})
    array([[2., 0.],
           [1., 1.]])
    """
    return f.cholesky(a, lower)


def det(a: Any) -> Variable:
    """Determinant of square matrices.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.

    Returns
    -------
    Variable
        Tensor of the shape of the batch, floating.

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
    >>> T.det(A).eval({A: [[2.0, 0.0], [0.0, 4.0]]})
    array(8.)
    """
    return f.det(a)


def slogdet(a: Any) -> tuple[Variable, Variable]:
    """Sign of the determinant, and the logarithm of its absolute value, without overflow.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.

    Returns
    -------
    sign, logabsdet : Variable
        Tensors of the shape of the batch, floating; 0 and -inf for a singular matrix.

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
    >>> sign, logabsdet = T.slogdet(A)
    >>> sign.eval({A: [[0.0, 1.0], [1.0, 0.0]]})
    array(-1.)
    """
    return f.slogdet(a)


@meaning("method:trace")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Sum along a diagonal.

    Parameters
    ----------
    x : array_like
        Tensor of at least two dimensions.
    offset : int
        Which diagonal: above the main one if positive.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Variable
        Tensor without these axes; bools and narrow ints are summed in 64 bits.

    Raises
    ------
    ScanvizTypeError
        If it has less than two dimensions.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.trace(A).eval({A: [[1.0, 2.0], [3.0, 4.0]]})
    array(5.)
    """
    return sum_over(diagonal(x, offset, axis1, axis2), -1)


if not TYPE_CHECKING:  # where it would hide names that are not there

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
