"""Eigenvalues, orthogonal factors, singular values and functions built on them, under NumPy's names.

Leading axes of matrices are batches.  Ints are computed in float64; there is no float16.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.ops import creation, factorise
from scanviz.engine.ops import decompose as d
from scanviz.engine.ops.linalg import matmul
from scanviz.engine.ops.shape import alloc, dimension
from scanviz.engine.ops.support import as_variable, one_of, real, truth, whole


class EighResult(NamedTuple):
    """Result of :func:`eigh`."""

    eigenvalues: Variable
    eigenvectors: Variable


class QRResult(NamedTuple):
    """Result of :func:`qr`."""

    Q: Variable
    R: Variable


class SVDResult(NamedTuple):
    """Result of :func:`svd`."""

    U: Variable
    S: Variable
    Vh: Variable


def _triangle(given: Any, what: str) -> str:
    return one_of(given, ("L", "U", "l", "u"), f"{what}: UPLO").upper()


def eigh(a: Any, UPLO: str = "L") -> EighResult:  # NumPy's name
    """Eigenvalues and eigenvectors of symmetric matrices: ``a @ V == V * w``.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``; only one triangle is read.
    UPLO : {"L", "U"}
        The triangle that is read: the lower or the upper one.

    Returns
    -------
    eigenvalues : Variable
        Of shape ``(..., n)``, floating, in ascending order.
    eigenvectors : Variable
        Of shape ``(..., n, n)``: column k belongs to eigenvalue k, and has length 1.  Its sign is LAPACK's choice.  Derivatives
        are those along symmetric changes; vectors of equal eigenvalues have none, and what depends on them gets one that is not
        finite.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16.
    ShapeError
        If it is known not to be square.
    NumericalError
        At run time, if the search does not converge.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> w, V = T.linalg.eigh(A)
    >>> w.eval({A: [[2.0, 0.0], [0.0, 1.0]]})
    array([1., 2.])
    """
    values, vectors = d.eigh(a, _triangle(UPLO, "eigh"))
    return EighResult(values, vectors)


def eigvalsh(a: Any, UPLO: str = "L") -> Variable:  # NumPy's name
    """Eigenvalues of symmetric matrices in ascending order; parameters and errors as of :func:`eigh`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.linalg.eigvalsh(A).eval({A: [[2.0, 0.0], [0.0, 1.0]]})
    array([1., 2.])
    """
    return d.eigvalsh(a, _triangle(UPLO, "eigvalsh"))


def qr(a: Any, mode: str = "reduced") -> Any:
    """Orthogonal columns Q and an upper triangle R with ``a = Q @ R``.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., m, n)``.
    mode : {"reduced", "complete", "r"}
        As many columns of Q as the smaller size of ``a``, or ``m``; or R alone.  NumPy's ``"raw"`` is not there.

    Returns
    -------
    Q, R : Variable
        Of shapes ``(..., m, k)`` and ``(..., k, n)``, floating; with ``mode="r"`` R alone.  Derivatives are those of
        matrices whose first k columns are independent; columns of Q that ``"complete"`` adds have none.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16.
    ScanvizValueError
        If the mode is not there.
    NumericalError
        At run time, of a derivative, if there is a 0 on the diagonal of R.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> Q, R = T.linalg.qr(A)
    >>> abs(R).eval({A: [[3.0], [4.0]]})
    array([[5.]])
    """
    one_of(mode, ("reduced", "complete", "r"), "qr: mode")
    q, r = d.qr(a, mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular values S and vectors U, Vh with ``a = U * S @ Vh``.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., m, n)``; k is the smaller of both sizes.
    full_matrices : bool
        Whether U and Vh are square, or have k columns and rows.  Their derivatives are those of k: square ones have derivatives
        where ``a`` is known to be square.
    compute_uv : bool
        Whether vectors are computed at all.

    Returns
    -------
    U, S, Vh : Variable
        Floating: vectors as columns, values of shape ``(..., k)`` in descending order, and vectors as rows; without
        ``compute_uv`` S alone.  Vectors of equal values have no derivative, and what depends on them gets one that is not
        finite.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16.
    NumericalError
        At run time, if the search does not converge, as with NaN.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> U, S, Vh = T.linalg.svd(A, full_matrices=False)
    >>> S.eval({A: [[3.0, 0.0], [0.0, 4.0]]})
    array([4., 3.])
    """
    if not truth(compute_uv, "svd: compute_uv"):
        return d.svdvals(a)
    left, values, right = d.svd(a, truth(full_matrices, "svd: full_matrices"))
    return SVDResult(left, values, right)


