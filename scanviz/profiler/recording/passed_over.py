"""Times of runs of a loop that have no times of steps: by how much they were longer than typical ones of as many steps.

Times that come as arrays of some hundreds are counted some thousands at once, which takes a quarter as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.record.statistics import Histogram

WAITING = 4096  # runs, or times, gathered before they are counted
LENGTHS = 8  # numbers of steps told apart; runs of others are not compared


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


class PassedOver:
    """Whole runs, by how many steps they had.

    Examples
    --------
    >>> runs = PassedOver()
    >>> runs.add([1] * 99 + [2], [1000] * 98 + [51_000, 7])
    >>> found = runs.measures()
    >>> found["passed_over_steps"], round(found["slow_runs_ns"], -4)
    (101.0, 50000.0)
    """

    __slots__ = ("_by_length", "_elapsed", "_lengths", "_same", "_steps")

    def __init__(self) -> None:
        self._by_length: dict[int, Histogram] = {}
        self._same: dict[int, GatheredTimes] = {}
        self._lengths: list[int] = []
        self._elapsed: list[int] = []
        self._steps = 0

    def add(self, lengths: Sequence[int], elapsed_ns: Sequence[int]) -> None:
        """Take runs: how many steps each had, and how long it was."""
        self._lengths.extend(lengths)
        self._elapsed.extend(elapsed_ns)
        if len(self._lengths) >= WAITING:
            self._count()

    def add_same(self, length: int, elapsed_ns: np.ndarray[Any, Any]) -> None:
        """Take runs that all had so many steps: int64, how long each was."""
        self._steps += length * len(elapsed_ns)
        times = self._same.get(length)
        if times is None:
            if length not in self._by_length and len(self._by_length) >= LENGTHS:
                return
            times = self._same[length] = GatheredTimes(self._by_length.setdefault(length, Histogram()))
        times.add(elapsed_ns)

    def _count(self) -> None:
        for gathered in self._same.values():
            gathered.count()
        if not self._lengths:
            return
        lengths, elapsed = np.array(self._lengths), np.array(self._elapsed, np.int64)
        self._steps += int(lengths.sum())
        for length in np.unique(lengths).tolist():
            if length in self._by_length or len(self._by_length) < LENGTHS:
                self._by_length.setdefault(length, Histogram()).add(elapsed[lengths == length])
        self._lengths.clear()
        self._elapsed.clear()

    def measures(self) -> dict[str, float]:
        """Return the declared numbers; none where there were no such runs."""
        self._count()
        if not self._by_length:
            return {}
        beyond = sum(times.total - times.median * times.count for times in self._by_length.values())
        return {"passed_over_steps": float(self._steps), "slow_runs_ns": float(round(max(0.0, beyond)))}


__all__ = ["GatheredTimes", "PassedOver"]
