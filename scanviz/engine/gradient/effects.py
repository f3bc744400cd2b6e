"""Derivatives of ``Print`` and ``Assert``: those of the value pass, conditions have none."""

from __future__ import annotations

from scanviz.engine.gradient.table import passes
from scanviz.engine.ops.effects import ASSERT, PRINT

passes(PRINT, ASSERT)
