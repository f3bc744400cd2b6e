"""Who is told of a call that goes on as if nobody watched (:mod:`scanviz.engine.runtime.alone`), from its begin to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.runtime.alone import ALONE
from scanviz.engine.runtime.events import CALL_NUMBERS, OwnTime, Watch

if TYPE_CHECKING:
    from scanviz.engine.observe import Observer


class AloneWatch(Watch):
    """Who is told of a call that goes on as if nobody watched.

    Attributes
    ----------
    call : int
        Its number, once somebody was told that it began.
    around : Watch or None
        Who is told of the call that the thread made so when this one began.
    """

    __slots__ = ("around", "call")
    is_alone = True
    call: int
    around: Watch | None

    def tell_begin(self) -> None:
        """Tell that the call began, if nobody has been told yet: then it has a number."""
        if self.waiting is not None:
            self.waiting = self.call = next(CALL_NUMBERS)
            super().tell_begin()


def enter_alone(watch: Watch) -> Watch | None:
    """Let what this thread does be noted with ``watch``, and return with what it was noted before."""
    around = ALONE.get(watch.own.thread)
    ALONE[watch.own.thread] = watch
    return around


def leave_alone(watch: Watch, around: Watch | None) -> None:
    """Let it be noted as before."""
    if around is None:
        ALONE.pop(watch.own.thread, None)
    else:
        ALONE[watch.own.thread] = around


def begin_alone(function: int, watching: tuple[Observer, ...], own: OwnTime) -> AloneWatch:
    """Return what watches a call that goes on as if nobody watched; it is what such a call before it left, mostly.

    Whoever watches a call that this one is made in has been told that it began.
    """
    watch, thread = own.spare_alone, own.thread
    if watch is None or (watch.observers is not watching and watch.observers != watching):
        watch = AloneWatch(function, watching)
        watch.around = None
    else:
        own.spare_alone = None
        watch.function = function
    if ALONE:
        watch.around = ALONE.get(thread)
    # nothing is called from here on: an interrupt comes before all of it or finds who ends it
    watch.waiting, own.waiting = 0, watch
    ALONE[thread] = watch
    return watch  # type: ignore[no-any-return]  # what is spare is typed above the file that keeps it


def end_alone(watch: AloneWatch) -> bool:
    """Return whether nothing was told of the call, so that it may be told as a whole; what there is but its end is told."""
    own = watch.own
    if watch.around is None:
        del ALONE[own.thread]
    else:
        ALONE[own.thread], watch.around = watch.around, None
    if watch.branches:
        watch.sides_taken()
    if watch.waiting is None:
        watch.tell_runs()
        return False
    watch.waiting = own.waiting = None
    own.spare_alone = watch
    return True
