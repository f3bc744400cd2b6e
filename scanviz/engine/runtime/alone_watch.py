"""Who is told of a call that goes on as if nobody watched (:mod:`scanviz.engine.runtime.alone`), from its begin to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.runtime.alone import ALONE
from scanviz.engine.runtime.events import CALL_NUMBERS, Watch

if TYPE_CHECKING:
    from scanviz.engine.observe import AlikeCalls, Observer


class AloneWatch(Watch):
    """Who is told of a call that goes on as if nobody watched.

    Attributes
    ----------
    call : int
        Its number, once somebody was told that it began.
    alike : AlikeCalls or None
        Where calls like the last one may be added.
    """

    __slots__ = ("alike", "call")
    is_alone = True
    call: int
    alike: AlikeCalls | None

    def __init__(self, function: int, observers: tuple[Observer, ...]) -> None:
        super().__init__(function, observers)
        self.alike = None

    def tell_begin(self) -> None:
        """Tell that the call began, if nobody has been told yet: then it has a number."""
        if self.waiting is not None:
            self.waiting = self.call = next(CALL_NUMBERS)
            super().tell_begin()

    def failed(self, elapsed: int, error: BaseException, has_run: bool) -> None:
        """Tell that an error ended the call, unless it was one of its arguments and nobody knows of it."""
        if has_run:
            self.tell_begin()
        if self.waiting is not None:
            self.waiting = self.own.waiting = None
            self.own.spare_alone = self
            return
        if self.branches:
            self.sides_taken()
        self.tell_runs()
        self.function_end(self.call, elapsed, error)

    def ended(self, elapsed: int, watching_ns: int) -> None:
        """Tell that a call ended well of which something was told, or is to be told now."""
        try:
            if self.branches:
                self.sides_taken()
            self.tell_begin()
        except BaseException as error:
            if self.waiting is None:
                self.function_end(self.call, elapsed, error)
            else:
                self.waiting = self.own.waiting = None
            raise
        self.tell_runs()
        self.function_end(self.call, elapsed, None)
        self.function_returned(0, 0, watching_ns)

    def tell_whole(self, elapsed: int, watching_ns: int) -> None:
        """Tell a call as a whole."""
        runs, self.runs, alike = self.runs, [], None
        for observer in self.observers:
            alike = observer.call_run(self.function, elapsed, -1, -1, watching_ns, runs)
        self.alike = alike if len(self.observers) == 1 else None


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
