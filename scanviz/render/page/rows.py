"""What rows of buffers hold, as the page's player reads it: spans of steps after which a row is known to hold something.

A step writes at its end what it writes.  Between two steps that write a row it holds the same, so one value that was seen there,
written or read, is known for all of the span.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator

from scanviz.record.loops import LoopVariableRecord
from scanviz.record.traces import TracedVariableRecord, TraceRecord
from scanviz.render.buffers import rows_before

_MEAN, _NAN, _INF = 2, 3, 4  # columns of statistics
_HAVE_NO_TAPS = ("sequence", "nitsot")

Span = tuple[
    int, int, int | None, float
]  # row, first step, step before which it ends (None: it does not), mean of the row


def spans_of(trace: TraceRecord, variable: LoopVariableRecord, index: int) -> list[Span]:
    """Return what the rows of a loop variable's buffer hold after which steps, NaN where a number in a row is none.

    Examples
    --------
    >>> import numpy as np
    >>> read, written = np.array([[0.0, 1, 0.25, 0, 0], [0.0, 1, 0.5, 0, 0]]), np.array([[0.0, 1, 0.5, 0, 0], [0.0, 2, 1.5, 0, 0]])
    >>> variables = (
    ...     TracedVariableRecord("h[t-1]", "input", 0, -1, statistics=read),
    ...     TracedVariableRecord("h[t]", "output", 0, 0, statistics=written),
    ... )
    >>> h = LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))
    >>> spans_of(TraceRecord(1, 0, 2, (0, 1), variables=variables), h, 0)
    [(0, 0, None, 0.25), (1, 0, None, 0.5), (2, 1, None, 1.5)]
    """
    before = rows_before(variable)
    found: dict[tuple[int, int], Span] = {}
    for row, after, mean in _seen(trace, variable, index, before):
        writes = sorted(row - before - tap for tap in variable.writes)
        place = bisect_right(writes, after)
        first = max(0, writes[place - 1]) if place else 0
        end = writes[place] if place < len(writes) else None
        if end is None or end > first:
            found[row, first] = row, first, end, mean
    return [found[key] for key in sorted(found)]


def _seen(
    trace: TraceRecord, variable: LoopVariableRecord, index: int, before: int
) -> Iterator[tuple[int, int, float]]:
    """Iterate over what is known of rows: the row, after which step it holds that (-1: before the first), and its mean."""
    for traced in trace.variables:
        if traced.variable != index or (traced.tap is None and variable.kind not in _HAVE_NO_TAPS):
            continue
        shift = 0 if variable.kind in _HAVE_NO_TAPS else (traced.tap or 0) + before
        for place, at in enumerate(trace.steps):
            yield at + shift, at if traced.role == "output" else at - 1, _mean(traced, place)


def _mean(traced: TracedVariableRecord, place: int) -> float:
    values = traced.statistics[place]
    return math.nan if values[_NAN] or values[_INF] else float(values[_MEAN])
