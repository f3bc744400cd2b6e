"""What the rows of a buffer hold at a step, as shades: known of steps whose values were kept or computed again."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

from scanviz.record.loops import LoopVariableRecord
from scanviz.record.traces import TracedVariableRecord, TraceRecord
from scanviz.render.buffers import rows_before

SHADES = " ░▒▓█"
NEAR = 128  # steps before and after the one that is looked at: no ruler shows rows of others
_MEAN, _NAN, _INF = 2, 3, 4  # columns of statistics
_HAVE_NO_TAPS = ("sequence", "nitsot")


def rows_held(
    traces: Iterable[TraceRecord], variable: LoopVariableRecord, index: int, step: int
) -> dict[int, float]:
    """Return the mean of each row of a buffer as it is after a step, NaN where a number in it is none; of the rows that are known.

    A row is what was last written to it, or read from it; and what a later step reads of it, if no step writes it until then.
    Step -1 is before the first.

    Examples
    --------
    >>> import numpy as np
    >>> from scanviz.record.traces import TracedVariableRecord
    >>> read, written = np.array([[0.0, 1, 0.25, 0, 0], [0.0, 1, 0.5, 0, 0]]), np.array([[0.0, 1, 0.5, 0, 0], [0.0, 2, 1.5, 0, 0]])
    >>> variables = (
    ...     TracedVariableRecord("h[t-1]", "input", 0, -1, statistics=read),
    ...     TracedVariableRecord("h[t]", "output", 0, 0, statistics=written),
    ... )
    >>> h = LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))
    >>> trace = TraceRecord(1, 0, 2, (0, 1), variables=variables)
    >>> rows_held([trace], h, 0, -1), rows_held([trace], h, 0, 1)
    ({0: 0.25}, {0: 0.25, 1: 0.5, 2: 1.5})
    """
    now = _moment(step, True)
    last: dict[int, tuple[int, float]] = {}  # row → the last moment at which it was seen up to now, its mean
    later: dict[int, tuple[int, float]] = {}  # row → the first moment at which it is read after
    for row, at, written, mean in _seen(traces, variable, index, step):
        moment = _moment(at, written)
        if moment <= now:
            last[row] = max(last.get(row, (moment, mean)), (moment, mean), key=lambda one: one[0])
        elif not written:
            later[row] = min(later.get(row, (moment, mean)), (moment, mean), key=lambda one: one[0])
    found = {}
    for row in sorted({*last, *later}):
        if row in last and not _written_between(variable, row, last[row][0], now):
            found[row] = last[row][1]
        elif row in later and not _written_between(variable, row, now, later[row][0]):
            found[row] = later[row][1]
    return found


def are_numbers(traces: Iterable[TraceRecord], index: int) -> bool:
    """Return whether a row of a buffer is one number."""
    return all(
        math.prod(seen.shape) == 1 for trace in traces for seen in trace.variables if seen.variable == index
    )


def _moment(step: int, written: bool) -> int:
    """Return when a step reads, and writes, as a number: it writes after it has read."""
    return 2 * step + written


def _seen(
    traces: Iterable[TraceRecord], variable: LoopVariableRecord, index: int, step: int
) -> Iterator[tuple[int, int, bool, float]]:
    """Iterate over what is known of rows: the row, the step, whether it was written there, and its mean."""
    before = rows_before(variable)
    for trace in traces:
        near = range(bisect_left(trace.steps, step - NEAR), bisect_right(trace.steps, step + NEAR))
        for traced in trace.variables:
            if traced.variable != index or (traced.tap is None and variable.kind not in _HAVE_NO_TAPS):
                continue
            shift = 0 if variable.kind in _HAVE_NO_TAPS else (traced.tap or 0) + before
            for place in near:
                at = trace.steps[place]
                yield at + shift, at, traced.role == "output", _mean(traced, place)


def _mean(variable: TracedVariableRecord, place: int) -> float:
    values = variable.statistics[place]
    return math.nan if values[_NAN] or values[_INF] else float(values[_MEAN])


def _written_between(variable: LoopVariableRecord, row: int, after: int, until: int) -> bool:
    """Return whether a step writes a row after one moment, and until another."""
    before = rows_before(variable)
    return any(after < _moment(row - before - tap, True) <= until for tap in variable.writes)


def shades(rows: Mapping[int, float], wanted: Iterable[int]) -> dict[int, str]:
    """Return a shade for each of the wanted rows that is known, ``!`` for NaN: light is the smallest of them, dark the largest.

    Examples
    --------
    >>> shades({1: 0.5, 2: 1.5, 3: math.nan}, [0, 1, 2, 3])
    {1: '░', 2: '█', 3: '!'}
    """
    known = {row: rows[row] for row in wanted if row in rows}
    finite = [mean for mean in known.values() if math.isfinite(mean)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scale = (len(SHADES) - 2) / ((high - low) or 1.0)
    return {
        row: SHADES[1 + round((mean - low) * scale)] if math.isfinite(mean) else "!"
        for row, mean in known.items()
    }


__all__ = ["are_numbers", "rows_held", "shades"]
