"""New arrays in CuPy."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops import creation as ops

CUPY.row(ops.ARANGE)(
    single(
        lambda xp, p, a, b, c: xp.arange(a.item(), b.item(), c.item(), dtype=p.dtype), scalars_on_host=False
    )
)
CUPY.row(ops.EYE)(
    single(lambda xp, p, n, m: xp.eye(int(n), int(m), p.offset, p.dtype), scalars_on_host=False)
)
CUPY.row(ops.TRIANGLE)(single(lambda xp, p, x: (xp.tril if p.lower else xp.triu)(x, p.offset)))
CUPY.row(ops.DIAGONAL)(single(lambda xp, p, x: xp.diagonal(x, p.offset, -2, -1)))
CUPY.row(ops.FROM_DIAGONAL)(single(lambda xp, p, x: xp.diag(x, p.offset)))
