"""``Print`` and ``Assert`` in CuPy: what is looked at is brought to the host, and the value stays on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow
from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.effects import ASSERT, PRINT


def _on_host(value: Any) -> Any:
    return value.get() if hasattr(value, "get") else np.asarray(value)


def _print(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    op.perform([_on_host(values[0])])
    return (values[0].copy(),)


def _assert(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    op.perform([np.zeros(()), *map(_on_host, values[1:])])  # the value itself is not looked at
    return (values[0].copy(),)


CUPY.row(PRINT)(CupyRow(_print))
CUPY.row(ASSERT)(CupyRow(_assert))
