"""Random draws: on the host, by the one formula set, so that every backend gives the same numbers."""

from __future__ import annotations

from scanviz.engine.backends.cupy.table import CUPY, on_host
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.ops import random as _ops  # noqa: F401  # declares the draws

for _declaration in declarations():
    if _declaration.family == "random":
        CUPY.row(_declaration)(on_host())
