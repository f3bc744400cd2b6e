"""Shape operations in CuPy; sizes themselves stay on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, single
from scanviz.engine.errors import ShapeError
from scanviz.engine.ops import shape as ops
from scanviz.engine.ops.size_checks import BROADCAST_SIZE, SPECIFY_SHAPE
from scanviz.engine.ops.state_shape import STATE_SHAPE, in_shape_of_state


def _vector(xp: Any, parameters: Any, *scalars: Any) -> Any:
    return xp.stack([xp.asarray(scalar) for scalar in scalars]) if scalars else xp.zeros(0, "int64")


def _dimshuffle(xp: Any, parameters: Any, x: Any) -> Any:
    kept = [axis for axis in parameters.order if axis is not None]
    dropped = [axis for axis in range(x.ndim) if axis not in kept]
    for axis in dropped:
        if x.shape[axis] != 1:
            raise ShapeError(
                f"axis {axis} cannot be dropped", expected="size 1", found=f"size {x.shape[axis]}"
            )
    turned = x.transpose([*kept, *dropped]).reshape([x.shape[axis] for axis in kept])
    return turned[tuple(None if axis is None else slice(None) for axis in parameters.order)]


def _reshape(xp: Any, parameters: Any, x: Any, *sizes: Any) -> Any:
    wanted = tuple(int(size) for size in sizes)
    try:
        return x.reshape(wanted)
    except ValueError:
        raise ShapeError(
            "cannot be reshaped",
            expected=f"{x.size} elements in all, as in shape {x.shape}",
            found=f"shape {wanted}",
        ) from None


def _alloc(xp: Any, parameters: Any, value: Any, *sizes: Any) -> Any:
    wanted = tuple(int(size) for size in sizes)
    if any(size < 0 for size in wanted):
        raise ShapeError("a size cannot be negative", found=wanted)
    filled = xp.empty(wanted, value.dtype)
    try:
        filled[...] = value
    except ValueError:
        raise ShapeError(
            "cannot be broadcast", expected=f"shape {wanted}", found=f"shape {value.shape}"
        ) from None
    return filled


CUPY.row(ops.DIMENSION)(single(lambda xp, p, x: np.array(x.shape[p.axis], np.int64)))
CUPY.row(ops.MAKE_VECTOR)(single(_vector))
CUPY.row(ops.RESHAPE)(single(_reshape))
CUPY.row(ops.DIMSHUFFLE)(single(_dimshuffle))
CUPY.row(ops.ALLOC)(single(_alloc, scalars_on_host=False))
CUPY.row(SPECIFY_SHAPE)(CupyRow(lambda xp, op, values: op.perform(values)))  # looks at shapes alone
CUPY.row(STATE_SHAPE)(single(lambda xp, p, *values: in_shape_of_state(xp, p, values)))
CUPY.row(BROADCAST_SIZE)(CupyRow(lambda xp, op, values: op.perform(values)))  # numbers of the host
