"""``ifelse`` where it is an operation of its own: the chosen values as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, CupyRow
from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.control import IFELSE


def _ifelse(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    half = (len(values) - 1) // 2
    return values[1 : 1 + half] if bool(values[0]) else values[1 + half :]


CUPY.row(IFELSE)(CupyRow(_ifelse))
