"""New arrays in CuPy."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, on_host, single
from scanviz.engine.ops import creation as ops

# The dtypes of the bounds decide how NumPy rounds the length of a range; CuPy rounds by rules of its own.
CUPY.row(ops.ARANGE)(on_host())
CUPY.row(ops.EYE)(single(ops.eye_values, scalars_on_host=False))
CUPY.row(ops.TRIANGLE)(single(lambda xp, p, x: (xp.tril if p.lower else xp.triu)(x, p.offset)))
CUPY.row(ops.DIAGONAL)(single(lambda xp, p, x: xp.diagonal(x, p.offset, -2, -1)))
CUPY.row(ops.FROM_DIAGONAL)(single(lambda xp, p, x: xp.diag(x, p.offset)))
