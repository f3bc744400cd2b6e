"""Shape operations in CuPy; sizes themselves stay on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops import shape as ops


def _vector(xp: Any, parameters: Any, *scalars: Any) -> Any:
    return xp.stack([xp.asarray(each) for each in scalars]) if scalars else xp.zeros(0, "int64")


def _dimshuffle(xp: Any, parameters: Any, x: Any) -> Any:
    kept = [axis for axis in parameters.order if axis is not None]
    dropped = [axis for axis in range(x.ndim) if axis not in kept]
    turned = x.transpose([*kept, *dropped]).reshape([x.shape[axis] for axis in kept])
    return turned[tuple(None if axis is None else slice(None) for axis in parameters.order)]


def _alloc(xp: Any, parameters: Any, value: Any, *sizes: Any) -> Any:
    filled = xp.empty(tuple(int(each) for each in sizes), value.dtype)
    filled[...] = value
    return filled


CUPY.row(ops.DIMENSION)(single(lambda xp, p, x: np.array(x.shape[p.axis], np.int64)))
CUPY.row(ops.MAKE_VECTOR)(single(_vector))
CUPY.row(ops.RESHAPE)(single(lambda xp, p, x, *sizes: x.reshape(tuple(int(each) for each in sizes))))
CUPY.row(ops.DIMSHUFFLE)(single(_dimshuffle))
CUPY.row(ops.ALLOC)(single(_alloc, scalars_on_host=False))
CUPY.row(ops.SPECIFY_SHAPE)(single(lambda xp, p, x, *sizes: x))
