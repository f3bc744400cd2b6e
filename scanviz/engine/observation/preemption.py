"""Measure how long the system descheduled a thread that had work to do.

The thread lost the wall time in which it was off the CPU, provided that it never yielded the CPU voluntarily.  A thread that waits
for another thread or for a file yields because the program asks for it.

Limits: only Linux counts voluntary context switches per thread; other systems report no lost time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import thread_time_ns

CLOCKS_NS = 5_000  # tolerated difference between wall clock and CPU clock


if sys.platform == "linux":
    import resource

    def _given_up() -> int | None:
        """Return the voluntary context switches of the calling thread so far."""
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

else:

    def _given_up() -> int | None:
        return None


class Preemption:
    """Time that the calling thread loses between readings.

    Parameters
    ----------
    cpu : callable
        Returns the CPU time of the thread so far, in nanoseconds.
    given_up : callable
        Returns the voluntary context switches so far, or None if the system does not count them.

    Examples
    --------
    >>> used = iter([0, 40_000, 70_000])
    >>> lost = Preemption(lambda: next(used), lambda: 3)
    >>> lost.read()
    >>> lost.read()
    >>> lost.lost_ns([40_100, 8_030_000])
    [0, 8000000]
    """

    __slots__ = ("_before", "_cpu", "_given_up", "_used")

    def __init__(
        self, cpu: Callable[[], int] = thread_time_ns, given_up: Callable[[], int | None] = _given_up
    ) -> None:
        self._cpu, self._given_up, self._before = cpu, given_up, given_up()
        self._used = [cpu()]

    def read(self) -> None:
        """Take the CPU time of the thread so far."""
        self._used.append(self._cpu())

    def lost_ns(self, elapsed_ns: Sequence[int]) -> list[int]:
        """Return the nanoseconds lost in each of these wall times, which end at the readings."""
        lost = [
            elapsed - (after - before)
            for elapsed, (before, after) in zip(elapsed_ns, pairwise(self._used), strict=True)
        ]
        lost = [one if one >= CLOCKS_NS else 0 for one in lost]
        if any(lost) and (self._before is None or self._given_up() != self._before):
            return [0] * len(lost)
        return lost


__all__ = ["Preemption"]
