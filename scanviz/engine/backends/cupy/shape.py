"""Shape operations in CuPy; sizes themselves stay on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, single
from scanviz.engine.ops import shape as ops
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.engine.ops.size_checks import SPECIFY_SHAPE, STATE_SHAPE, in_shape_of_state


def _vector(xp: Any, parameters: Any, *scalars: Any) -> Any:
    return xp.stack([xp.asarray(scalar) for scalar in scalars]) if scalars else xp.zeros(0, "int64")


CUPY.row(ops.DIMENSION)(single(lambda xp, p, x: np.array(x.shape[p.axis], np.int64)))
CUPY.row(ops.MAKE_VECTOR)(single(_vector))
CUPY.row(ops.RESHAPE)(single(lambda xp, p, x, *sizes: ops.reshape_values(x, sizes)))
CUPY.row(ops.DIMSHUFFLE)(single(lambda xp, p, x: ops.order_values(p.order, x)))
CUPY.row(ops.ALLOC)(single(lambda xp, p, x, *sizes: ops.alloc_values(xp, x, sizes), scalars_on_host=False))
CUPY.row(SPECIFY_SHAPE)(CupyRow(lambda xp, op, values: op.perform(values)))  # looks at shapes alone
CUPY.row(STATE_SHAPE)(single(lambda xp, p, *values: in_shape_of_state(xp, p, values)))
CUPY.row(BROADCAST_SIZE)(CupyRow(lambda xp, op, values: op.perform(values)))  # numbers of the host
