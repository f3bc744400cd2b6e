"""Run observed calls of a function, each with a probe: notify its begin and end, or count it after its return.

The module is imported at the first observed call: most programs run unobserved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter_ns
from typing import Any
from weakref import WeakSet

from scanviz.engine import observe
from scanviz.engine.graph.nodes import Array
from scanviz.engine.locks import lock
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observation.levels import RUNS, ProbeLevel
from scanviz.engine.observation.observer_overhead import THREADS, ObserverOverhead, notify_all, notify_begun
from scanviz.engine.observation.probe import CALL_NUMBERS, Probe, note_overhead_ns
from scanviz.engine.observation.sampling import CallSampler
from scanviz.engine.observe import GENERATION, Observer

MOST_CALLS = 512  # counted calls of one thread per report
MOST_PROBES = 64  # functions of one thread with counted calls
Arguments = Callable[[Sequence[Any], dict[str, Any]], list[Array]]


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
        self, function: Any, arguments: Arguments, given: Callable[[list[Array], Probe], Any]
    ) -> None:  # the function is typed above this layer
        self.function, self.key = function, function.key
        self._arguments, self._given, self._executable = arguments, given, function.executable
        # observers that received `compiled`: once each, before any call event, from whichever thread calls first
        self._notified: WeakSet[Observer] = WeakSet()
        # the generation of observers that all received `compiled`, none of them with detail "values"
        self._notified_generation = -1
        self._notifying = lock()
        self.sampler = CallSampler()
        note_overhead_ns()

    def call(self, values: Sequence[Any], named: dict[str, Any], observers: tuple[Observer, ...]) -> Any:
        """Return the outputs of a call and notify its observers."""
        entered, sampler, own = perf_counter_ns(), self.sampler, THREADS.own
        if own.waiting is not None:
            entered += notify_begun()  # the begin of the enclosing call
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
            # the failure came after the run: an error of the run has emitted the end event already
            if probe.run_ended:
                if probe.level is RUNS:
                    probe.function_end(probe.elapsed_ns, None)
                checks, observing = probe.run_begun - entered, probe.run_ended - probe.run_begun
                probe.function_returned(checks, 0, max(0, observing - probe.elapsed_ns))
            raise
        if probe.waiting:
            self._count(probe, ended)
        else:
            self._returned(probe, ended)
        return found

    def _counting(self, own: ObserverOverhead, observers: tuple[Observer, ...]) -> Probe:
        """Return a new probe for the thread's counted calls; a probe that it replaces reports its calls first."""
        if len(own.probes) >= MOST_PROBES or self.key in own.probes:
            notify_all(own.probes)
            own.probes.clear()
        probe = own.probes[self.key] = Probe(self.key, observers, level=RUNS)
        return probe

    def run(self, arrays: list[Array], probe: Probe) -> list[Array]:
        """Run the program for a call, and let observers check its results: observer overhead, also if Ctrl-C ends it."""
        results = (
            self._run_counted(arrays, probe) if probe.level is RUNS else self._run_closely(arrays, probe)
        )
        for observer in probe.observers:
            if observer.checks_results:
                own, begun = probe.own.ns, perf_counter_ns()
                try:
                    observer.computed(self.key, results, partial(self._repeat, arrays))
                finally:
                    probe.run_ended = perf_counter_ns()
                    probe.own.ns = own + probe.run_ended - begun
        return results

    def _run_counted(self, arrays: list[Array], probe: Probe) -> list[Array]:
        """Run the program unobserved, except that the runs of its loops are counted."""
        own = probe.own
        held = own.ns
        # no call before the block: an interrupt comes either before the begin or inside the block that emits the end
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
        if self._notified_generation == GENERATION[0]:
            results = self._run_observed(arrays, probe)
        else:
            results = self._run_for_all(arrays, probe)
        probe.run_ended = perf_counter_ns()
        return results

    def _count(self, probe: Probe, ended: int) -> None:
        """Count an unobserved call; report the counted calls once there are many, or if another probe has replaced this one."""
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
        """Notify the observers of the run of the times around it.

        The overhead of this notification is known only afterwards: the next call of the thread reports it.
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
        """Run the program for observers that may lack `compiled` or want values; the latter observe a second run."""
        observers, generation = probe.observers, GENERATION[0]
        self.sampler.observed_by(id(observers[0]))
        for observer in observers:
            if observer not in self._notified:
                self.introduce(observer)
        looking = tuple([observer for observer in observers if observer.detail == "values"])
        if not looking or len(looking) == len(observers):
            if observers[: len(observe.observers())] == observe.observers():  # none has joined
                self._notified_generation = generation
            return self._run_observed(arrays, probe)
        timing = Probe(self.key, tuple([observer for observer in observers if observer.detail != "values"]))
        try:
            results = self._run_observed(arrays, timing)
        except Exception:
            # the second run most likely fails at the same place, and records the values up to there
            with suppress(Exception):
                self._look(arrays, looking)
            raise
        probe.observers, probe.elapsed_ns = timing.observers, timing.elapsed_ns
        try:
            self._look(arrays, looking)
        finally:
            probe.run_ended = perf_counter_ns()
        return results

    def _look(self, arrays: list[Array], looking: tuple[Observer, ...]) -> None:
        """Run a call again to observe its values, without printing again."""
        from scanviz.engine.ops.effects import without_printing

        with without_printing():
            self._run_observed(arrays, Probe(self.key, looking))

    def _repeat(self, arrays: list[Array], observer: Observer) -> None:
        """Run a call again for an observer that was not attached."""
        self.introduce(observer)
        self._look(arrays, (observer,))

    def introduce(self, observer: Observer) -> None:
        """Emit ``compiled`` to an observer once; the observer is added afterwards, so readers of the set need no lock."""
        with self._notifying:
            if observer in self._notified:  # by another thread meanwhile
                return
            f = self.function
            event = CompiledFunction(
                f.key, f.name, f, f.program, f.backend, f.build_ns, f.where, f.spec.tier_reason
            )
            observer.compiled(event)
            self._notified.add(observer)

    def _run_observed(self, arrays: list[Array], probe: Probe) -> list[Array]:
        """Run the program once and notify its begin and end."""
        entered, own, probe.call = perf_counter_ns(), probe.own, next(CALL_NUMBERS)
        held, begun = own.ns, entered
        probe.is_sample, count = self.sampler.passes, len(self.function.program.instructions)
        is_due = self.sampler.times_operations(count)  # asked in any case: it counts the calls
        probe.times_operations = is_due or probe.level is ProbeLevel.OPERATIONS
        probe.function_begin()
        try:
            begun = perf_counter_ns()  # inside the block, so that an interrupt emits the end event
            results: list[Array] = self._executable.run(arrays, probe)
        except BaseException as error:
            probe.function_end(perf_counter_ns() - begun - (own.ns - held), error)
            raise
        ended = perf_counter_ns()
        elapsed = probe.elapsed_ns = self.sampler.latest_ns = ended - begun - (own.ns - held)
        probe.operations_of_call(elapsed)
        probe.function_end(elapsed, None)
        if probe.samples:
            self.sampler.took(elapsed, perf_counter_ns() - entered - elapsed)
        own.ns += perf_counter_ns() - ended + begun - entered
        return results
