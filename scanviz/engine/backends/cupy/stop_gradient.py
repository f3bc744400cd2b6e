"""Barriers in CuPy: the value passes.  A function takes them out before it runs; only a graph run as it stands has them."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.stop_gradient import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD

CUPY.row(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP)(single(lambda xp, p, x: x))
