"""CuPy meanings of linear systems, factors and decompositions of matrices.

CuPy reports matrices that cannot be inverted, and searches that did not converge, only on request, and then waits for the device.
scanviz requests the report: an unnoticed wrong number is worse.  CuPy's ``solve`` broadcasts no batches, so they are broadcast
before the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, TRAFFIC, CupyRow, extension, fetched, on_host, single
from scanviz.engine.errors import NumericalError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.ops import decompose as d
from scanviz.engine.ops import factorise as ops


@contextmanager
def reporting(xp: Any, what: str) -> Iterator[None]:
    """Turn the errors of CuPy's solvers into a NumericalError with the text ``what``."""
    try:
        with extension(xp, "").errstate(linalg="raise"):
            TRAFFIC.waits += 1
            yield
    except np.linalg.LinAlgError:
        raise NumericalError(what) from None


def refusing(row: CupyRow) -> CupyRow:
    """Return a row whose errors have NumPy's text, which names the matrix of a batch; NumPy is asked once there is an error."""

    def perform(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        try:
            return row.perform(xp, op, values)
        except NumericalError:
            op.perform([fetched(value) for value in values])
            raise  # only CUDA refuses, by its rounding

    return row._replace(perform=perform)


def _inv(xp: Any, parameters: Any, x: Any) -> Any:
    with reporting(xp, "the matrix is singular: it has no inverse"):
        return xp.linalg.inv(x)


def factor_of(xp: Any, x: Any, lower: bool) -> Any:
    """Return the triangular factor; CuPy reads and gives the lower triangle."""
    with reporting(xp, "the matrix is not positive definite"):
        return xp.linalg.cholesky(x) if lower else xp.linalg.cholesky(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def each_pair(xp: Any, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Return ``function(matrices, columns)`` after bringing both to one floating dtype and one batch."""
    common = np.result_type(*(array.dtype if array.dtype.kind == "f" else np.float64 for array in (a, b)))
    matrices, columns = a.astype(common), b.astype(common)
    columns = columns[:, None] if b.ndim == 1 else columns
    batch = np.broadcast_shapes(a.shape[:-2], columns.shape[:-2])
    matrices = xp.broadcast_to(matrices, (*batch, *matrices.shape[-2:]))
    columns = xp.broadcast_to(columns, (*batch, *columns.shape[-2:]))
    found = function(matrices, columns) if columns.size and matrices.size else xp.zeros(columns.shape, common)
    return found[..., 0] if b.ndim == 1 else found


def triangular(xp: Any, a: Any, b: Any, lower: bool, transposed: bool, unit: bool) -> Any:
    """Return the solutions of triangular systems."""
    if not unit and (zeros := np.argwhere(fetched(xp.diagonal(a, 0, -2, -1) == 0))).size:
        raise NumericalError(f"the matrix is singular: it has a 0 on the diagonal, in row {zeros[0][-1]}")
    solve = extension(xp, "scipy.linalg").solve_triangular
    return solve(a, b, trans=int(transposed), lower=lower, unit_diagonal=unit)


def by_factor(xp: Any, factor: Any, b: Any) -> Any:
    """Return the solutions of systems whose matrices have these lower Cholesky factors."""
    half = triangular(xp, factor, b, lower=True, transposed=False, unit=False)
    return triangular(xp, factor, half, lower=True, transposed=True, unit=False)


def _solve(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    def general(a: Any, b: Any) -> Any:
        with reporting(xp, "the matrix is singular: the system has no unique solution"):
            return xp.linalg.solve(a, b)

    def positive(a: Any, b: Any) -> Any:
        return by_factor(xp, factor_of(xp, a, lower=True), b)

    return (each_pair(xp, positive if op.parameters.assume == "pos" else general, *values),)


def _solve_triangular(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    lower, transposed, unit = op.parameters
    return (each_pair(xp, lambda a, b: triangular(xp, a, b, lower, transposed, unit), *values),)


CUPY.row(ops.INV)(refusing(single(_inv)))
CUPY.row(ops.CHOLESKY)(refusing(single(lambda xp, p, x: factor_of(xp, x, p.lower))))
CUPY.row(ops.DET)(single(lambda xp, p, x: xp.linalg.det(x)))
CUPY.row(ops.SLOGDET)(CupyRow(lambda xp, op, values: tuple(xp.linalg.slogdet(values[0]))))
CUPY.row(ops.SOLVE)(refusing(CupyRow(_solve)))
CUPY.row(ops.SOLVE_TRIANGULAR)(refusing(CupyRow(_solve_triangular)))


def _lu_factor(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    (a,) = values
    if not a.size:
        return a.astype(_floating(a)), xp.zeros(0, np.int64)
    singular = NumericalError("the matrix is singular: the system has no unique solution")
    try:
        factors, pivots = extension(xp, "scipy.linalg").lu_factor(a.astype(_floating(a)), check_finite=False)
    except (
        RuntimeWarning
    ):  # CuPy warns, here where warnings are errors; silencing them is not safe with threads
        raise singular from None
    TRAFFIC.waits += 2  # CuPy reads twice whether it worked
    if bool(fetched((xp.diagonal(factors) == 0).any())):
        raise singular
    return factors, pivots.astype(np.int64)


def _lu_solve(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    factors, pivots, side = values
    dtype = np.result_type(factors.dtype, _floating(side))  # CuPy would compute in that of the factors
    factors, side, transposed = factors.astype(dtype), side.astype(dtype), int(op.parameters.transposed)
    if not side.size:
        return (side,)
    solve = extension(xp, "scipy.linalg").lu_solve
    return (solve((factors, pivots.astype(np.int32)), side, trans=transposed, check_finite=False),)


def _cholesky_solve(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    return (each_pair(xp, partial(by_factor, xp), *values),)


def _floating(array: Any) -> Any:
    """Return the dtype of computations on an array."""
    return array.dtype if array.dtype.kind == "f" else np.dtype(np.float64)


CUPY.row(ops.LU_FACTOR)(CupyRow(_lu_factor))
CUPY.row(ops.LU_SOLVE)(CupyRow(_lu_solve))
CUPY.row(ops.CHOLESKY_SOLVE)(refusing(CupyRow(_cholesky_solve)))


def _row(declaration: Declaration, failure: str, function: Callable[..., Any]) -> None:
    """Add the row of an op of one matrix: ``function(linalg, parameters, matrices)`` gives one result or several."""

    def perform(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        with reporting(xp, failure):
            found = function(xp.linalg, op.parameters, values[0].astype(_floating(values[0]), copy=False))
        return tuple(found) if declaration.outputs > 1 else (found,)

    CUPY.row(declaration)(refusing(CupyRow(perform)))


_row(d.EIGH, d.NO_EIGENVALUES, lambda linalg, p, x: linalg.eigh(x, UPLO=p.uplo))
_row(d.EIGVALSH, d.NO_EIGENVALUES, lambda linalg, p, x: linalg.eigvalsh(x, UPLO=p.uplo))
_row(d.QR, d.NO_FACTOR, lambda linalg, p, x: linalg.qr(x, mode="complete" if p.full else "reduced"))
_row(d.SVD, d.NO_SINGULAR_VALUES, lambda linalg, p, x: linalg.svd(x, full_matrices=p.full))
_row(d.SVDVALS, d.NO_SINGULAR_VALUES, lambda linalg, p, x: linalg.svd(x, compute_uv=False))
_row(
    d.PINV,
    d.NO_SINGULAR_VALUES,
    lambda linalg, p, x: linalg.pinv(x, rcond=d.rounding(x) if p.rcond is None else p.rcond),
)


def _lstsq(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    dtype = np.result_type(*map(_floating, values))
    a, b = (value.astype(dtype) for value in values)
    rcond = op.parameters.rcond
    with reporting(xp, d.NO_SINGULAR_VALUES):
        x, residuals, rank, singular = xp.linalg.lstsq(a, b, rcond=d.rounding(a) if rcond is None else rcond)
    return x, residuals, xp.asarray(rank).astype(np.int64), singular


CUPY.row(d.LSTSQ)(CupyRow(_lstsq))
CUPY.row(d.EXPM)(on_host())  # CuPy's takes one matrix, and reads from the device as it goes