_UNSAID: Any = object()  # None has a meaning of its own


def _cutoff(rcond: Any, what: str) -> float | None:
    return None if rcond is None else real(rcond, f"{what}: rcond")


def pinv(a: Any, rcond: Any = None, *, rtol: Any = _UNSAID) -> Variable:
    """Pseudoinverse of matrices, after Moore and Penrose: what comes nearest to an inverse.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., m, n)``.
    rcond : float, optional
        Singular values of at most this share of the largest count as 0; by default 1e-15.
    rtol : float, optional
        The same by another name, where None is the larger size times the precision of the dtype.

    Returns
    -------
    Variable
        Of shape ``(..., n, m)``, floating.  Its derivative is that while the rank stays.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or float16, or ``rcond`` is no number known when building.
    ScanvizValueError
        If both names are given.
    NumericalError
        At run time, if the search for singular values does not converge.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.linalg.pinv(A).eval({A: [[2.0, 0.0], [0.0, 0.0]]}).round(12)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if rtol is not _UNSAID and rcond is not None:
        raise ScanvizValueError.here("pinv: rcond and rtol are two names of one number", fix="one of them")
    if rtol is _UNSAID:
        return d.pinv(a, 1e-15 if rcond is None else _cutoff(rcond, "pinv"))
    return d.pinv(a, _cutoff(rtol, "pinv"))


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Variable, Variable, Variable, Variable]:
    """Solution x that comes nearest to ``a @ x = b``, the shortest of several.

    Parameters
    ----------
    a : array_like
        Matrix of shape ``(m, n)``.
    b : array_like
        Vector of shape ``(m,)``, or matrix of shape ``(m, k)``.
    rcond : float, optional
        Singular values of at most this share of the largest count as 0; by default the larger size times the precision.

    Returns
    -------
    x : Variable
        Of shape ``(n,)`` or ``(n, k)``, floating.  Its derivative is that while the rank stays.
    residuals : Variable
        Sums of squares that are left, one a column of ``b``; none where the rank is less than n, or m is not more.  They have no
        derivative: ``T.sum((b - a @ x) ** 2, 0)`` has.
    rank : Variable
        Rank of ``a``, int64.
    s : Variable
        Singular values of ``a``.

    Raises
    ------
    ScanvizTypeError
        If they are no matrix and no vector or matrix, or one is float16, or ``rcond`` is no number known when building.
    ShapeError
        If numbers of rows differ: at once where they are known, else at run time.
    NumericalError
        At run time, if the search for singular values does not converge.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A, b = T.matrix("A"), T.vector("b")
    >>> x, residuals, rank, s = T.linalg.lstsq(A, b)
    >>> x.eval({A: [[1.0], [1.0]], b: [1.0, 3.0]})
    array([2.])
    """
    x, residuals, rank, values = d.lstsq(a, b, _cutoff(rcond, "lstsq"))
    return x, residuals, rank, values


def matrix_power(a: Any, n: int) -> Variable:
    """Product of ``n`` copies of square matrices; of their inverses, where ``n`` is negative.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.
    n : int
        The exponent, known when building; 0 gives identity matrices.

    Returns
    -------
    Variable
        Of the same shape and dtype; floating, where ``n`` is negative.

    Raises
    ------
    ScanvizTypeError
        If it is no matrix, or ``n`` is no integer that is known when building.
    ShapeError
        If it is known not to be square.
    NumericalError
        At run time, if ``n`` is negative and a matrix is singular.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.linalg.matrix_power([[1, 1], [0, 1]], 5).eval()
    array([[1, 5],
           [0, 1]])
    """
    variable = as_variable(a)
    times, kind = whole(n, "matrix_power: n"), tensor_type(variable)
    if kind.ndim < 2:
        raise ScanvizTypeError.here(f"matrix_power: `{describe(variable)}` is no matrix", found=kind)
    rows, columns = kind.shape[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise ShapeError.here(f"matrix_power: `{describe(variable)}` is not square", found=kind)
    if times == 0:
        identity = creation.eye(dimension(variable, kind.ndim - 2), dtype=kind.dtype)
        return alloc(identity, [dimension(variable, k) for k in range(kind.ndim)])
    if times < 0:
        variable, times = factorise.inv(variable), -times
    found: Variable | None = None
    while True:
        if times % 2:
            found = variable if found is None else matmul(found, variable)
        times //= 2
        if not times:
            assert found is not None
            return found
        variable = matmul(variable, variable)
