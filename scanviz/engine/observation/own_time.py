"""What observing itself takes, thread by thread: it is no time of the program.

The clock of whatever goes on around it stands still meanwhile.  Noting a run of a loop is so short that its time is not taken each
time: :func:`note_cost` says what it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from time import perf_counter_ns
from typing import Any
from weakref import WeakSet

from scanviz.engine.building import BEFORE_BUILDING
from scanviz.engine.locks import lock
from scanviz.engine.observe import LEFT, Observer


class OwnTime:
    """Nanoseconds that observing has taken in one thread so far.

    Attributes
    ----------
    ns : int
        They only grow: what goes on around looks at the difference.
    waiting : Probe or None
        The probe of the innermost call of the thread, where nobody has been told yet that it began.
    wanted : tuple
        The observers of the thread's last call, and what they want together.
    spare : Probe or None
        The probe of a call in which runs were noted, for the next such call.
    untold, untold_of : int, tuple of Observer
        What telling a call took that its observers have not been told yet, and who they are.
    """

    __slots__ = ("__weakref__", "ns", "spare", "untold", "untold_of", "waiting", "wanted")

    def __init__(self) -> None:
        self.ns = 0
        self.waiting: Any = None  # a Probe: of a file that needs this one
        self.spare: Any = None
        self.wanted: tuple[tuple[Observer, ...], Any] = (), None
        self.untold, self.untold_of = 0, tuple[Observer, ...]()

    def aside(self) -> Aside:
        """Return a context in which all that is done counts as observing, once: part of it may count itself."""
        return Aside(self)

    def forget(self, observer: Observer) -> None:
        """Keep nothing of one who observes no more; a call that goes on in the thread keeps it until others observe."""
        if observer in self.wanted[0] or observer in self.untold_of:
            self.wanted, self.untold_of, self.spare = ((), None), (), None

    def without(self, record: Callable[[int], object]) -> Callable[[int], object]:
        """Return what notes times of the clock less what observing has taken up to then."""
        return lambda now: record(now - self.ns)

    def clock(self, usual: Callable[[], int]) -> Callable[[], int]:
        """Return a clock that stands still while observing takes time.

        Examples
        --------
        >>> own, times = OwnTime(), iter([10, 20, 30])
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

    def __init__(self, own: OwnTime) -> None:
        self._begun = perf_counter_ns()
        self._own, self._held = own, own.ns

    def __enter__(self) -> None:
        """Count from when this was made."""

    def __exit__(self, *_: object) -> None:
        self._own.ns = self._held + perf_counter_ns() - self._begun


_OWN_TIMES: WeakSet[OwnTime] = WeakSet()  # of all threads that live
_knowing = lock()


class _Threads(threading.local):
    def __init__(self) -> None:
        self.own = OwnTime()
        with _knowing:
            _OWN_TIMES.add(self.own)


def _forget(observer: Observer) -> None:
    with _knowing:
        known = list(_OWN_TIMES)
    for own in known:
        own.forget(observer)


LEFT.append(_forget)


THREADS = _Threads()  # `THREADS.own` is that of the thread


def tell_what_began() -> int:
    """Tell that the call began in which the thread is, where that was not told yet; return what that took.

    It is no time of what goes on there.
    """
    own = THREADS.own
    if own.waiting is None:
        return 0
    begun, taken = perf_counter_ns(), 0
    try:
        own.waiting.tell_begin()
    finally:
        taken = perf_counter_ns() - begun
        own.ns += taken
    return taken


BEFORE_BUILDING.append(tell_what_began)

NOTES = 200  # of a round
ROUNDS = 5
BESIDE = (
    2.8  # around it are calls, and caches as NumPy left them: 360 to 450 ns a run where this loop takes 140
)


@cache
def note_cost() -> int:
    """Return the nanoseconds that noting a run takes: the least of some rounds of what is done for one, once a process."""
    found = []
    for _ in range(ROUNDS):
        own, runs = OwnTime(), list[Any]()
        begun = perf_counter_ns()
        for steps in range(NOTES):
            held, before = own.ns, perf_counter_ns()
            runs.append((0, 1, steps, steps, 0, perf_counter_ns() - before - own.ns + held, ""))
            own.ns += 1
        found.append(perf_counter_ns() - begun)
    return int(min(found) / NOTES * BESIDE)


__all__ = ["THREADS", "Aside", "OwnTime", "note_cost", "tell_what_began"]
