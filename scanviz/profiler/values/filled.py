"""A record with more steps: windows that are computed again, for whoever cannot compute them later, such as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from scanviz.profiler.values.replay import MOST_STEPS
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.first_bad import first_bad
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord

Look = Callable[[int, int, int, int], TraceRecord]
ALL_STEPS = 400  # of a run that has no more, all are computed; of a longer one the windows
BESIDE = 64  # steps on each side of the first NaN, and half as many as at the beginning and at the end
NUMBERS = 64  # of each value


def filled(record: ProfileRecord, look: Look) -> ProfileRecord:
    """Return a record in which runs have all their steps, or windows of them: the first steps, the last, and around the first NaN.

    Raises
    ------
    ScanvizError
        What ``look`` raises.
    """
    traces = [
        _filled(trace, look) if any(call.has_run(trace.loop, trace.run) for call in record.calls) else trace
        for trace in record.traces
    ]
    return replace(record, traces=tuple(traces))


def _filled(trace: TraceRecord, look: Look) -> TraceRecord:
    found = [
        look(trace.loop, trace.run, start, min(start + MOST_STEPS, last + 1) - 1)
        for first, last in windows(trace)
        for start in range(first, last + 1, MOST_STEPS)
    ]
    return joined([trace, *found]) if not trace.left_out else joined(found)


def windows(trace: TraceRecord) -> Iterator[tuple[int, int]]:
    """Yield the first and the last step of each window that is computed of a run.

    Examples
    --------
    >>> list(windows(TraceRecord(1, 0, 300))), list(windows(TraceRecord(1, 0, 10_000)))
    ([(0, 299)], [(0, 127), (9872, 9999)])
    """
    end = trace.total_steps
    if end <= ALL_STEPS:
        if end:
            yield 0, end - 1
        return
    yield 0, 2 * BESIDE - 1
    for what in ("nan", "inf"):
        bad = first_bad(trace, what)
        if bad is not None:
            yield max(0, bad.step - BESIDE), min(end, bad.step + BESIDE) - 1
    yield end - 2 * BESIDE, end - 1


def joined(traces: Sequence[TraceRecord]) -> TraceRecord:
    """Return values of one run as one, of each step as the first of them has it."""
    places: dict[int, tuple[int, int]] = {}
    for k, trace in enumerate(traces):
        for row, step in enumerate(trace.steps):
            places.setdefault(step, (k, row))
    steps = sorted(places)
    rows = [places[step] for step in steps]
    columns = zip(*(trace.variables for trace in traces), strict=True)
    return replace(
        traces[0],
        steps=tuple(steps),
        reasons=tuple(traces[k].reasons[row] for k, row in rows),
        variables=tuple(_joined(column, rows) for column in columns),
    )


def _joined(column: Sequence[TracedVariableRecord], rows: Sequence[tuple[int, int]]) -> TracedVariableRecord:
    width = min(NUMBERS, max(rows.values.shape[1] for rows in column))
    values = np.full((len(rows), width), np.nan)
    for place, (k, row) in enumerate(rows):
        numbers = column[k].values[row, :width]
        values[place, : len(numbers)] = numbers
    statistics = np.array([column[k].statistics[row] for k, row in rows])
    return replace(column[0], values=values, statistics=statistics)
