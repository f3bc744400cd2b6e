"""How long a thread lost the processor to others while it had work to do.

Time on the clock in which the thread did not run is that, where it never gave the processor up itself: a thread that waits, for
another one or for a file, does so because the program wants it to.

Limits: only Linux tells how often one thread gave the processor up; elsewhere nothing is taken for lost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import thread_time_ns

CLOCKS_NS = 5_000  # that the two clocks may be apart without anything lost


if sys.platform == "linux":
    import resource

    def _given_up() -> int | None:
        """Return how often the calling thread gave the processor up so far."""
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

else:

    def _given_up() -> int | None:
        return None


class Preemption:
    """What the calling thread loses between readings.

    Parameters
    ----------
    cpu : callable
        Gives the nanoseconds that the thread has run so far.
    given_up : callable
        Gives how often it gave the processor up so far, None where that is not told.

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
        """Note what the thread has used until now."""
        self._used.append(self._cpu())

    def lost_ns(self, elapsed_ns: Sequence[int]) -> list[int]:
        """Return how many nanoseconds were lost in times on the clock that end where it was read."""
        lost = [
            elapsed - (after - before)
            for elapsed, (before, after) in zip(elapsed_ns, pairwise(self._used), strict=True)
        ]
        lost = [one if one >= CLOCKS_NS else 0 for one in lost]
        if any(lost) and (self._before is None or self._given_up() != self._before):
            return [0] * len(lost)
        return lost


__all__ = ["Preemption"]
