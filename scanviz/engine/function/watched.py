"""One call of a function that somebody watches: its times, and what is told when it returns."""

from __future__ import annotations

from time import perf_counter_ns

from scanviz.engine.observe import Observer
from scanviz.engine.runtime.events import Watch, this_thread


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
    ended : bool
        Whether nothing is left to be told of its end.
    """

    __slots__ = ("begun", "call", "elapsed_ns", "ended", "run_begun", "run_ended", "watch", "watching")

    def __init__(self, watching: tuple[Observer, ...], begun: int, watch: Watch | None = None) -> None:
        self.watching, self.begun, self.watch = watching, begun, watch
        self.run_begun = self.run_ended = begun
        self.call = self.elapsed_ns = 0
        self.ended = True

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
        if self.watch is not None and not self.ended:
            self.ended = True
            self.watch.function_end(self.call, self.elapsed_ns, None)


def passing(function: int, watching: tuple[Observer, ...], begun: int, call: int) -> WatchedCall:
    """Return what watches a call of this thread that is passed over: nobody is told that it began unless something else happens.

    It is what such a call before it left, mostly.
    """
    own = this_thread()
    watched, own.spare = own.spare, None
    if watched is None or watched.watching is not watching:
        watched = WatchedCall(watching, begun, Watch(function, watching))
    watched.begun, watched.call, watched.ended = begun, call, True
    watched.watch.function, watched.watch.waiting = function, call
    return watched  # type: ignore[no-any-return]  # what is spare is typed above the layer that keeps it
