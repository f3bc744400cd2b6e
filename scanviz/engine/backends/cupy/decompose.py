"""Decomposing matrices in CuPy; the exponential is left to the host, for it is not in every version.

Where SciPy or NumPy say that a search did not converge, CuPy gives NaN, unless it is asked to report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.factorise import reporting
from scanviz.engine.backends.cupy.table import CUPY, CupyRow, on_host
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.ops import decompose as d


def _floating(array: Any) -> Any:
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _row(declaration: Declaration, failure: str, function: Callable[..., Any]) -> None:
    """Give an op of one matrix its row: ``function(linalg, parameters, matrices)``, of one result or several."""

    def perform(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        with reporting(xp, failure):
            found = function(xp.linalg, op.parameters, _floating(values[0]))
        return tuple(found) if declaration.outputs > 1 else (found,)

    CUPY.row(declaration)(CupyRow(perform))


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
    dtype = np.result_type(*(_floating(value).dtype for value in values))
    a, b = (value.astype(dtype) for value in values)
    rcond = op.parameters.rcond
    with reporting(xp, d.NO_SINGULAR_VALUES):
        x, residuals, rank, singular = xp.linalg.lstsq(a, b, rcond=d.rounding(a) if rcond is None else rcond)
    return x, residuals, xp.asarray(rank).astype(np.int64), singular


CUPY.row(d.LSTSQ)(CupyRow(_lstsq))
CUPY.row(d.EXPM)(on_host())
