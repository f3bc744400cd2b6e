"""Values of the rows of a loop's buffers, from the values that a run kept.

A step writes its rows at its end.  Between two writes a row does not change, so one value that was read or written there holds for
the whole span.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.render.buffers import rows_before

SHOWN = 3  # elements of an array in its text
_MEAN, _NAN, _INF = 2, 3, 4  # columns of statistics
_HAVE_NO_TAPS = ("sequence", "nitsot")


class RowValue(NamedTuple):
    """A value that a step read or wrote.

    Attributes
    ----------
    traced : TracedVariableRecord
        The variable of the step.
    place : int
        Place of the step among the kept ones.
    """

    traced: TracedVariableRecord
    place: int

    @property
    def mean(self) -> float:
        """The mean of the value; NaN if it has a NaN or an infinity."""
        values = self.traced.statistics[self.place]
        return math.nan if values[_NAN] or values[_INF] else float(values[_MEAN])

    @property
    def is_number(self) -> bool:
        """True for a value with one element."""
        return math.prod(self.traced.shape) == 1

    @property
    def is_zero(self) -> bool:
        """True if all elements are 0."""
        return not self.traced.statistics[self.place].any()

    @property
    def text(self) -> str:
        """The value in a few characters: a number, or the shape and the first elements of an array.

        Examples
        --------
        >>> import numpy as np
        >>> values = np.array([[0.25, 1 / 3, 12345.0, 4.0]])
        >>> RowValue(TracedVariableRecord("h[t]", "output", shape=(2, 3), values=values), 0).text
        '(2, 3) 0.25 0.3333 1.234e+04 …'
        """
        elements = [number(element) for element in self.traced.values[self.place].tolist()]
        if self.is_number:
            return elements[0] if elements else ""
        shape = f"({', '.join(map(str, self.traced.shape))}{',' * (len(self.traced.shape) == 1)})"
        more = ["…"] if math.prod(self.traced.shape) > min(SHOWN, len(elements)) else []
        return " ".join([shape, *elements[:SHOWN], *more])


class RowSpan(NamedTuple):
    """A known value of a row.

    Attributes
    ----------
    row : int
        The row of the buffer.
    first : int
        The step after which the row has the value; -1 for a value from before the first step.
    end : int or None
        The step after which it has another one; None if it keeps the value.
    value : RowValue
        The value.
    """

    row: int
    first: int
    end: int | None
    value: RowValue


def number(value: float) -> str:
    """Return a number in four digits.

    Examples
    --------
    >>> number(2.0), number(1 / 3), number(float("nan"))
    ('2', '0.3333', 'NaN')
    """
    return "NaN" if math.isnan(value) else f"{value:.4g}"


def row_spans(
    traces: Iterable[TraceRecord], variable: LoopVariableRecord, index: int, near: range | None = None
) -> list[RowSpan]:
    """Return the known values of a loop variable's rows, by row and time.

    Parameters
    ----------
    traces : iterable of TraceRecord
        Values of one run.
    variable : LoopVariableRecord
        The loop variable.
    index : int
        Its place in the loop.
    near : range, optional
        Only values of these steps.

    Examples
    --------
    >>> import numpy as np
    >>> read, written = np.array([[0.0, 1, 0.25, 0, 0], [0.0, 1, 0.5, 0, 0]]), np.array([[0.0, 1, 0.5, 0, 0], [0.0, 2, 1.5, 0, 0]])
    >>> variables = (
    ...     TracedVariableRecord("h[t-1]", "input", 0, -1, statistics=read),
    ...     TracedVariableRecord("h[t]", "output", 0, 0, statistics=written),
    ... )
    >>> h = LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))
    >>> spans = row_spans([TraceRecord(1, 0, 2, (0, 1), variables=variables)], h, 0)
    >>> [(span.row, span.first, span.end, span.value.mean) for span in spans]
    [(0, -1, None, 0.25), (1, 0, None, 0.5), (2, 1, None, 1.5)]
    """
    before = rows_before(variable)
    writes = (0,) if variable.kind == "nitsot" else variable.writes
    found: dict[tuple[int, int], RowSpan] = {}
    for row, after, value in _seen(traces, variable, index, before, near):
        written = sorted(row - before - tap for tap in writes)
        place = bisect_right(written, after)
        first = max(-1, written[place - 1]) if place else -1
        end = written[place] if place < len(written) else None
        found[row, first] = RowSpan(row, first, end, value)
    return [found[key] for key in sorted(found)]


def rows_held(
    traces: Iterable[TraceRecord],
    variable: LoopVariableRecord,
    index: int,
    step: int,
    near: range | None = None,
) -> dict[int, RowValue]:
    """Return the known values of a loop variable's rows after a step; step -1 is before the first."""
    return {
        span.row: span.value
        for span in row_spans(traces, variable, index, near)
        if span.first <= step and (span.end is None or step < span.end)
    }


def _seen(
    traces: Iterable[TraceRecord],
    variable: LoopVariableRecord,
    index: int,
    before: int,
    near: range | None,
) -> Iterator[tuple[int, int, RowValue]]:
    """Iterate over known rows: the row, the first step after which it is known (-1: initially), and its value."""
    for trace in traces:
        steps = trace.steps
        places = (
            range(len(steps))
            if near is None
            else range(bisect_left(steps, near.start), bisect_left(steps, near.stop))
        )
        for traced in sorted(trace.variables, key=lambda one: one.role != "output"):  # a later read decides
            if traced.variable != index or (traced.tap is None and variable.kind not in _HAVE_NO_TAPS):
                continue
            shift = 0 if variable.kind in _HAVE_NO_TAPS else (traced.tap or 0) + before
            for place in places:
                at = steps[place]
                yield at + shift, at if traced.role == "output" else at - 1, RowValue(traced, place)
