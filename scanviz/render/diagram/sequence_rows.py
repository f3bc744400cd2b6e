"""Which row of an array a step reads of a sequence: tap -1 of taps [-1, 0] reads row 0 at step 0, row 1 at step 1."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from scanviz.record.graphs.graph import GraphSnapshot

_AT_STEP = re.compile(r"\[t([+-]\d+)?\]")
_CUT = re.compile(r"index\[(-?\d*):(-?\d*)(?::(-?1))?\]$")


class SequenceRows(Struct, frozen=True):
    """The row of an array that step t reads at a tap is ``first + direction * t + tap``; below 0 it counts from the end."""

    first: int
    direction: int

    def row(self, time: int, tap: int) -> int:
        """Return the row that a step reads at a tap."""
        return self.first + self.direction * time + tap


def rows_of_sequences(graph: GraphSnapshot) -> dict[str, SequenceRows]:
    """Return where the rows of each sequence lie, by the sequences' names, of loops that are no back-propagation."""
    found: dict[str, SequenceRows] = {}
    for loop, _, around in graph.all_loops():
        for variable in loop.variables if loop.gradient_of is None else ():
            if variable.kind == "sequence" and variable.outer_input is not None:
                first, direction = _first_row(around, variable.outer_input)
                if first is not None:
                    tap = next(iter(variable.reads), 0)
                    found.setdefault(variable.name, SequenceRows(first - tap, direction))
    return found


def _first_row(graph: GraphSnapshot, variable: str) -> tuple[int | None, int]:
    """Return which row of an array comes first in a part of it, and the direction; None where the parts do not say."""
    made = {output: node for node in graph.nodes for output in node.outputs}
    first: int | None = 0
    direction = 1
    while first is not None and (node := made.get(variable)) is not None and node.op.startswith("index["):
        cut = _CUT.match(node.op)
        stride = int(cut[3] or 1) if cut is not None else 1
        first = _through(first, cut[1], cut[2], stride) if cut is not None else None
        direction *= stride
        variable = node.inputs[0]
    return first, direction


def _through(row: int, start: str, stop: str, stride: int) -> int | None:
    """Return which row of an array is a row of ``array[start:stop:stride]``; None where that depends on its length."""
    if row >= 0:
        begin = int(start) if start else (0 if stride == 1 else -1)
        found = begin + stride * row
        return found if (begin < 0) == (found < 0) else None
    if stride == -1:
        return None if stop else -1 - row
    return row if not stop else row + int(stop) if int(stop) < 0 else None


def at_time(label: str, time: int, rows: Mapping[str, SequenceRows] | None = None) -> str:
    """Return an expression of rows at step t as it is for one step.

    Parameters
    ----------
    label : str
        The expression.
    time : int
        The step.
    rows : mapping of str to SequenceRows, optional
        Where rows of sequences lie; rows of states have the numbers of their steps.

    Examples
    --------
    >>> at_time("1 - h[t-1] * h[t]", 3), at_time("x", 3)
    ('1 - h[2] * h[3]', 'x at 3')
    >>> at_time("x[t-1] * h[t-1]", 3, {"x": SequenceRows(1, 1)})
    'x[3] * h[2]'
    """
    found = label
    for name, sequence in (rows or {}).items():

        def row(match: re.Match[str], name: str = name, of: SequenceRows = sequence) -> str:
            return f"{name}[{of.row(time, int(match[1] or 0))}]"

        found = re.sub(rf"(?<![\w.\]]){re.escape(name)}{_AT_STEP.pattern}", row, found)
    found = _AT_STEP.sub(lambda match: f"[{time + int(match[1] or 0)}]", found)
    return found if found != label else f"{label} at {time}"
