"""Measure observer overhead per thread, to exclude it from all times of the program.

A surrounding clock stands still while the engine notifies observers.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any
from weakref import WeakSet

from scanviz.engine.building import BEFORE_BUILDING
from scanviz.engine.locks import lock
from scanviz.engine.observe import ON_DETACH, REPORT_COUNTED, Observer


class ObserverOverhead:
    """Observer overhead of one thread, and its events that are not reported yet.

    Attributes
    ----------
    ns : int
        Running total of nanoseconds spent on observing; a timed block takes the difference of two readings.
    waiting : Probe or None
        The probe of the thread's innermost call, if its begin is not reported yet.
    probes : dict of int to Probe
        Per function, the thread's probe at the level of runs, with counted calls that are not reported yet.
    unreported_ns, unreported_to : int, tuple of Observer
        Overhead of the last call that is not reported yet, and the observers it belongs to.
    """

    __slots__ = ("__weakref__", "ns", "probes", "unreported_ns", "unreported_to", "waiting")

    def __init__(self) -> None:
        self.ns = 0
        self.waiting: Any = None  # a Probe: of a file that needs this one
        self.probes: dict[int, Any] = {}
        self.unreported_ns, self.unreported_to = 0, tuple[Observer, ...]()

    def aside(self) -> Aside:
        """Return a context whose time counts as observer overhead, once: nested overhead is not counted twice."""
        return Aside(self)

    def forget(self, observer: Observer) -> None:
        """Drop a detached observer; a call still running in the thread keeps it until other observers are attached."""
        if observer in self.unreported_to:
            self.unreported_to = ()
        for key, probe in list(self.probes.items()):
            if observer in probe.observers:
                # first, so that a running call finds its probe gone and reports its own counts
                self.probes.pop(key, None)
                probe.notify_counted()

    def without(self, record: Callable[[int], object]) -> Callable[[int], object]:
        """Wrap ``record`` so that it takes times without the observer overhead up to then."""
        return lambda now: record(now - self.ns)

    def clock(self, usual: Callable[[], int]) -> Callable[[], int]:
        """Return a clock that stands still during observer overhead.

        Examples
        --------
        >>> own, times = ObserverOverhead(), iter([10, 20, 30])
        >>> clock = own.clock(lambda: next(times))
        >>> first = clock()
        >>> own.ns += 4
        >>> first, clock()
        (10, 16)
        """
        return lambda: usual() - self.ns


class Aside:
    """A block whose time is observer overhead, from the moment it was created."""

    __slots__ = ("_begun", "_held", "_own")

    def __init__(self, own: ObserverOverhead) -> None:
        self._begun = perf_counter_ns()
        self._own, self._held = own, own.ns

    def __enter__(self) -> None:
        """Start at the time of creation."""

    def __exit__(self, *_: object) -> None:
        self._own.ns = self._held + perf_counter_ns() - self._begun


def notify_all(probes: dict[int, Any]) -> None:
    """Report the counted calls of one thread."""
    for probe in list(probes.values()):
        probe.notify_counted()


_OVERHEADS: WeakSet[ObserverOverhead] = WeakSet()  # of all live threads
_knowing = lock()


class _Ending:
    """Reports the counted calls of a thread when the thread ends.

    No ``weakref.finalize``: the first one in a process decides when finalizers of the program run at its end.
    """

    def __init__(self, own: ObserverOverhead) -> None:
        self._own = own

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_finalizing():  # the last thread: names of modules are gone
            return
        notify_all(self._own.probes)
        self._own.probes.clear()


class _Threads(threading.local):
    def __init__(self) -> None:
        self.own = ObserverOverhead()
        self.ending = _Ending(self.own)
        with _knowing:
            _OVERHEADS.add(self.own)


def _known() -> list[ObserverOverhead]:
    with _knowing:
        return list(_OVERHEADS)


def _forget(observer: Observer) -> None:
    for own in _known():
        own.forget(observer)


def _notify_counted() -> None:
    for own in _known():
        notify_all(own.probes)


ON_DETACH.append(_forget)
REPORT_COUNTED.append(_notify_counted)


THREADS = _Threads()  # `THREADS.own` belongs to the calling thread


def notify_begun() -> int:
    """Report the thread's counted calls and the pending begin of its current call; return the nanoseconds that took.

    They count as observer overhead.
    """
    own = THREADS.own
    if own.waiting is None and not own.probes:
        return 0
    begun, taken = perf_counter_ns(), 0
    try:
        notify_all(own.probes)
        if own.waiting is not None:
            own.waiting.notify_begin()
    finally:
        taken = perf_counter_ns() - begun
        own.ns += taken
    return taken


BEFORE_BUILDING.append(notify_begun)
