"""Calls of a function that somebody watches: who is told of what, and which calls are looked at.

It is imported when the first call of a function is told to somebody: most programs are run unseen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter_ns
from typing import Any, Protocol
from weakref import WeakSet

import scanviz.engine.runtime.observed  # noqa: F401  # here no clock runs: it is no time of the first call
from scanviz.engine import observe
from scanviz.engine.function.watched import WatchedCall, passing
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.locks import lock
from scanviz.engine.observe import GENERATION
from scanviz.engine.program.instructions import Program
from scanviz.engine.runtime.alone import ALONE
from scanviz.engine.runtime.alone_watch import AloneWatch, leave_alone
from scanviz.engine.runtime.call_schedule import CloseCalls
from scanviz.engine.runtime.events import CALL_NUMBERS, Watch
from scanviz.engine.runtime.own_time import THREADS
from scanviz.engine.told import CompiledFunction

Given = Callable[[list[Array], "WatchedCall | None"], Any]
GivenAlone = Callable[[list[Array], AloneWatch], Any]


class Watched(Protocol):
    """What observers are told of a function."""

    key: int
    name: str
    program: Program
    backend: str
    build_ns: dict[str, int]
    where: SourceLine | None

    @property
    def executable(self) -> Any:
        """What the backend made of the program."""
        ...


class Watching:
    """What tells of the calls of one function.

    Parameters
    ----------
    function : Function
        The function.
    arguments : callable
        ``arguments(values, named)`` gives the arrays of a call.
    given : callable
        ``given(arrays, watched)`` gives the results of a call, and has :meth:`run` run the program.
    given_alone : callable
        ``given_alone(arrays, watch)`` gives them as if nobody watched.
    """

    def __init__(
        self,
        function: Watched,
        arguments: Callable[[Sequence[Any], dict[str, Any]], list[Array]],
        given: Given,
        given_alone: GivenAlone,
    ) -> None:
        self.function, self.key = function, function.key
        self._arguments, self._given, self._given_alone = arguments, given, given_alone
        self._executable = function.executable
        self._runs_alone = getattr(self._executable, "runs_alone", None)
        # observers that have heard of it; each is told once, before it is told of any call, whatever thread calls
        self._told: WeakSet[observe.Observer] = WeakSet()
        # the generation of observers that have all heard of it, none of them asking for values
        self._told_all = -1
        self._telling = lock()
        self._close = CloseCalls()

    def call(
        self, values: Sequence[Any], named: dict[str, Any], watching: tuple[observe.Observer, ...]
    ) -> Any:
        """Return the outputs of a call, and tell it.

        Most calls of a function that is called very often go on as if nobody watched, and are told as wholes when they have
        returned.  What is done for these beside is short, and no time of theirs.
        """
        entered, close = perf_counter_ns(), self._close
        left = close.left
        if left <= 0 or self._told_all != GENERATION[0]:
            return self._called_closely(values, named, WatchedCall(watching, entered))
        close.left = left - 1
        if not close.alone or not left % close.parted:
            return self._called_closely(
                values, named, passing(self.key, watching, entered, next(CALL_NUMBERS))
            )
        own, begun = THREADS.own, entered
        if own.waiting is not None:
            own.waiting.tell_begin()  # of the call that this one is made in
            begun = perf_counter_ns()
        held, thread, watch = own.ns, own.thread, own.spare_alone
        if watch is None or (watch.observers is not watching and watch.observers != watching):
            watch = AloneWatch(self.key, watching)
        around = ALONE.get(thread) if ALONE else None
        # nothing is called from here on: an interrupt comes before all of it or finds who ends it
        own.spare_alone, watch.function = None, self.key
        watch.waiting, own.waiting, ALONE[thread] = 0, watch, watch
        arguments: list[Array] | None = None
        try:
            arguments = self._arguments(values, named)
            found = self._given_alone(arguments, watch)
            ended = perf_counter_ns()  # inside: an interrupt in it ends what has begun
        except BaseException as error:
            leave_alone(watch, around)
            elapsed = perf_counter_ns() - begun - own.ns + held
            watch.failed(elapsed, error, arguments is not None)
            raise
        # nor here, until nobody is told any more of what the thread does
        if around is None:
            del ALONE[thread]
        else:
            ALONE[thread] = around
        elapsed = ended - begun
        if own.ns != held:
            elapsed -= own.ns - held
        alike = None
        if watch.waiting is None or watch.branches:
            watch.ended(elapsed, own.untold if own.untold_of == watching else 0)
        else:
            watch.waiting, own.waiting, own.spare_alone, alike = None, None, watch, watch.alike
            if (
                alike is None
                or own.untold
                or alike.function != self.key
                or alike.runs != watch.runs
                or len(alike.elapsed) >= alike.most
            ):
                alike = self._tell_whole(watch, elapsed)
            else:  # as most: telling somebody takes a part of a short call
                watch.runs = []
                alike.elapsed.append(elapsed)
        if elapsed > close.longest_ns:
            close.slow()
        telling = perf_counter_ns() - ended + begun - entered
        own.ns += telling
        if alike is None:
            own.untold, own.untold_of = telling, watching
        else:
            alike.watching_ns += telling
        return found

    def _tell_whole(self, watch: AloneWatch, elapsed: int) -> observe.AlikeCalls | None:
        """Tell a call that went on as if nobody watched, and what telling took that nobody was told yet.

        Returned is what the call was added to, None where it was told.
        """
        own, alike = watch.own, watch.alike
        untold = own.untold if own.untold_of == watch.observers else 0
        own.untold = 0
        if (
            alike is None
            or alike.function != self.key
            or alike.runs != watch.runs
            or len(alike.elapsed) >= alike.most
        ):
            watch.tell_whole(elapsed, untold)
            return None
        watch.runs = []
        alike.watching_ns += untold
        alike.elapsed.append(elapsed)
        return alike

    def _called_closely(self, values: Sequence[Any], named: dict[str, Any], watched: WatchedCall) -> Any:
        """Return the outputs of a call that is looked at or timed in parts, and tell it."""
        try:
            found = self._given(self._arguments(values, named), watched)
        except BaseException:
            watched.end()  # what failed came after the run, whose error would have ended it
            raise
        watched.returned()
        return found

    def passes_over(self, calls: int) -> None:
        """Let so many further calls be passed over by whoever watches, however long they are: to measure what that takes."""
        self._close.left, self._close.longest_ns = calls, sys.maxsize

    def run(self, arrays: list[Array], watched: WatchedCall) -> list[Array]:
        """Run the program for a call that is watched."""
        if watched.watch is not None:
            return self._passed_run(arrays, watched, watched.watch)
        watched.run_begun = perf_counter_ns()
        try:
            if self._told_all == GENERATION[0]:
                return self._told_run(arrays, watched.watching, watched)
            return self._watched(arrays, watched)
        finally:
            watched.run_ended = perf_counter_ns()

    def _passed_run(self, arrays: list[Array], watched: WatchedCall, watch: Watch) -> list[Array]:
        """Run the program once in a call that is passed over: it is told as a whole when it has returned.

        Where something else happens in it, or an error ends it, it is told like others.
        """
        alone = self._runs_alone
        is_alone = self._close.alone and alone is not None and alone(arrays, watch)
        watched.begins(is_alone)
        try:
            results: list[Array] = self._executable.run(arrays, None if is_alone else watch)
        except BaseException as error:
            watched.failed(error, is_alone)
            raise
        self._close.took_alone(watched.ran(is_alone))
        return results

    def _watched(self, arrays: list[Array], watched: WatchedCall) -> list[Array]:
        watching, generation = watched.watching, GENERATION[0]
        self._close.watched_by(id(watching[0]))
        for observer in watching:
            if observer not in self._told:
                self.introduce(observer)
        looking = tuple([observer for observer in watching if observer.detail == "values"])
        if not looking or len(looking) == len(watching):
            if watching[: len(observe.observers())] == observe.observers():  # nobody has joined since
                self._told_all = generation
            return self._told_run(arrays, watching, watched)
        timing = tuple([observer for observer in watching if observer.detail != "values"])
        try:
            results = self._told_run(arrays, timing, watched)
        except Exception:
            # it most likely fails at the same place, and its values up to there are kept
            with suppress(Exception):
                self._looked_at(arrays, looking)
            raise
        try:
            self._looked_at(arrays, looking)
        except BaseException:  # the call does not return, so this is the last that is told of it
            watch, around = Watch(self.key, timing), watched.run_begun - watched.begun
            watch.function_returned(around, 0, perf_counter_ns() - watched.run_begun - watched.elapsed_ns)
            raise
        return results

    def _looked_at(self, arrays: list[Array], looking: tuple[observe.Observer, ...]) -> None:
        """Compute a call once more for its values: what it prints was printed already."""
        from scanviz.engine.ops.effects import without_printing

        with without_printing():
            self._told_run(arrays, looking)

    def introduce(self, observer: observe.Observer) -> None:
        """Tell one who has not heard of this function yet what it is; noted when it is told, so no lock is needed to ask."""
        with self._telling:
            if observer in self._told:  # by another thread since
                return
            function = self.function
            observer.compiled(
                CompiledFunction(
                    self.key,
                    function.name,
                    function,
                    function.program,
                    function.backend,
                    function.build_ns,
                    function.where,
                )
            )
            self._told.add(observer)

    def _told_run(
        self, arrays: list[Array], watching: tuple[observe.Observer, ...], watched: WatchedCall | None = None
    ) -> list[Array]:
        """Run the program once, and tell it to some of the observers.

        Those that time and those that look at every value are told of runs of their own, which compute the same, so that looking
        does not change what is timed.
        """
        entered, call, watch = perf_counter_ns(), next(CALL_NUMBERS), Watch(self.key, watching)
        own, close = watch.own, self._close
        held, begun = own.ns, entered
        if own.waiting is not None:
            own.waiting.tell_begin()  # of the call that this one is made in
        watch.is_sample = close.passes
        watch.function_begin(call)
        if watched is not None:
            watched.watch, watched.call = watch, call
        try:
            begun = perf_counter_ns()  # inside: an interrupt in it ends what has begun
            results: list[Array] = self._executable.run(arrays, watch)
        except BaseException as error:
            watch.function_end(call, perf_counter_ns() - begun - (own.ns - held), error)
            raise
        ended = perf_counter_ns()
        elapsed = ended - begun - (own.ns - held)
        watch.operations_of_call(elapsed)
        if watched is not None:
            watched.elapsed_ns = elapsed
        watch.function_end(call, elapsed, None)
        if watch.samples_calls:
            alone = watch.control and self._runs_alone is not None
            close.took(elapsed, perf_counter_ns() - entered - elapsed, alone)
        own.ns += perf_counter_ns() - ended + begun - entered
        return results
