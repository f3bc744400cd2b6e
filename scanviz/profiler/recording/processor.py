"""Compare CPU time with wall time: the share of a run in which its thread ran, and its context switches.

Reading both clocks costs about a microsecond, so only a sample of short runs is read, about one per :data:`READ_EVERY_NS` of run
time; all runs get the CPU share of the sample.  Only the calling thread is read, so threads of a linear algebra library are not
included.

Limits: only Linux counts context switches per thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

READ_EVERY_NS = 100_000  # of run time, so that reading costs at most 2 %
MOST_SKIPPED = 1000  # runs between two that are read


class Usage(NamedTuple):
    """Usage of a thread or of the process so far.

    Attributes
    ----------
    wall_ns, cpu_ns : int
        Wall time and CPU time.
    switches : int or None
        Involuntary context switches; None if the system does not count them.
    faults : int or None
        Page faults; None if the system does not count them.
    """

    wall_ns: int
    cpu_ns: int
    switches: int | None
    faults: int | None = None


Read = Callable[[], Usage]


def thread_usage() -> Usage:
    """Return the usage of the calling thread so far."""
    return Usage(time.perf_counter_ns(), time.thread_time_ns(), *_counted(_THREAD))


def process_usage() -> Usage:
    """Return the usage of all threads of the process so far."""
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
    """CPU usage of the runs of a loop, or of the calls of a function.

    Parameters
    ----------
    read : callable
        Returns the usage of the calling thread.

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
        """Read the usage at the begin of a run, if the run is in the sample."""
        if self._skip:
            self._skip -= 1
        else:
            self._open[run] = self._read()

    def end(self, run: int) -> None:
        """Add the usage of a run in the sample."""
        begun = self._open.pop(run, None)
        if begun is None:
            return
        now = self._read()
        wall = now.wall_ns - begun.wall_ns
        self._wall_ns += wall
        self._cpu_ns += min(wall, now.cpu_ns - begun.cpu_ns)  # two clocks, read one after the other
        self._switches = more(self._switches, begun.switches, now.switches)
        self._faults = more(self._faults, begun.faults, now.faults)
        self._skip = min(MOST_SKIPPED, READ_EVERY_NS // max(wall, 1))

    def drop(self, run: int) -> None:
        """Drop a run without an end event."""
        self._open.pop(run, None)

    def measures(self, total_ns: int) -> dict[str, float]:
        """Return the measures for runs with this total wall time; empty if no run was read."""
        if not self._wall_ns:
            return {}
        return used(total_ns * self._cpu_ns / self._wall_ns, self._switches, self._faults)


def more(known: int | None, before: int | None, now: int | None) -> int | None:
    """Return a count with what was added between two readings; None if the system does not count it."""
    return None if known is None or before is None or now is None else known + now - before


def used(cpu_ns: float, switches: int | None, faults: int | None = None) -> dict[str, float]:
    """Return usage as declared measures."""
    found = {"cpu_ns": float(round(max(0.0, cpu_ns)))}
    if switches is not None:
        found |= {"involuntary_switches": float(switches)}
    if faults is not None:
        found |= {"page_faults": float(faults)}
    return found
