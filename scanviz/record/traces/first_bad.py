"""Where a NaN or an infinity first came up among the values that were kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scanviz.record.traces.model import STATISTICS, TracedVariableRecord, TraceRecord


class FirstBad(NamedTuple):
    """Where a NaN or an infinity first came up in a run.

    Attributes
    ----------
    step : int
        The first step kept that has one.
    variable : TracedVariableRecord
        What the step computed first that has one; what it was given, if that already had.
    given : bool
        Whether the step was given it.
    """

    step: int
    variable: TracedVariableRecord
    given: bool


def first_bad(trace: TraceRecord, what: str) -> FirstBad | None:
    """Return where the first NaN (``"nan"``) or infinity (``"inf"``) of a run is; constants of the loop do not count."""
    column = STATISTICS.index(what)
    changing = [
        variable for variable in trace.variables if variable.role != "input" or variable.tap is not None
    ]
    for place, step in enumerate(trace.steps):
        for variable in changing:
            if variable.statistics[place, column] > 0:
                return FirstBad(step, variable, variable.role == "input")
    return None


def first_bad_of(traces: Iterable[TraceRecord]) -> tuple[TraceRecord, FirstBad] | None:
    """Return where a value is first NaN or infinite in runs of a loop: in the earliest run, the earliest step, computed first.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1, 0.5, 0, 0], [0.0, 1, 0.5, 2, 0]])
    >>> trace = TraceRecord(1, 0, 2, (0, 7), variables=(TracedVariableRecord("h[t]", "output", statistics=rows),))
    >>> found = first_bad_of([trace])
    >>> found[1].step, found[1].variable.name
    (7, 'h[t]')
    """
    for trace in sorted(traces, key=lambda trace: trace.run):
        both = [first_bad(trace, what) for what in ("nan", "inf")]
        found = [bad for bad in both if bad is not None]
        if found:
            order = {id(variable): place for place, variable in enumerate(trace.variables)}
            return trace, min(found, key=lambda bad: (bad.step, order[id(bad.variable)]))
    return None
