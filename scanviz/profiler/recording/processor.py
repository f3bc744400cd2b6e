"""Time of the processor beside time on the clock: how much of a run its thread had the processor, and how often it lost it.

Reading both costs about a microsecond, so of short runs only some are read, about one every :data:`READ_EVERY_NS` of running; what
is said of all of them is their time on the clock with the same share.  Only the reading of the thread that runs is known, so
threads of a library of linear algebra are no part of it.

Limits: context switches of one thread are told by Linux alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

READ_EVERY_NS = (
    100_000  # of running; shorter runs are read so seldom that reading costs two parts in a hundred at most
)
MOST_SKIPPED = 1000  # runs


class Usage(NamedTuple):
    """What a thread or the process has used so far.

    Attributes
    ----------
    wall_ns, cpu_ns : int
        Time on the clock, and time of the processor.
    switches : int or None
        How often the system took the processor away; None where that is not told.
    faults : int or None
        How often a page of memory was not there when it was touched; None where that is not told.
    """

    wall_ns: int
    cpu_ns: int
    switches: int | None
    faults: int | None = None


Read = Callable[[], Usage]


def thread_usage() -> Usage:
    """Return what the calling thread has used so far."""
    return Usage(time.perf_counter_ns(), time.thread_time_ns(), *_counted(_THREAD))


def process_usage() -> Usage:
    """Return what all threads of the process have used so far."""
    return Usage(time.perf_counter_ns(), time.process_time_ns(), *_counted(_PROCESS))


if sys.platform == "win32":
    _THREAD = _PROCESS = None

    def _counted(whose: int | None) -> tuple[int | None, int | None]:
        return None, None

else:
    import resource

    _THREAD, _PROCESS = getattr(resource, "RUSAGE_THREAD", None), resource.RUSAGE_SELF

    def _counted(whose: int | None) -> tuple[int | None, int | None]:
        if whose is None:
            return None, None
        found = resource.getrusage(whose)
        return found.ru_nivcsw, found.ru_minflt + found.ru_majflt


class ProcessorTally:
    """What runs of a loop, or calls of a function, used of the processor.

    Parameters
    ----------
    read : callable
        Gives what the calling thread has used.

    Examples
    --------
    >>> times = iter([Usage(0, 0, 0), Usage(1_000_000, 400_000, 3)])
    >>> tally = ProcessorTally(lambda: next(times))
    >>> tally.begin(0)
    >>> tally.end(0)
    >>> tally.measures(2_000_000)
    {'cpu_ns': 800000.0, 'involuntary_switches': 3.0}
    """

    __slots__ = ("_cpu_ns", "_faults", "_open", "_read", "_skip", "_switches", "_wall_ns")

    def __init__(self, read: Read = thread_usage) -> None:
        self._read = read
        self._open: dict[int, Usage] = {}
        self._skip = 0
        self._wall_ns = self._cpu_ns = 0
        self._switches: int | None = 0
        self._faults: int | None = 0

    def begin(self, run: int) -> None:
        """Note the beginning of a run, by its number, if it is one to be read."""
        if self._skip:
            self._skip -= 1
        else:
            self._open[run] = self._read()

    def end(self, run: int) -> None:
        """Count a run that was read."""
        begun = self._open.pop(run, None)
        if begun is None:
            return
        now = self._read()
        wall = now.wall_ns - begun.wall_ns
        self._wall_ns += wall
        self._cpu_ns += min(wall, now.cpu_ns - begun.cpu_ns)  # two clocks: the shorter time is read later
        self._switches = _more(self._switches, begun.switches, now.switches)
        self._faults = _more(self._faults, begun.faults, now.faults)
        self._skip = min(MOST_SKIPPED, READ_EVERY_NS // max(wall, 1))

    def drop(self, run: int) -> None:
        """Forget a run whose end was not notified."""
        self._open.pop(run, None)

    def measures(self, total_ns: int) -> dict[str, float]:
        """Return the declared numbers for runs that took so long on the clock; none where none was read."""
        if not self._wall_ns:
            return {}
        return used(total_ns * self._cpu_ns / self._wall_ns, self._switches, self._faults)


def _more(known: int | None, before: int | None, now: int | None) -> int | None:
    return None if known is None or before is None or now is None else known + now - before


def used(cpu_ns: float, switches: int | None, faults: int | None = None) -> dict[str, float]:
    """Return the declared numbers of what used so much of the processor."""
    found = {"cpu_ns": float(round(max(0.0, cpu_ns)))}
    if switches is not None:
        found |= {"involuntary_switches": float(switches)}
    if faults is not None:
        found |= {"page_faults": float(faults)}
    return found


__all__ = ["ProcessorTally", "Read", "Usage", "process_usage", "thread_usage", "used"]
