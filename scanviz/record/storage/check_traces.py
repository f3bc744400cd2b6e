"""Whether recorded values fit the loops they are of: keys, steps in order, and arrays with a row for each step."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.loops import LoopRecord
from scanviz.record.traces.model import STATISTICS, TracedVariableRecord, TraceRecord

_REASONS = ("first", "last", "every", "event", "asked")


def check_traces(traces: tuple[TraceRecord, ...], loops: Mapping[int, LoopRecord]) -> None:
    """Refuse values that are of no loop, or whose arrays do not have a row for each step.

    Raises
    ------
    ScanvizValueError
        Naming the loop, and the variable where it is one.

    Examples
    --------
    >>> check_traces((), {})
    """
    seen: set[tuple[int, int]] = set()
    for trace in traces:
        loop = loops.get(trace.loop)
        if loop is None:
            raise _refused(f"values are of loop {trace.loop}, which is not in the record")
        if (trace.loop, trace.run) in seen:
            raise _refused(f"values of run {trace.run} of loop {trace.loop} are there twice")
        seen.add((trace.loop, trace.run))
        _check_steps(trace)
        for variable in trace.variables:
            _check_variable(variable, trace, loop)


def _check_steps(trace: TraceRecord) -> None:
    steps = trace.steps
    if any(later <= earlier for earlier, later in itertools.pairwise(steps)):
        raise _refused(f"the steps kept of loop {trace.loop} are not in order")
    if steps and (steps[0] < 0 or steps[-1] >= trace.total_steps):
        raise _refused(f"steps kept of loop {trace.loop} are beyond its {trace.total_steps}")
    if len(trace.reasons) != len(steps) or not set(trace.reasons) <= set(_REASONS):
        raise _refused(f"the steps kept of loop {trace.loop} lack reasons, or have unknown ones")


def _check_variable(variable: TracedVariableRecord, trace: TraceRecord, loop: LoopRecord) -> None:
    values, statistics = variable.values, variable.statistics
    of = f"{variable.name[:60]!r} in loop {trace.loop}"
    if values.dtype != np.float64 or values.ndim != 2 or len(values) != len(trace.steps):
        raise _refused(f"the values of {of} do not have a row for each of its {len(trace.steps)} steps")
    if statistics.dtype != np.float64 or statistics.shape != (len(trace.steps), len(STATISTICS)):
        raise _refused(f"the statistics of {of} do not have a row for each of its {len(trace.steps)} steps")
    counts = statistics[:, 3:]
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise _refused(f"the statistics of {of} have impossible counts")
    if not _is_place(variable.variable, len(loop.variables)):
        raise _refused(f"{of} belongs to loop variable {variable.variable}, which is not there")
    if not _is_place(variable.operation, len(loop.operations)):
        raise _refused(f"{of} belongs to operation {variable.operation}, which is not there")


def _is_place(index: int | None, count: int) -> bool:
    """Return whether an index is of something there; a loop beyond the size limit has lost its lists."""
    return index is None or 0 <= index < count or (index >= 0 and not count)


def _refused(what: str) -> ScanvizValueError:
    return ScanvizValueError(f"the profile makes no sense: {what}")
