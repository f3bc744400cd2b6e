"""Solving linear systems, and factorising and inverting matrices.

Leading axes are batches, as in NumPy.  Integers are computed as float64; float16 is refused, since LAPACK has none.
A matrix that cannot be inverted or factorised raises a :class:`NumericalError`, in a batch with its place.
Triangular and positive definite systems are solved by SciPy, imported when first used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from scanviz.engine import cost
from scanviz.engine.errors import NumericalError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build, build_one
from scanviz.engine.ops.linalg import (
    NOT_POSITIVE,
    SINGULAR,
    check_square,
    contracted,
    floating_dtypes,
    matrix_shapes,
    of_matrices,
    square,
    which_fails,
)
from scanviz.engine.ops.scalar_functions import scipy_module
from scanviz.engine.ops.support import as_variable, float_dtype, infer_by, truth
from scanviz.engine.sizes.dims import Dims


class SolveParameters(NamedTuple):
    """Parameters of ``solve``: ``"gen"`` for any matrix, ``"pos"`` for a positive definite one."""

    assume: str


class TriangularParameters(NamedTuple):
    """Parameters of ``solve_triangular``: which triangle, solved transposed or not, ones on the diagonal or not."""

    lower: bool
    transposed: bool
    unit: bool


class CholeskyParameters(NamedTuple):
    """Parameters of ``cholesky``: which triangle is read and given."""

    lower: bool


def _batch_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (square(dims)[0],) * op.declaration.outputs


def _solve_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, size = square(dims)
    right = dims.shapes[1]
    if not right:
        raise ScanvizTypeError("the right-hand side is a scalar", expected="a vector or a matrix")
    message = "the right-hand side must have as many rows as the matrix"
    rows = contracted(dims, size, right[0] if len(right) == 1 else right[-2], message)
    if len(right) == 1:
        return ((*batch, rows),)
    return ((*dims.broadcast(batch, right[:-2]), rows, right[-1]),)


_of_matrices = partial(of_matrices, "factorise")
INV = _of_matrices(
    np.linalg.inv,
    "Inverse of square matrices.",
    matrix_shapes,
    Fraction(2),
    failure=f"{SINGULAR}: it has no inverse",
)
CHOLESKY = _of_matrices(
    lambda matrices, lower: np.linalg.cholesky(matrices, upper=not lower),
    "Triangular factor L of a positive definite matrix L Lᵀ.",
    matrix_shapes,
    Fraction(1, 3),
    failure=NOT_POSITIVE,
    name="cholesky",
)
DET = _of_matrices(np.linalg.det, "Determinant of square matrices.", _batch_shapes, Fraction(2, 3))
SLOGDET = _of_matrices(
    np.linalg.slogdet,
    "Sign of the determinant, and the logarithm of its absolute value.",
    _batch_shapes,
    Fraction(2, 3),
    outputs=2,
)


def _each_matrix(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Return ``function(matrix, right side)`` for each pair of a batch that broadcasts."""
    dtype = np.result_type(float_dtype(a.dtype.name), float_dtype(b.dtype.name))
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if a.ndim == 2 and b.ndim <= 2:
        return function(a, b) if a.size and b.size else np.zeros(b.shape, dtype)
    columns = b[:, None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    matrices = np.broadcast_to(a, batch + a.shape[-2:])
    sides = np.broadcast_to(columns, batch + columns.shape[-2:])
    result = np.zeros(sides.shape, dtype)
    for place in np.ndindex(batch) if result.size else ():
        try:
            result[place] = function(matrices[place], sides[place])
        except NumericalError as error:
            raise NumericalError(f"{error.what} (matrix {', '.join(map(str, place))} of the batch)") from None
    return result[..., 0] if b.ndim == 1 else result


def _solve_positive(a: Array, b: Array) -> Array:
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError as error:
        check_square(a, error)
        raise NumericalError(NOT_POSITIVE) from None
    return np.asarray(scipy_module("linalg").cho_solve((factor, True), b, check_finite=False))


def _solve(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    a, b = np.asarray(values[0]), np.asarray(values[1])
    if op.parameters.assume == "pos":
        return (_each_matrix(_solve_positive, a, b),)
    try:
        return (np.linalg.solve(a, b),)
    except np.linalg.LinAlgError as error:
        check_square(a, error)
        raise NumericalError(
            f"{SINGULAR}{which_fails(np.linalg.inv, a)}: the system has no unique solution"
        ) from None


def _solve_triangular(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    lower, transposed, unit = op.parameters

    def solve_one(a: Array, b: Array) -> Array:
        try:
            found = scipy_module("linalg").solve_triangular(
                a, b, trans=int(transposed), lower=lower, unit_diagonal=unit, check_finite=False
            )
        except np.linalg.LinAlgError:
            zero = int(np.flatnonzero(np.diagonal(a) == 0)[0])
            raise NumericalError(f"{SINGULAR}: it has a 0 on the diagonal, in row {zero}") from None
        return np.asarray(found)

    return (_each_matrix(solve_one, np.asarray(values[0]), np.asarray(values[1])),)


_solution = partial(
    Declaration, family="factorise", arity=2, infer=infer_by(floating_dtypes), shapes=_solve_shapes
)
SOLVE = _solution(
    "solve",
    doc="Solution x of a x = b.",
    perform=_solve,
    facts=Facts(cost.solving, weight="heavy", axes=axes.solved, calls=14),
)
SOLVE_TRIANGULAR = _solution(
    "solve_triangular",
    doc="Solution x of a x = b where a is triangular.",
    perform=_solve_triangular,
    facts=Facts(cost.substitutions(1), weight="heavy", axes=axes.solved, calls=40),
)


def _lu_factor_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    batch, size = square(dims)
    if batch:
        raise ScanvizTypeError("one matrix is needed", expected="2 dimensions", found=f"{len(batch) + 2}")
    return ((size, size), (size,))


@lru_cache
def _lapack(name: str, dtype: str) -> Any:
    """Return a routine of LAPACK; looking one up takes longer than solving a small system."""
    return scipy_module("linalg").get_lapack_funcs(name, dtype=dtype)


def _lu_factor(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    a = np.asarray(values[0])
    a = a.astype(float_dtype(a.dtype.name), copy=False)
    if not a.size:
        return a.copy(), np.zeros(0, np.int64)
    factors, pivots, singular = _lapack("getrf", a.dtype.char)(a)
    if singular > 0:
        raise NumericalError(f"{SINGULAR}: the system has no unique solution")
    return factors, pivots.astype(np.int64)


def _factored_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    size, right = square(dims)[1], dims.shapes[-1]
    if not 1 <= len(right) <= 2:
        raise ScanvizTypeError("one right-hand side is needed", expected="a vector or a matrix")
    message = "the right-hand side must have as many rows as the matrix"
    return ((contracted(dims, size, right[0], message), *right[1:]),)


def _lu_solve(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    factors, pivots, side = values
    return _by_factors("getrs", factors, side, (pivots,), trans=int(op.parameters.transposed))


def _cholesky_solve(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    factor, side = values
    return _by_factors("potrs", factor, side, lower=True)


def _by_factors(
    routine: str, factors: Array, side: Array, pivots: tuple[Array, ...] = (), **options: Any
) -> Sequence[Array]:
    """Return the solution for a right side by a routine of LAPACK, in the dtype of both."""
    factors, side = np.asarray(factors), np.asarray(side)
    side = side.astype(np.result_type(factors.dtype, float_dtype(side.dtype.name)), copy=False)
    if not side.size:
        return (np.zeros(side.shape, side.dtype),)
    return (_lapack(routine, side.dtype.char)(factors, *pivots, side, **options)[0],)


LU_FACTOR = Declaration(
    "lu_factor",
    "factorise",
    arity=1,
    doc="Triangular factors of a matrix, both in one, and the rows exchanged: what `solve` begins with.",
    infer=infer_by(lambda op, kinds: (floating_dtypes(op, kinds)[0], "int64")),
    perform=_lu_factor,
    shapes=_lu_factor_shapes,
    outputs=2,
    facts=Facts(cost.cube(Fraction(2, 3)), weight="heavy", axes=axes.stacked, calls=10),
)
_by_factor = partial(
    Declaration,
    family="factorise",
    infer=infer_by(lambda op, kinds: floating_dtypes(op, [kinds[0], kinds[-1]])),
    shapes=_factored_shapes,
    facts=Facts(cost.substitutions(2), weight="heavy", axes=axes.solved, calls=10),
)
LU_SOLVE = _by_factor(
    "lu_solve",
    arity=3,
    doc="Solution x of a x = b, or of its transpose, by the factors of a that `lu_factor` gives.",
    perform=_lu_solve,
)
CHOLESKY_SOLVE = _by_factor(
    "cholesky_solve",
    arity=2,
    doc="Solution x of a x = b by the lower factor of a that `cholesky` gives.",
    perform=_cholesky_solve,
)


class TransposedParameters(NamedTuple):
    """Parameters of ``lu_solve``: whether the transposed system is solved."""

    transposed: bool


def lu_factor(value: Any) -> tuple[Variable, Variable]:
    """Return the triangular factors of a square matrix, both in one, and the rows exchanged (int64)."""
    factors, pivots = build(Op(LU_FACTOR), [as_variable(value)])
    return factors, pivots


def lu_solve(factors: Any, pivots: Any, side: Any, *, transposed: bool = False) -> Variable:
    """Return x with ``a x = side``, or ``aᵀ x = side``, for the factors of ``a``."""
    parameters = TransposedParameters(bool(transposed))
    return build_one(Op(LU_SOLVE, parameters), as_variable(factors), as_variable(pivots), as_variable(side))


def cholesky_solve(factor: Any, side: Any) -> Variable:
    """Return x with ``L Lᵀ x = side`` for a lower triangular L."""
    return build_one(Op(CHOLESKY_SOLVE), as_variable(factor), as_variable(side))


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
    return build_one(Op(INV), as_variable(a))


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
    return build_one(Op(CHOLESKY, CholeskyParameters(truth(lower, "cholesky: lower"))), as_variable(a))


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
    return build_one(Op(DET), as_variable(a))


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
    sign, logarithm = build(Op(SLOGDET), [as_variable(a)])
    return sign, logarithm


def solve(a: Any, b: Any, *, assume_a: Literal["gen", "pos"] = "gen") -> Variable:
    """Solution x of the linear system ``a @ x = b``.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., n, n)``.
    b : array_like
        A vector of shape ``(n,)``, or matrices of shape ``(..., n, k)`` whose batch broadcasts with that of ``a``.
    assume_a : {"gen", "pos"}
        The form of ``a``: general, or symmetric and positive definite; then only its lower triangle is read and it takes half
        the time.

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
    given: object = assume_a  # annotations do not stop a user
    if not isinstance(given, str) or given not in ("gen", "pos"):
        raise ScanvizValueError.here(
            "solve: assume_a cannot be used",
            expected="'gen' (anything) or 'pos' (positive definite)",
            found=repr(assume_a),
        )
    return build_one(Op(SOLVE, SolveParameters(assume_a)), as_variable(a), as_variable(b))


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
    given: object = trans  # annotations do not stop a user
    if not isinstance(given, int | str) or given not in (0, 1, "N", "T"):
        raise ScanvizValueError.here(
            "solve_triangular: trans cannot be used",
            expected="0 or 'N', 1 or 'T'",
            found=repr(trans),
        )
    parameters = TriangularParameters(
        truth(lower, "solve_triangular: lower"),
        trans in (1, "T"),
        truth(unit_diagonal, "solve_triangular: unit_diagonal"),
    )
    return build_one(Op(SOLVE_TRIANGULAR, parameters), as_variable(a), as_variable(b))
