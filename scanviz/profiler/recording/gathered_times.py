"""Times that come as arrays of some hundreds: counted some thousands at once, which takes a quarter as long."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.record.statistics import Histogram

WAITING = 4096  # times gathered before they are counted


class GatheredTimes:
    """Times that wait to be counted.

    Parameters
    ----------
    histogram : Histogram
        Where they are counted.

    Attributes
    ----------
    waiting : int
        How many wait.

    Examples
    --------
    >>> times = GatheredTimes(Histogram())
    >>> times.add(np.array([10, 20, 30]))
    >>> times.waiting, times.histogram.count
    (3, 0)
    >>> times.count()
    >>> times.waiting, times.histogram.count
    (0, 3)
    """

    __slots__ = ("_pieces", "histogram", "waiting")

    def __init__(self, histogram: Histogram) -> None:
        self.histogram, self.waiting = histogram, 0
        self._pieces: list[np.ndarray[Any, Any]] = []

    def add(self, times: np.ndarray[Any, Any]) -> None:
        """Take times, int64, shape (n,)."""
        self._pieces.append(times)
        self.waiting += len(times)
        if self.waiting >= WAITING:
            self.count()

    def count(self) -> None:
        """Count what waits."""
        if self._pieces:
            self.histogram.add(np.concatenate(self._pieces))
            self._pieces.clear()
            self.waiting = 0


__all__ = ["GatheredTimes"]
