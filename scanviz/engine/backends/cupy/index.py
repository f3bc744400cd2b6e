"""Indexing and assignment in CuPy; numbers in an index are brought to the host.

CuPy wraps indices of arrays that lie outside, where NumPy refuses them: they are checked here, which waits for the device.
Where an index repeats in an assignment, NumPy keeps the last value and CuPy keeps one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, single
from scanviz.engine.errors import ScanvizIndexError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY, history_values
from scanviz.engine.ops.index_pattern import IndexParameters, is_basic, numpy_index
from scanviz.engine.ops.size_checks import FIRST_ROWS, first_rows_values

# Dtypes whose additions at repeated places CuPy lacks, and those with the same sums, cut to as many bits.
WIDER = {"int64": "uint64", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32", "bool": "uint32"}  # fmt: skip


def place_of(pattern: IndexParameters, x: Any, numbers: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index for CuPy, after checking that its integer arrays lie inside of ``x``.

    Raises
    ------
    ScanvizIndexError
        If one does not.
    """
    place = numpy_index(pattern, numbers)
    axis = 0
    for entry, part in zip(pattern.entries, place, strict=True):
        if entry.kind == "array" and part.dtype.kind in "iu" and part.size:
            _check_inside(part, axis, x.shape[axis])
        axis += 0 if entry.kind == "newaxis" else entry.consumed
    return place


def _check_inside(part: Any, axis: int, size: int) -> None:
    lowest, highest = int(part.min()), int(part.max())
    if lowest < -size or highest >= size:
        outside = highest if highest >= size else lowest
        raise ScanvizIndexError(f"index {outside} is out of bounds for axis {axis} with size {size}")


def _index(xp: Any, pattern: Any, x: Any, *numbers: Any) -> Any:
    try:
        return x[place_of(pattern, x, numbers)]
    except IndexError as error:
        raise error if isinstance(error, ScanvizIndexError) else ScanvizIndexError(str(error)) from None


def _assign(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    changed = xp.asarray(values[0]).copy()  # a number known when building is kept on the host
    _assign_in_place(xp, op, values, changed)
    return (changed,)


def _assign_in_place(xp: Any, op: Op, values: Sequence[Any], out: Any) -> None:
    """Change ``out``, which is the first value or a copy of it."""
    parameters, value, numbers = op.parameters, values[1], values[2:]
    place = place_of(parameters.pattern, out, numbers)
    if value.ndim and xp.may_share_memory(value, out):
        value = value.copy()
    if not parameters.increment:
        out[place] = value
    elif is_basic(parameters.pattern):
        out[place] += value
    else:
        wider = WIDER.get(str(out.dtype))
        if wider is None:
            xp.add.at(out, place, value)
        else:
            sums = out.astype(wider)
            xp.add.at(sums, place, value.astype(wider))
            out[...] = sums.astype(out.dtype)


CUPY.row(INDEX)(single(_index))


def _assign_into(xp: Any, op: Op, values: Sequence[Any], out: Any) -> None:
    """Write into ``out``, which is the first value or other memory."""
    if values[0] is not out:
        out[...] = values[0]
    _assign_in_place(xp, op, values, out)


CUPY.row(ASSIGN)(CupyRow(_assign, into=_assign_into, writes=lambda op, dtypes, dtype: True))
CUPY.row(FIRST_ROWS)(single(lambda xp, p, rows, steps: first_rows_values(p, rows, steps)))
CUPY.row(LAST_ROW)(single(lambda xp, p, rows, initial: rows[-1] if len(rows) else initial.copy()))
CUPY.row(STATE_HISTORY)(single(lambda xp, p, rows, initial: history_values(xp, p.offset, rows, initial)))
