"""Times of single operations, added up: of a program's, told one by one, or of a loop's step, told by chunks of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from scanviz.engine.observe import StepSeries
from scanviz.record.measures import aggregated, declared
from scanviz.record.model import OperationRecord

PENDING_TIMED = 4096  # times gathered before they are added up
COLD = 8  # steps at the start of the first timed chunk that pay for cold code: not taken, where others follow


class OperationTally:
    """Times of the operations of a program or of a loop's step.

    Attributes
    ----------
    steps : int
        Steps whose operations were all timed, those of cold code not counted.
    """

    __slots__ = ("_copies", "_counts", "_measures", "_totals", "_waiting", "_weight", "_whole", "steps")

    def __init__(self, count: int) -> None:
        self._totals, self._counts = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._waiting: list[StepSeries] = []
        self._weight = 0  # numbers that wait
        self._copies, self._whole, self.steps = 0, 0, 0
        self._measures: dict[int, dict[str, float]] = {}

    def add(self, series: StepSeries) -> None:
        """Take a chunk of steps in which every operation was timed."""
        intervals = len(series.interval_ns)
        if series.op_ns is None or len(series.op_ns) != len(self._totals) or not intervals:
            return
        if not self.steps:
            series = _without_first(series, min(COLD, intervals // 2))
        self._waiting.append(series)
        self._weight += intervals * len(self._totals)
        self.steps += series.timed_steps
        if self._weight >= PENDING_TIMED or len(self._waiting) >= 32:
            self.settle()

    def add_one(self, index: int, elapsed_ns: int) -> None:
        """Take one time of one operation."""
        if 0 <= index < len(self._totals):
            self._totals[index] += elapsed_ns
            self._counts[index] += 1

    def add_table(self, times: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:
        """Take the times of all operations in several calls: int64, shape (calls, operations)."""
        if times.shape[1] == len(self._totals):
            self._totals += times.sum(axis=0)
            self._counts += len(times)

    def measured(self, index: int, name: str, value: float) -> None:
        """Take a number of one operation."""
        if 0 <= index < len(self._totals):
            aggregated(self._measures.setdefault(index, {}), declared("operation", name), value)

    def settle(self) -> None:
        """Add up what waits."""
        for series in self._waiting:
            if series.op_ns is not None:
                self._totals += series.op_ns.sum(axis=1)
            self._counts += series.timed_steps
            self._copies += int(series.copy_ns.sum()) if series.copy_ns is not None else 0
            self._whole += int(series.interval_ns.sum())
        self._waiting, self._weight = [], 0

    def means(self, stamp_ns: float) -> list[float]:
        """Return the average of each operation with a stamp's cost taken off, 0 for one never timed."""
        return [
            without(total / count, stamp_ns) if count else 0.0
            for total, count in zip(self._totals.tolist(), self._counts.tolist(), strict=True)
        ]

    def records(
        self, operations: tuple[OperationRecord, ...], stamp_ns: float
    ) -> tuple[OperationRecord, ...]:
        """Return the operations with their times."""
        timed = zip(operations, self._counts.tolist(), self.means(stamp_ns), strict=True)
        return tuple(
            replace(operation, samples=count, mean_ns=mean, measures=dict(self._measures.get(k, {})))
            for k, (operation, count, mean) in enumerate(timed)
        )

    def division(self, stamp_ns: float) -> tuple[float, float, float]:
        """Return the averages a step of its operations, its copies and the rest."""
        body = sum(self.means(stamp_ns))
        if not self.steps:
            return body, 0.0, 0.0
        raw = int(self._totals.sum()) / max(1, int(self._counts.max(initial=1)))
        copies, whole = self._copies / self.steps, self._whole / self.steps
        return body, without(copies, stamp_ns), without(max(0.0, whole - copies - raw), stamp_ns)


def _without_first(series: StepSeries, count: int) -> StepSeries:
    assert series.op_ns is not None
    copies = series.copy_ns[count:] if series.copy_ns is not None else None
    covers = series.covers[count:] if series.covers is not None else None
    operations, times = series.op_ns[:, count:], series.interval_ns[count:]
    return StepSeries(series.loop, series.first, times, operations, copies, series.source, covers=covers)


def without(mean_ns: float, stamp_ns: float) -> float:
    """Return an average with a stamp's cost taken off, at least 1 ns of what took time.

    Examples
    --------
    >>> without(180.0, 50.0), without(30.0, 50.0), without(0.0, 50.0)
    (130.0, 1.0, 0.0)
    """
    return max(mean_ns - stamp_ns, min(mean_ns, 1.0))
