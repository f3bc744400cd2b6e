"""Matrix products in CuPy."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops import linalg as ops

CUPY.row(ops.DOT)(single(lambda xp, p, a, b: xp.dot(a, b)))
CUPY.row(ops.MATMUL)(single(lambda xp, p, a, b: xp.matmul(a, b)))
CUPY.row(ops.BATCHED_DOT)(single(lambda xp, p, a, b: ops.batched_dot_values(xp, a, b)))
CUPY.row(ops.TENSORDOT)(single(lambda xp, p, a, b: xp.tensordot(a, b, axes=(p.first, p.second))))
CUPY.row(ops.TRACE)(single(lambda xp, p, x: xp.trace(x, p.offset, p.axis1, p.axis2)))
