"""One call of a function that somebody watches: its times, and what is told when it returns."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

from scanviz.engine.runtime.alone_watch import enter_alone, leave_alone
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.own_time import THREADS

if TYPE_CHECKING:
    from scanviz.engine.observe import Observer


class WatchedCall:
    """One call that somebody watches: when it began, and the times of its run, for what is told when it returns.

    Of very many short calls most are passed over: such a one is told as a whole, when it has returned.

    Parameters
    ----------
    watching : tuple of Observer
        Who watches.
    begun : int
        Now, by the process's clock.
    watch : Watch, optional
        Of the run of a call that is passed over; given later where it is looked at.

    Attributes
    ----------
    call, elapsed_ns : int
        Its number, and how long its run took.
    run_begun, run_ended : int
        When its run began and ended.
    around : Watch or None
        Who is told of the call that the thread made alone when this one began.
    held : int
        What watching had taken in the thread when it began.
    ended : bool
        Whether nothing is left to be told of its end.
    """

    __slots__ = (
        "around",
        "begun",
        "call",
        "elapsed_ns",
        "ended",
        "held",
        "run_begun",
        "run_ended",
        "watch",
        "watching",
    )

    def __init__(self, watching: tuple[Observer, ...], begun: int, watch: Watch | None = None) -> None:
        self.watching, self.begun, self.watch = watching, begun, watch
        self.run_begun = self.run_ended = begun
        self.call = self.elapsed_ns = self.held = 0
        self.ended = True
        self.around: Watch | None = None

    # of a call that is passed over and timed in parts

    def begins(self, is_alone: bool) -> None:
        """Let the run begin, as if nobody watched or watched by others."""
        watch = self.watch
        assert watch is not None
        if watch.own.waiting is not None:
            watch.own.waiting.tell_begin()  # of the call that this one is made in
        watch.own.waiting, watch.times_runs = watch, True
        if is_alone:
            self.around = enter_alone(watch)
        self.run_begun = perf_counter_ns()

    def ran(self, is_alone: bool) -> int:
        """Note that the run ended well, and return how long it was; where something else was told of the call, so is its end."""
        watch = self.watch
        assert watch is not None
        self._run_ends(watch)
        if is_alone:
            leave_alone(watch, self.around)
        self.ended = False
        if watch.branches:
            watch.sides_taken()
        if watch.waiting is None:
            self.end()
        return self.elapsed_ns

    def _run_ends(self, watch: Watch) -> None:
        self.run_ended = perf_counter_ns()
        self.elapsed_ns = self.run_ended - self.run_begun - (watch.own.ns - self.held)

    def failed(self, error: BaseException, is_alone: bool) -> None:
        """Tell that an error ended the run: it is told like others."""
        watch = self.watch
        assert watch is not None
        self._run_ends(watch)
        if is_alone:
            leave_alone(watch, self.around)
        watch.tell_begin()
        watch.tell_runs()
        watch.function_end(self.call, self.elapsed_ns, error)

    # of any

    def returned(self) -> None:
        """Tell the times around the run to those who were told of it, or the whole call where that is all that they are told.

        What telling takes is known when they have been told: they are told it with the next call of the thread.
        """
        ended, watch = perf_counter_ns(), self.watch
        if watch is None:
            return
        own, watching = watch.own, self.watching
        telling = max(0, self.run_ended - self.run_begun - self.elapsed_ns)
        if own.untold and own.untold_of == watching:
            telling += own.untold
        checks, copies = self.run_begun - self.begun, ended - self.run_ended
        if watch.waiting is not None:
            runs, watch.runs = watch.runs, []
            watch.waiting = own.waiting = None
            for observer in watch.observers:
                observer.call_run(watch.function, self.elapsed_ns, checks, copies, telling, runs)
            own.spare = self
        else:
            self.end()
            watch.function_returned(checks, copies, telling)
            self.watch = watch = None  # freed while the clock still runs
        own.untold_of = watching
        own.untold = telling = perf_counter_ns() - ended
        own.ns += telling

    def end(self) -> None:
        """Tell that the run ended well, if it was not told yet: the call was passed over, and then something else was told."""
        watch = self.watch
        if watch is not None and not self.ended:
            self.ended = True
            watch.tell_begin()
            watch.tell_runs()
            watch.function_end(self.call, self.elapsed_ns, None)


def passing(function: int, watching: tuple[Observer, ...], begun: int, call: int) -> WatchedCall:
    """Return what watches a call of this thread that is passed over: nobody is told that it began unless something else happens.

    It is what such a call before it left, mostly.
    """
    own = THREADS.own
    watched, own.spare = own.spare, None
    if watched is None or watched.watching != watching:
        watched = WatchedCall(watching, begun, Watch(function, watching))
    watched.begun = watched.run_begun = begun
    watched.call, watched.ended, watched.held = call, True, own.ns
    watch = watched.watch
    watch.function, watch.waiting = function, call
    return watched  # type: ignore[no-any-return]  # what is spare is typed above the layer that keeps it
