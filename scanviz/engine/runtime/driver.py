"""Run a loop in chunks of steps, so that rows can grow, observers are notified and ctrl+c is handled."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as whole_number
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from scanviz.engine.observation.levels import RUNS
from scanviz.engine.program.instructions import Instruction, LoopInstruction, all_loops, has_effects
from scanviz.engine.runtime.arena import LoopArena, LoopInputs
from scanviz.engine.runtime.calling import FailedRun, Pool, run_plain

if TYPE_CHECKING:
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.observation.sampling import StepSampler
    from scanviz.engine.program.instructions import AnyInstruction, Program
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.runtime.array_module import ArrayModule
    from scanviz.engine.runtime.calling import LoopCode, WriteEntry
    from scanviz.engine.runtime.row_storage import StateRows

THREADS = 16  # sampling schedules kept for runs of a loop in threads


class LoopRunner:
    """Run one loop instruction; a tier derives a class that provides the loop's code.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    module : ArrayModule
        The array library that its steps run on.

    Attributes
    ----------
    write_entry : callable or None
        ``write_entry(plan)`` writes code that needs no arena, for :meth:`enter`.
    """

    write_entry: WriteEntry | None = None

    def __init__(self, loop: LoopInstruction, module: ArrayModule) -> None:
        self.loop, self.inputs = loop, LoopInputs(loop, module)
        self.samplers = Pool(self._new_sampler, THREADS)
        self.effects = has_effects(loop.body)
        self.holds_others = any(not isinstance(part, Instruction) for part in loop.body.instructions)

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], probe: Probe | None, steps: int
    ) -> LoopCode:
        """Return the code for the shapes of a step's inputs and the rows of the states; the run takes at most ``steps`` steps."""
        raise NotImplementedError

    def compute(self, program: Program, instruction: AnyInstruction, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of one instruction of the step, outside of a run."""
        raise NotImplementedError

    def enter(self, values: Sequence[Any]) -> list[Any] | FailedRun | None:
        """Run the loop without an arena; return its results or failure, or None if it needs an arena."""

    def hand_over(self, arena: LoopArena, step: int) -> LoopCode:
        """Return the code of a loop with a stop condition from a step on at which rows grow."""
        code: LoopCode = arena.code
        return code

    def took(self, code: LoopCode, steps: int) -> None:
        """Take the number of steps of a run with a stop condition."""

    def _new_sampler(self) -> StepSampler:
        from scanviz.engine.observation.sampling import StepSampler  # only for observed runs

        return StepSampler(next(all_loops(self.loop.body), None) is not None)

    def __call__(self, values: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Run the loop for the values of its instruction's inputs and return its results."""
        if self.effects:  # few loops print
            from scanviz.engine.ops.effects import running_loop

            with running_loop(self.loop.name):
                return self._run(values, probe)
        return self._run(values, probe)

    def _run(self, values: Sequence[Any], probe: Probe | None) -> list[Any]:
        if probe is None:
            if self.write_entry is not None:
                found = self.enter(values)
                if isinstance(found, list):
                    return found
                if found is not None:
                    found.reraise()
            arena, code = self.opened(values, None)
            return self._results(arena, run_plain(arena, code))
        if probe.level is RUNS:
            return self._noted(values, probe)
        if not probe.samples:
            return self._observed(values, probe, self._sampler(probe))
        sampler = self._sampler(probe)
        if not sampler.skips(self.inputs.steps_of(values)) or probe.looks_at(self.loop.key):
            return self._observed(values, probe, sampler)
        before, probe.level = probe.level, RUNS
        try:
            return self._noted(values, probe, sampler)
        finally:
            probe.level = before
            self.samplers.give_back(sampler)

    def _noted(self, values: Sequence[Any], probe: Probe, sampler: StepSampler | None = None) -> list[Any]:
        """Run the loop unobserved, and count the run."""
        own, key = probe.own, self.loop.key
        held, done, failed, begun = own.ns, 0, 1, perf_counter_ns()
        try:
            found = None if self.write_entry is None or self.holds_others else self.enter(values)
            if type(found) is list:
                results, done = found, whole_number(values[self.inputs.n_steps])
            elif isinstance(found, FailedRun):
                done = found.step
                found.reraise()
            else:
                arena, code = self.opened(values, probe)
                try:
                    done = run_plain(arena, code)
                except BaseException:
                    done = max(arena.failed_step, 0)
                    raise
                results = self._results(arena, done)
            failed = 0
            return results
        finally:
            elapsed = perf_counter_ns() - begun - own.ns + held
            probe.ran(key, done, failed, elapsed)
            if sampler is not None:
                sampler.passed(elapsed)

    def opened(self, values: Sequence[Any], probe: Probe | None) -> tuple[LoopArena, LoopCode]:
        """Return the arena of a run, and its code."""
        arena = LoopArena(self.inputs, values, probe)
        code = arena.code = self.code_for(arena.shapes, arena.states, probe, arena.steps)
        if self.loop.until is not None:
            arena.hand_over = self.hand_over
        arena.open(code.memory, code.buffers.take(), code.steps_at_once)
        return arena, code

    def _observed(self, values: Sequence[Any], probe: Probe, sampler: StepSampler) -> list[Any]:
        """Run the loop observed, part by part of its sampling schedule."""
        from scanviz.engine.runtime.observed import run_observed  # only for observed runs

        begun = probe.now()
        arena, code = self.opened(values, probe)
        fresh = 0
        if probe.ledger is not None:
            with probe.own.aside():
                fresh = self._fresh_bytes(arena, code.plan)
                probe.ledger.hold(fresh)
                arena.weigh(probe.ledger)
        try:
            done = run_observed(arena, code, probe, sampler, begun, self.holds_others)
        finally:
            if probe.ledger is not None:
                arena.weigh(None)
                probe.ledger.release(fresh)
        self.samplers.give_back(sampler)
        return self._results(arena, done)

    def _fresh_bytes(self, arena: LoopArena, plan: Plan | None) -> int:
        """Return the bytes of new arrays in the steps of a run, including sizes given by numbers among the non-sequences."""
        if plan is None or not arena.steps:
            return 0
        from scanviz.engine.program.known_numbers import (  # only for weighed runs
            fresh_bytes,
            fresh_registers,
        )

        places = plan.places
        if all(places[number].shape is not None for number in fresh_registers(plan)):
            return fresh_bytes(self.loop.body, plan)
        from scanviz.engine.program.known_numbers import known_in_step  # only for weighed runs

        return fresh_bytes(self.loop.body, plan, known_in_step(self.loop, arena.shapes, arena.fixed))

    def _sampler(self, probe: Probe) -> StepSampler:
        """Return the sampler of an earlier run, or a new one for another observer."""
        sampler, observer = self.samplers.take(), id(probe.observers[0]) if probe.observers else 0
        if sampler.observer not in (0, observer):
            sampler = self._new_sampler()
        sampler.observer, sampler.control = observer, probe.control
        return sampler

    def _results(self, arena: LoopArena, done: int) -> list[Any]:
        code, results = arena.code, arena.results(done, self.compute)
        if self.loop.until is not None:
            self.took(code, done)
        if code.keeps_buffers or not self.loop.allow_gc:
            code.buffers.give_back(arena.buffers)
        return results
