"""New arrays in CuPy."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, on_host, single
from scanviz.engine.errors import ShapeError
from scanviz.engine.ops import creation as ops


def _eye(xp: Any, parameters: Any, rows: Any, columns: Any) -> Any:
    sizes = int(rows), int(columns)
    if min(sizes) < 0:
        raise ShapeError("a size cannot be negative", found=sizes)
    return xp.eye(*sizes, parameters.offset, parameters.dtype)


# The dtypes of the bounds decide how NumPy rounds the length of a range; CuPy rounds by rules of its own.
CUPY.row(ops.ARANGE)(on_host())
CUPY.row(ops.EYE)(single(_eye, scalars_on_host=False))
CUPY.row(ops.TRIANGLE)(single(lambda xp, p, x: (xp.tril if p.lower else xp.triu)(x, p.offset)))
CUPY.row(ops.DIAGONAL)(single(lambda xp, p, x: xp.diagonal(x, p.offset, -2, -1)))
CUPY.row(ops.FROM_DIAGONAL)(single(lambda xp, p, x: xp.diag(x, p.offset)))
