"""Matrix products in CuPy."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.errors import ShapeError
from scanviz.engine.ops import linalg as ops


def _batched_dot(xp: Any, parameters: Any, first: Any, second: Any) -> Any:
    batch = first.shape[0]
    if second.shape[0] != batch:
        raise ShapeError(
            "the batches must be equally long", expected=f"size {batch}", found=f"size {second.shape[0]}"
        )
    columns = second[:, :, None] if second.ndim == 2 else xp.moveaxis(second, -2, 1)
    inner = columns.shape[1]
    left, right = first.shape[1:-1], () if second.ndim == 2 else columns.shape[2:]
    rows, width = _product(left), _product(columns.shape[2:])
    stacked = xp.matmul(first.reshape((batch, rows, first.shape[-1])), columns.reshape((batch, inner, width)))
    return stacked.reshape((batch, *left, *right))


def _product(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


CUPY.row(ops.DOT)(single(lambda xp, p, a, b: xp.dot(a, b)))
CUPY.row(ops.MATMUL)(single(lambda xp, p, a, b: xp.matmul(a, b)))
CUPY.row(ops.BATCHED_DOT)(single(_batched_dot))
CUPY.row(ops.TENSORDOT)(single(lambda xp, p, a, b: xp.tensordot(a, b, axes=(p.first, p.second))))
CUPY.row(ops.TRACE)(single(lambda xp, p, x: xp.trace(x, p.offset, p.axis1, p.axis2)))
