"""Indexing and assignment in CuPy; numbers in an index are brought to the host."""

from __future__ import annotations

from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX, LAST_ROW
from scanviz.engine.ops.index_pattern import is_basic, numpy_index


def _assign(xp: Any, parameters: Any, x: Any, value: Any, *numbers: Any) -> Any:
    changed, place = x.copy(), numpy_index(parameters.pattern, numbers)
    if not parameters.increment:
        changed[place] = value
    elif is_basic(parameters.pattern):
        changed[place] += value
    else:
        xp.add.at(changed, place, value)
    return changed


CUPY.row(INDEX)(single(lambda xp, p, x, *numbers: x[numpy_index(p, numbers)]))
CUPY.row(ASSIGN)(single(_assign))
CUPY.row(LAST_ROW)(single(lambda xp, p, rows, initial: rows[-1] if len(rows) else initial))
