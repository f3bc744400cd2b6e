"""Joining and repeating in CuPy."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.join import CONCATENATE, REPEAT

CUPY.row(CONCATENATE)(single(lambda xp, p, *arrays: xp.concatenate(arrays, axis=p.axis)))
CUPY.row(REPEAT)(single(lambda xp, p, x, counts: xp.repeat(x, counts.tolist(), axis=p.axis)))
