"""Sample steps in bounded memory: the first, the last, the slowest, and every k-th timed one.

Where steps were timed in blocks, a block stands for its steps, with their average.  k starts at 1.  Whenever the every-k-th
steps fill their room, k doubles and every second of them is dropped.  So they lie evenly over all steps, and the same steps
give the same sample.
"""

from __future__ import annotations

import numpy as np

from scanviz.record.loops import Samples

Columns = tuple[Samples, ...]  # run, first step, nanoseconds a step, steps

FIRST, LAST, SLOWEST, SPREAD = 64, 64, 32, 512
_REASONS = {"spread": 0, "first": 1, "last": 2, "slowest": 3}


def _picked(columns: Columns, which: slice | Samples) -> Samples:
    return np.stack([column[which] for column in columns], axis=1)


def _none() -> Samples:
    return np.zeros((0, 4), np.int64)


class StepSample:
    """A sample of the steps of all runs of a loop, as rows of (run, step, nanoseconds).

    Attributes
    ----------
    seen : int
        Steps or blocks of steps it was given.
    stride : int
        The k of every k-th.

    Examples
    --------
    >>> sample = StepSample()
    >>> sample.add(np.zeros(3, np.int64), np.arange(3), np.array([50, 20, 30]))
    >>> sample.rows().tolist()
    [[0, 0, 50, 3], [0, 1, 20, 3], [0, 2, 30, 3]]
    """

    __slots__ = ("first", "last", "seen", "slowest", "spread", "stride")

    def __init__(self) -> None:
        self.first, self.last, self.slowest, self.spread = _none(), _none(), _none(), _none()
        self.stride, self.seen = 1, 0

    def add(self, runs: Samples, steps: Samples, times: Samples, covers: Samples | None = None) -> None:
        """Add steps in the order of time; ``covers`` has the number of steps that a time averages."""
        count = len(times)
        columns = (runs, steps, times, np.ones(count, np.int64) if covers is None else covers)
        if len(self.first) < FIRST:
            self.first = np.concatenate([self.first, _picked(columns, slice(FIRST - len(self.first)))])
        self.last = np.concatenate([self.last, _picked(columns, slice(max(0, count - LAST), None))])[-LAST:]
        self._add_slowest(columns)
        every = slice(-self.seen % self.stride, None, self.stride)
        self.spread = np.concatenate([self.spread, _picked(columns, every)])
        while len(self.spread) > SPREAD:
            self.spread = self.spread[::2].copy()
            self.stride *= 2
        self.seen += count

    def _add_slowest(self, columns: Columns) -> None:
        threshold = self.slowest[-1, 2] if len(self.slowest) == SLOWEST else -1
        slow = np.flatnonzero(columns[2] > threshold)
        if len(slow):
            rows = np.concatenate([self.slowest, _picked(columns, slow)])
            self.slowest = rows[np.argsort(-rows[:, 2], kind="stable")[:SLOWEST]]

    def rows(self) -> Samples:
        """Return the kept steps as rows of (run, step, nanoseconds, reason), each step once, by run and step.

        A step kept for several reasons has the largest.
        """
        return self._kept()[:, [0, 1, 2, 4]]

    def covers(self) -> tuple[int, ...]:
        """Return the number of steps that each row's time averages; empty if it is always one."""
        found = self._kept()[:, 3]
        return tuple(found.tolist()) if (found > 1).any() else ()

    def _kept(self) -> Samples:
        groups = [
            np.column_stack([getattr(self, name), np.full(len(getattr(self, name)), reason)])
            for name, reason in _REASONS.items()
        ]
        rows = np.concatenate(groups).astype(np.int64)
        rows = rows[np.lexsort((rows[:, 4], rows[:, 1], rows[:, 0]))]
        same = (rows[1:, 0] == rows[:-1, 0]) & (rows[1:, 1] == rows[:-1, 1])
        return np.asarray(rows[np.append(~same, True)] if len(rows) else rows)
