"""Heat of a picture: the time and share of each operation and loop in a profiled run.

These are the times of the parts of the run (:mod:`scanviz.record.summary.run_breakdown`), as in every other view.
"""

from __future__ import annotations

from typing import NamedTuple

from scanviz.record.graphs.graph import GraphSnapshot, ScanRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of


class Heat(NamedTuple):
    """A time, and its share of the run; None where unknown."""

    time_ns: float | None = None
    share: float | None = None


UNKNOWN = Heat()


class HeatMap:
    """Times of one function's operations and loops.

    Parameters
    ----------
    record : ProfileRecord or None
        The run; None knows no time.
    function : FunctionRecord or None
        The function of the operations outside of loops.

    Examples
    --------
    >>> HeatMap(None, None).loop(1)
    Heat(time_ns=None, share=None)
    """

    def __init__(self, record: ProfileRecord | None, function: FunctionRecord | None) -> None:
        self.loops = {loop.key: loop for loop in record.loops} if record is not None else {}
        self.function = function
        self._times = OperationTimes(parts_of(record)) if record is not None else None

    def loop(self, key: int | None) -> Heat:
        """Return the time of all runs of a loop."""
        loop = self.loops.get(key) if key is not None else None
        return self._heat(loop.total_ns) if loop is not None and loop.runs else UNKNOWN

    def operation(self, loop: ScanRecord | None, index: int | None) -> Heat:
        """Return the time of an operation in a loop's step; for loop None, in the function."""
        if index is None or index < 0:
            return UNKNOWN
        known = None if loop is None or loop.key is None else self.loops.get(loop.key)
        owner = self.function if loop is None else known
        found = _at(owner.operations, index) if owner is not None else None
        if self._times is None or owner is None or found is None or not found.samples:
            return UNKNOWN
        return self._heat(self._times.of(owner, found))

    def _heat(self, time_ns: float) -> Heat:
        run_ns = self._times.run_ns if self._times is not None else 0
        return Heat(float(time_ns), min(1.0, time_ns / run_ns) if run_ns > 0 else None)


def function_of(record: ProfileRecord | None, key: int | None, graph: GraphSnapshot) -> FunctionRecord | None:
    """Return a graph's function in a record: by key, else by its graph or loops."""
    if record is None:
        return None
    if key is not None:
        return next((function for function in record.functions if function.key == key), None)
    for function in record.functions:
        if function.graph is graph or function.graph == graph:
            return function
    wanted = {loop.key for loop in graph.loops if loop.key is not None}
    owners = {loop.function for loop in record.loops if loop.key in wanted}
    if len(owners) == 1:
        [key] = owners
        return next((function for function in record.functions if function.key == key), None)
    return None


def _at(operations: tuple[OperationRecord, ...], index: int) -> OperationRecord | None:
    return operations[index] if index < len(operations) else None
