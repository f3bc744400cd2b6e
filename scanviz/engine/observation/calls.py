"""Calls of a function that somebody observes: each with a probe, told when it begins and ends, or as a whole when it has returned.

It is imported when the first call of a function is observed: most programs run unobserved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter_ns
from typing import Any, Protocol
from weakref import WeakSet

from scanviz.engine import observe
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.locks import lock
from scanviz.engine.observation.call_sampler import CallSampler
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observation.levels import RUNS
from scanviz.engine.observation.observer_overhead import THREADS, ObserverOverhead, notify_all, notify_begun
from scanviz.engine.observation.probe import CALL_NUMBERS, Probe, note_overhead_ns
from scanviz.engine.observe import GENERATION, Observer
from scanviz.engine.program.instructions import Program

MOST_CALLS = 512  # of one thread that are counted before they are told
MOST_PROBES = 64  # functions of one thread whose calls are counted
Arguments = Callable[[Sequence[Any], dict[str, Any]], list[Array]]


class Observed(Protocol):
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


class ObservedCalls:
    """The observed calls of one function.

    Parameters
    ----------
    function : Function
        The function.
    arguments : callable
        ``arguments(values, named)`` gives the arrays of a call.
    given : callable
        ``given(arrays, probe)`` gives the results of a call, and has :meth:`run` run the program.
    """

    def __init__(
        self, function: Observed, arguments: Arguments, given: Callable[[list[Array], Probe], Any]
    ) -> None:
        self.function, self.key = function, function.key
        self._arguments, self._given, self._executable = arguments, given, function.executable
        # observers that have heard of it; each is told once, before it is told of any call, whatever thread calls
        self._notified: WeakSet[Observer] = WeakSet()
        # the generation of observers that have all heard of it, none of them asking for values
        self._notified_generation = -1
        self._notifying = lock()
        self.sampler = CallSampler()
        note_overhead_ns()

    def call(self, values: Sequence[Any], named: dict[str, Any], observers: tuple[Observer, ...]) -> Any:
        """Return the outputs of a call, and tell it."""
        entered, sampler, own = perf_counter_ns(), self.sampler, THREADS.own
        if own.waiting is not None:
            entered += notify_begun()  # of the call that this one is made in
        if sampler.left > 0 and self._notified_generation == GENERATION[0]:
            sampler.left -= 1
            probe = own.probes.get(self.key)
            if probe is None or probe.in_use or probe.observers != observers:
                probe = self._counting(own, observers)
            probe.in_use = True
        else:
            probe = Probe(self.key, observers)
        probe.entered, probe.run_ended = entered, 0
        try:
            found = self._given(self._arguments(values, named), probe)
            ended = perf_counter_ns()
        except BaseException:
            if (
                probe.level is RUNS and probe.run_ended
            ):  # what failed came after the run, whose error would have ended it
                probe.function_end(probe.elapsed_ns, None)
            raise
        if probe.waiting:
            self._count(probe, ended)
        else:
            self._returned(probe, ended)
        return found

    def _counting(self, own: ObserverOverhead, observers: tuple[Observer, ...]) -> Probe:
        """Return a new probe for calls of the thread that are counted; what others hold is told where it takes their place."""
        if len(own.probes) >= MOST_PROBES or self.key in own.probes:
            notify_all(own.probes)
        if len(own.probes) >= MOST_PROBES:
            own.probes.clear()
        probe = own.probes[self.key] = Probe(self.key, observers, level=RUNS)
        return probe

    def run(self, arrays: list[Array], probe: Probe) -> list[Array]:
        """Run the program for a call."""
        if probe.level is not RUNS:
            return self._run_closely(arrays, probe)
        # as if nobody observed, but for the runs of its loops, which are noted
        own = probe.own
        held = own.ns
        # nothing is called until the block begins: an interrupt comes before all of it or finds who ends it
        probe.waiting, own.waiting = True, probe
        try:
            begun = probe.run_begun = perf_counter_ns()
            results: list[Array] = self._executable.run(arrays, probe)
            ended = perf_counter_ns()
        except BaseException as error:
            elapsed = perf_counter_ns() - probe.run_begun - (own.ns - held)
            probe.function_end(elapsed, error)
            raise
        finally:
            own.waiting = None
        probe.run_ended, probe.elapsed_ns = ended, ended - begun - (own.ns - held)
        return results

    def _run_closely(self, arrays: list[Array], probe: Probe) -> list[Array]:
        probe.run_begun = perf_counter_ns()
        try:
            if self._notified_generation == GENERATION[0]:
                return self._run_observed(arrays, probe)
            return self._run_for_all(arrays, probe)
        finally:
            probe.run_ended = perf_counter_ns()

    def _count(self, probe: Probe, ended: int) -> None:
        """Count a call that nobody was told of; with many, or where another probe has taken its place, they are told."""
        own, elapsed, begun, run_ended = probe.own, probe.elapsed_ns, probe.run_begun, probe.run_ended
        probe.waiting = probe.in_use = False
        if probe.branches:
            probe.sides_taken()
        observing = run_ended - begun - elapsed + probe.unreported_ns
        probe.calls.append((elapsed, begun - probe.entered, ended - run_ended, observing))
        if len(probe.calls) >= MOST_CALLS or own.probes.get(self.key) is not probe:
            probe.notify_counted()
        sampler = self.sampler
        if not sampler.usual_ns <= elapsed <= sampler.longest_ns:
            sampler.passed(elapsed)
        probe.unreported_ns = taken = perf_counter_ns() - ended
        own.ns += taken

    def _returned(self, probe: Probe, ended: int) -> None:
        """Tell the times around the run to those who were told of it.

        What telling takes is known when they have been told: they are told it with the next call of the thread.
        """
        own, observers = probe.own, probe.observers
        checks, copies = probe.run_begun - probe.entered, ended - probe.run_ended
        observing = max(0, probe.run_ended - probe.run_begun - probe.elapsed_ns)
        if own.unreported_ns and own.unreported_to == observers:
            observing += own.unreported_ns
        if probe.branches:
            probe.sides_taken()
        if probe.level is RUNS:
            probe.function_end(probe.elapsed_ns, None)
            self.sampler.passed(probe.elapsed_ns)
            probe.in_use = False
        probe.function_returned(checks, copies, observing)
        own.unreported_to = observers
        own.unreported_ns = observing = perf_counter_ns() - ended
        own.ns += observing

    def _run_for_all(self, arrays: list[Array], probe: Probe) -> list[Array]:
        """Run the program for observers some of whom may not have heard of it, or want values: those are told of another run."""
        observers, generation = probe.observers, GENERATION[0]
        self.sampler.observed_by(id(observers[0]))
        for observer in observers:
            if observer not in self._notified:
                self.introduce(observer)
        looking = tuple([observer for observer in observers if observer.detail == "values"])
        if not looking or len(looking) == len(observers):
            if observers[: len(observe.observers())] == observe.observers():  # nobody has joined since
                self._notified_generation = generation
            return self._run_observed(arrays, probe)
        timing = Probe(self.key, tuple([observer for observer in observers if observer.detail != "values"]))
        try:
            results = self._run_observed(arrays, timing)
        except Exception:
            # it most likely fails at the same place, and its values up to there are kept
            with suppress(Exception):
                self._look(arrays, looking)
            raise
        probe.observers, probe.elapsed_ns = timing.observers, timing.elapsed_ns
        try:
            self._look(arrays, looking)
        except BaseException:  # the call does not return, so this is the last that is told of it
            around, taken = probe.run_begun - probe.entered, perf_counter_ns() - probe.run_begun
            timing.function_returned(around, 0, taken - timing.elapsed_ns)
            raise
        return results

    def _look(self, arrays: list[Array], looking: tuple[Observer, ...]) -> None:
        """Compute a call once more for its values: what it prints was printed already."""
        from scanviz.engine.ops.effects import without_printing

        with without_printing():
            self._run_observed(arrays, Probe(self.key, looking))

    def introduce(self, observer: Observer) -> None:
        """Tell one who has not heard of this function yet what it is; noted when it is told, so no lock is needed to ask."""
        with self._notifying:
            if observer in self._notified:  # by another thread since
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
            self._notified.add(observer)

    def _run_observed(self, arrays: list[Array], probe: Probe) -> list[Array]:
        """Run the program once, and tell its begin and end."""
        entered, own, probe.call = perf_counter_ns(), probe.own, next(CALL_NUMBERS)
        held, begun = own.ns, entered
        probe.is_sample = self.sampler.passes
        probe.function_begin()
        try:
            begun = perf_counter_ns()  # inside: an interrupt in it ends what has begun
            results: list[Array] = self._executable.run(arrays, probe)
        except BaseException as error:
            probe.function_end(perf_counter_ns() - begun - (own.ns - held), error)
            raise
        ended = perf_counter_ns()
        elapsed = probe.elapsed_ns = ended - begun - (own.ns - held)
        probe.operations_of_call(elapsed)
        probe.function_end(elapsed, None)
        if probe.samples:
            self.sampler.took(elapsed, perf_counter_ns() - entered - elapsed)
        own.ns += perf_counter_ns() - ended + begun - entered
        return results


__all__ = ["ObservedCalls"]
