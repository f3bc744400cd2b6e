"""Notify observers of builds by public functions, one event pair per outermost build.

The time of a build runs from entering such a function to its return, including the release of its garbage.  Looking up the user's
line and notifying observers is observer overhead, reported separately.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import TracebackType

from scanviz.engine.graph.provenance import user_line
from scanviz.engine.observe import GENERATION, Building, Observer, observers

# Hooks called before the begin or end of a build is notified, to report pending events first.  Each returns the nanoseconds that
# it has counted as observer overhead itself.
BEFORE_BUILDING: list[Callable[[], int]] = []

# `builds` while the thread builds something; `unreported_ns` is the observer overhead of the building that ended last,
# `unreported_to` the generation of observers that were notified of it
_thread = threading.local()


class building:  # noqa: N801  # a context manager, written like a function
    """Notify observers that the block builds something; do nothing if unobserved, or nested in another build.

    Parameters
    ----------
    kind : str
        ``"scan"``, ``"gradient"`` or ``"function"``.

    Examples
    --------
    >>> from scanviz.engine.observe import observed_by
    >>> class Printer(Observer):
    ...     def build_begin(self, kind, where):
    ...         print(kind)
    >>> with observed_by(Printer()), building("gradient"), building("scan"):
    ...     pass
    gradient
    """

    __slots__ = ("_begun", "_generation", "_kind", "_observers", "_own_ns", "_where")

    def __init__(self, kind: Building) -> None:
        self._kind: Building = kind
        self._observers: tuple[Observer, ...] = ()

    def __enter__(self) -> None:
        self._generation, current = GENERATION[0], observers()
        if current and not getattr(_thread, "builds", False):
            self._notify_of_begin(current)

    def _notify_of_begin(self, current: tuple[Observer, ...]) -> None:
        begun = perf_counter_ns()
        for notify in BEFORE_BUILDING:
            begun += notify()
        self._observers, self._where = current, user_line()
        _thread.builds = True
        notified = 0
        try:
            for observer in current:
                observer.build_begin(self._kind, self._where)
                notified += 1
        except BaseException:
            self._observers = current[:notified]
            self._generation = -1
            self._notify_of_end(begun, 0)
            raise
        self._begun = perf_counter_ns()
        self._own_ns = self._begun - begun

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._observers:
            ended = perf_counter_ns()
            self._notify_of_end(ended - self._own_ns, ended - self._begun)

    def _notify_of_end(self, own_since: int, elapsed_ns: int) -> None:
        """Notify the end of the build and its observer overhead, the time since ``own_since``."""
        _thread.builds = False
        for notify in BEFORE_BUILDING:
            own_since += notify()
        for observer in self._observers:
            observer.build_end(self._kind, self._where, elapsed_ns)
        ended = perf_counter_ns()
        own = ended - own_since
        if getattr(_thread, "unreported_to", -1) == self._generation >= 0:
            own += _thread.unreported_ns
        for observer in self._observers:
            observer.build_observed(own)
        _thread.unreported_to, _thread.unreported_ns = self._generation, perf_counter_ns() - ended


__all__ = ["BEFORE_BUILDING", "building"]
