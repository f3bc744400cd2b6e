"""Sorting in CuPy."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.sort import ARGSORT, SORT

CUPY.row(SORT)(single(lambda xp, p, x: xp.sort(x, axis=p.axis)))
CUPY.row(ARGSORT)(single(lambda xp, p, x: xp.argsort(x, axis=p.axis)))
