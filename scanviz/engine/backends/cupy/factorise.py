"""Solving and factorising in CuPy; what it lacks is a hole in the table, reported by name."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops import factorise as ops

CUPY.row(ops.INV)(single(lambda xp, p, x: xp.linalg.inv(x)))
CUPY.row(ops.DET)(single(lambda xp, p, x: xp.linalg.det(x)))
CUPY.row(ops.SOLVE)(single(lambda xp, p, a, b: xp.linalg.solve(a, b)))
