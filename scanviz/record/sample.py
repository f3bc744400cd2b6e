"""Single steps worth keeping, in bounded memory: the first, the last, the slowest, and every k-th.

k starts at 1 and doubles whenever the every-k-th steps fill their room, every second of them being dropped; so they lie
evenly over all steps, and the same steps give the same sample.
"""

from __future__ import annotations

import numpy as np

from scanviz.record.loops import Samples

FIRST, LAST, SLOWEST, SPREAD = 64, 64, 32, 512
_REASONS = {"spread": 0, "first": 1, "last": 2, "slowest": 3}


def _picked(runs: Samples, steps: Samples, times: Samples, which: slice | Samples) -> Samples:
    return np.stack([runs[which], steps[which], times[which]], axis=1)


def _none() -> Samples:
    return np.zeros((0, 3), np.int64)


class StepSample:
    """A sample of the steps of all runs of a loop, as rows of (run, step, nanoseconds).

    Attributes
    ----------
    seen : int
        Steps it was given.
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

    def add(self, runs: Samples, steps: Samples, times: Samples) -> None:
        """Take steps in the order in which they were done."""
        count = len(times)
        if len(self.first) < FIRST:
            self.first = np.concatenate(
                [self.first, _picked(runs, steps, times, slice(FIRST - len(self.first)))]
            )
        tail = _picked(runs, steps, times, slice(max(0, count - LAST), None))
        self.last = np.concatenate([self.last, tail])[-LAST:]
        self._add_slowest(runs, steps, times)
        every = slice(-self.seen % self.stride, None, self.stride)
        self.spread = np.concatenate([self.spread, _picked(runs, steps, times, every)])
        while len(self.spread) > SPREAD:
            self.spread = self.spread[::2].copy()
            self.stride *= 2
        self.seen += count

    def _add_slowest(self, runs: Samples, steps: Samples, times: Samples) -> None:
        threshold = self.slowest[-1, 2] if len(self.slowest) == SLOWEST else -1
        slow = np.flatnonzero(times > threshold)
        if len(slow):
            rows = np.concatenate([self.slowest, _picked(runs, steps, times, slow)])
            self.slowest = rows[np.argsort(-rows[:, 2], kind="stable")[:SLOWEST]]

    def rows(self) -> Samples:
        """Return the steps kept as rows of (run, step, nanoseconds, reason), each step once, by run and step.

        A step kept for several reasons has the largest.
        """
        groups = [
            np.column_stack([getattr(self, name), np.full(len(getattr(self, name)), reason)])
            for name, reason in _REASONS.items()
        ]
        rows = np.concatenate(groups).astype(np.int64)
        rows = rows[np.lexsort((rows[:, 3], rows[:, 1], rows[:, 0]))]
        same = (rows[1:, 0] == rows[:-1, 0]) & (rows[1:, 1] == rows[:-1, 1])
        return np.asarray(rows[np.append(~same, True)] if len(rows) else rows)
