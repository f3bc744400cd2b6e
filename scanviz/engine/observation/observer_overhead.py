"""What observing itself takes, thread by thread: it is no time of the program.

The clock of whatever goes on around it stands still meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any
from weakref import WeakSet, finalize

from scanviz.engine.building import BEFORE_BUILDING
from scanviz.engine.locks import lock
from scanviz.engine.observe import COUNTED, LEFT, Observer


class ObserverOverhead:
    """Nanoseconds that observing has taken in one thread so far.

    Attributes
    ----------
    ns : int
        They only grow: what goes on around looks at the difference.
    waiting : Probe or None
        The probe of the innermost call of the thread, where nobody has been told yet that it began.
    wanted : tuple
        The observers of the thread's last call, and what they want together.
    probes : dict of int to Probe
        Of each function the thread's probe at the level of runs, which holds what was counted and nobody has been told of.
    unreported_ns, unreported_to : int, tuple of Observer
        What telling a call took that its observers have not been told yet, and who they are.
    """

    __slots__ = ("__weakref__", "ns", "probes", "unreported_ns", "unreported_to", "waiting", "wanted")

    def __init__(self) -> None:
        self.ns = 0
        self.waiting: Any = None  # a Probe: of a file that needs this one
        self.probes: dict[int, Any] = {}
        self.wanted: tuple[tuple[Observer, ...], Any] = (), None
        self.unreported_ns, self.unreported_to = 0, tuple[Observer, ...]()

    def aside(self) -> Aside:
        """Return a context in which all that is done counts as observing, once: part of it may count itself."""
        return Aside(self)

    def forget(self, observer: Observer) -> None:
        """Keep nothing of one who observes no more; a call that goes on in the thread keeps it until others observe."""
        if observer in self.wanted[0] or observer in self.unreported_to:
            self.wanted, self.unreported_to = ((), None), ()
        for key, probe in list(self.probes.items()):
            if observer in probe.observers:
                # before: a call that goes on finds out that it is to tell what it counts
                self.probes.pop(key, None)
                probe.notify_counted()

    def without(self, record: Callable[[int], object]) -> Callable[[int], object]:
        """Return what notes times of the clock less what observing has taken up to then."""
        return lambda now: record(now - self.ns)

    def clock(self, usual: Callable[[], int]) -> Callable[[], int]:
        """Return a clock that stands still while observing takes time.

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
    """A block in which all that is done is observing; its own beginning is counted too."""

    __slots__ = ("_begun", "_held", "_own")

    def __init__(self, own: ObserverOverhead) -> None:
        self._begun = perf_counter_ns()
        self._own, self._held = own, own.ns

    def __enter__(self) -> None:
        """Count from when this was made."""

    def __exit__(self, *_: object) -> None:
        self._own.ns = self._held + perf_counter_ns() - self._begun


def notify_all(probes: dict[int, Any]) -> None:
    """Tell what was counted in one thread."""
    for probe in list(probes.values()):
        probe.notify_counted()


_OVERHEADS: WeakSet[ObserverOverhead] = WeakSet()  # of all threads that live
_knowing = lock()


class _Ending:
    """Is let go when its thread ends: nothing else holds it."""


def _ended(own: ObserverOverhead, is_finalizing: Callable[[], bool]) -> None:
    if is_finalizing():  # of the last thread: names of modules are gone
        return
    notify_all(own.probes)
    own.probes.clear()


class _Threads(threading.local):
    def __init__(self) -> None:
        self.own, self.ending = ObserverOverhead(), _Ending()
        finalize(self.ending, _ended, self.own, sys.is_finalizing).atexit = False
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


LEFT.append(_forget)
COUNTED.append(_notify_counted)


THREADS = _Threads()  # `THREADS.own` is that of the thread


def notify_begun() -> int:
    """Tell what was counted in the thread, and that the call began in which it is, where that was not told; return what that took.

    It is no time of what goes on there.
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

__all__ = ["THREADS", "Aside", "ObserverOverhead", "notify_all", "notify_begun"]
