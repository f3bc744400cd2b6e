"""Calls that were passed over: they are told as a whole, and what of each its checks and its loops took is found from some of them.

One in a few is timed in parts: when its run began and ended, and how long each run of a loop took.  All of them are divided in
proportion to these, loops as much more or less as they took more or fewer steps.  So every nanosecond of a call is in one part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.record.statistics import median_of

KEPT = 64  # calls timed in parts that are known, the last ones
Run = tuple[int, int, int, int, int, int]  # of a loop, as in `scanviz.engine.told.RunsAlone`


class CallTimes(NamedTuple):
    """Calls with the same runs of loops.

    Attributes
    ----------
    elapsed : numpy.ndarray
        int64, nanoseconds of each in its run.
    checks_ns, copies_ns : int
        Of all.
    loops : list of numpy.ndarray
        int64, of each run of loops that all of them had its nanoseconds in each.
    """

    elapsed: np.ndarray[Any, Any]
    checks_ns: int
    copies_ns: int
    loops: list[np.ndarray[Any, Any]]


class AloneTimes:
    """Sums over calls that were told as a whole.

    Examples
    --------
    >>> times = AloneTimes()
    >>> times.add(10, 800, 150, 50)
    >>> times.price(10), times.price(1000)
    (0.1, 0.3)
    """

    __slots__ = ("calls", "checks_ns", "copies_ns", "run_ns")
    MOST = 0.3  # of the time of a call, what it takes more than alone

    def __init__(self) -> None:
        self.calls = self.run_ns = self.checks_ns = self.copies_ns = 0

    def add(self, calls: int, run_ns: int, checks_ns: int, copies_ns: int) -> None:
        """Take calls."""
        self.calls += calls
        self.run_ns += run_ns
        self.checks_ns += checks_ns
        self.copies_ns += copies_ns

    def price(self, alone_ns: float) -> float:
        """Return which share of their time they took more than alone, at so many nanoseconds a call."""
        whole = self.run_ns + self.checks_ns + self.copies_ns
        return min(self.MOST, self.calls * alone_ns / whole) if whole else 0.0


class CallShares:
    """How the time of a function's calls divides into parts, from those of which it is known.

    Parameters
    ----------
    outermost : container of int
        The keys of its loops that are in no other.

    Examples
    --------
    >>> shares = CallShares({7})
    >>> shares.know(80, 15, 5, [(7, 1, 1, 1, 0, 40)])
    >>> shares.divided([200, 100], ((7, 1, 1, 1, 0, -1),))
    CallTimes(elapsed=array([160,  80]), checks_ns=45, copies_ns=15, loops=[array([80, 40])])
    """

    __slots__ = ("_checks", "_copies", "_loops", "_outermost", "_rest")

    def __init__(self, outermost: Container[int]) -> None:
        self._outermost = outermost
        self._checks: deque[float] = deque(maxlen=KEPT)
        self._copies: deque[float] = deque(maxlen=KEPT)
        self._rest: deque[int] = deque(maxlen=KEPT)  # what no loop took
        self._loops: dict[int, deque[float]] = {}  # nanoseconds of a step, where a run is one more

    def know(self, run_ns: int, checks_ns: int, copies_ns: int, runs: Sequence[Run]) -> None:
        """Take a call that was timed in parts."""
        rest = whole = max(1, run_ns + checks_ns + copies_ns)
        self._checks.append(checks_ns / whole)
        self._copies.append(copies_ns / whole)
        for loop, count, steps, _, _, elapsed_ns in runs:
            if elapsed_ns >= 0:
                self._loops.setdefault(loop, deque(maxlen=KEPT)).append(elapsed_ns / (steps + count))
                rest -= elapsed_ns if loop in self._outermost else 0
        self._rest.append(max(1, rest))

    def divided(self, whole: Sequence[int], runs: Sequence[Run]) -> CallTimes:
        """Return the parts of calls that took so long and had the same runs, those of loops without times."""
        checks, copies = (float(median_of(known)) if known else 0.0 for known in (self._checks, self._copies))
        times = np.array(whole, np.int64)
        left = max(0.0, 1 - checks - copies)  # the share of the run
        elapsed = np.rint(times * left).astype(np.int64)
        around = int(times.sum()) - int(elapsed.sum())
        checked = round(around * checks / (checks + copies)) if around else 0
        weights = [self._weight(run) for run in runs]
        inside = sum(w for w, run in zip(weights, runs, strict=True) if run[0] in self._outermost)
        every = inside + (float(median_of(self._rest)) if self._rest else 1.0)
        every = max(every, inside / left) if left else every  # loops are in the run
        found = [
            np.minimum(np.rint(times * (weight / every)).astype(np.int64), elapsed) for weight in weights
        ]
        return CallTimes(elapsed, checked, around - checked, found)

    def _weight(self, run: Run) -> float:
        """Return what runs of a loop take in a typical call."""
        known = self._loops.get(run[0])
        return float(median_of(known)) * (run[1] + run[2]) if known else 0.0


__all__ = ["AloneTimes", "CallShares", "CallTimes", "Run"]
