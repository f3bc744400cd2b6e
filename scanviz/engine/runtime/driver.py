"""Running a loop, whatever its code is: steps in chunks where rows grow, observers are notified or ctrl+c must be heard."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as whole_number
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from scanviz.engine.program.effects import has_effects
from scanviz.engine.program.instructions import Instruction, LoopInstruction, all_loops
from scanviz.engine.runtime.alone import ALONE, MOST_RUNS, together
from scanviz.engine.runtime.arena import LoopArena, LoopInputs
from scanviz.engine.runtime.pool import Pool
from scanviz.engine.runtime.untimed import (
    Enter,
    entered,
    entered_counted,
    entered_passed_over,
    run_counted,
    run_passed_over,
    run_plain,
)

if TYPE_CHECKING:
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.runtime.array_module import ArrayModule
    from scanviz.engine.runtime.calling import LoopCode, LoopTier
    from scanviz.engine.runtime.events import Watch
    from scanviz.engine.runtime.schedule import SamplingSchedule

THREADS = 16  # as many runs of a loop at once, in threads, find the sampling schedule of an earlier run


class LoopRunner:
    """Runs one loop instruction.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    tier : LoopTier
        Gives its code for the shapes met.
    module : ArrayModule
        The array library that its steps run on.
    """

    __slots__ = (
        "effects",
        "enter",
        "hand_over",
        "holds_others",
        "inputs",
        "loop",
        "noted",
        "schedules",
        "tier",
    )

    def __init__(self, loop: LoopInstruction, tier: LoopTier, module: ArrayModule) -> None:
        self.loop, self.tier, self.inputs = loop, tier, LoopInputs(loop, module)
        self.noted = (loop.key, 1, -1, -1, 0, -1)  # the last run in a call that was told as a whole
        self.schedules = Pool(self._new_schedule, THREADS)
        self.effects = has_effects(loop.body)
        # of a tier that may hand a loop over whose end nobody knows
        self.hand_over = None if loop.until is None else getattr(tier, "going_on", None)
        # of a tier that has code which needs no arena: there is none where nobody knows the end, or somebody is told of steps
        may_enter = loop.until is None and not self.effects
        self.enter: Enter | None = getattr(tier, "enter", None) if may_enter else None
        self.holds_others = any(not isinstance(part, Instruction) for part in loop.body.instructions)

    def _new_schedule(self) -> SamplingSchedule:
        from scanviz.engine.runtime.schedule import SamplingSchedule  # when somebody watches

        return SamplingSchedule(next(all_loops(self.loop.body), None) is not None)

    def take_plan(self, made: Plan) -> None:
        """Take the plan that was made with that of the loop around this one."""
        self.tier.take_plan(made)

    def __call__(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Run the loop for the values of its instruction's inputs and return its results."""
        if watch is None:
            if self.enter is not None and not ALONE:
                found = self.enter(values)
                if isinstance(found, list):
                    return found
                if found is not None:
                    found.reraise()
        elif watch.is_alone:
            if self.enter is not None:
                try:
                    found = self.enter(values)
                except BaseException:  # ctrl+c
                    watch.ran(self.loop.key, 0, 0, 1)
                    raise
                if isinstance(found, list):
                    # of NumPy's integers it takes a fifth of the time that `int` does
                    steps, noted = whole_number(values[self.inputs.n_steps]), self.noted
                    if noted[2] != steps:  # mostly runs are alike, and one tuple tells of all of them
                        noted = self.noted = (self.loop.key, 1, steps, steps, 0, -1)
                    watch.runs.append(noted)
                    return found
                if found is not None:
                    watch.ran(self.loop.key, found.step, 0, 1)
                    found.reraise()
            watch = None
        elif watch.counted is not None and self.enter is not None and not self.holds_others:
            found = entered_counted(
                self.enter, self.loop.key, values, self.inputs.n_steps, watch.counted, watch.own
            )
            if found is not None:
                return found
        if not self.effects:
            return self._run(values, watch)
        from scanviz.engine.ops.current_step import running_loop  # few loops print

        with running_loop(self.loop.name):
            return self._run(values, watch)

    def _run(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        if watch is None:
            if ALONE:
                return self._alone(values)
            arena, code = self.opened(values, None)
            return self._results(arena, run_plain(arena, code))
        counted = watch.counted
        if counted is None:
            return self._observed(values, watch)
        begun = perf_counter_ns() - watch.own.ns
        arena, code = self.opened(values, watch)
        return self._results(arena, run_counted(arena, code, counted, begun, watch.own))

    def _alone(self, values: Sequence[Any]) -> list[Any]:
        """Run the loop as if nobody watched, and note the run where this thread makes a call that is told as a whole."""
        watch = ALONE.get(get_ident())
        begun = 0 if watch is None or not watch.times_runs else perf_counter_ns() - watch.own.ns
        if self.enter is not None:
            found = entered(self.enter, values)
            if isinstance(found, list):
                self._note(watch, whole_number(values[self.inputs.n_steps]), begun)
                return found
            if found is not None:
                if watch is not None:
                    watch.ran(self.loop.key, found.step, begun, 1)
                found.reraise()
        arena, code = self.opened(values, None)
        try:
            done = run_plain(arena, code)
        except BaseException:
            if watch is not None:
                watch.ran(self.loop.key, max(arena.failed_step, 0), begun, 1)
            raise
        results = self._results(arena, done)
        self._note(watch, done, begun)
        return results

    def _note(self, watch: Watch | None, done: int, begun: int) -> None:
        """Note a run of so many steps in a call that is told as a whole."""
        if begun and watch is not None:
            watch.ran(self.loop.key, done, begun, 0)
        elif watch is not None:
            watch.runs.append((self.loop.key, 1, done, done, 0, -1))
            if len(watch.runs) >= MOST_RUNS:
                watch.runs = together(watch.runs)

    def opened(self, values: Sequence[Any], watch: Watch | None) -> tuple[LoopArena, LoopCode]:
        """Return what a run owns, and the code for it."""
        arena = LoopArena(self.inputs, values, watch)
        code = self.tier.code_for(arena.shapes, arena.states, watch, arena.steps)
        arena.code, arena.hand_over = code, self.hand_over
        arena.open(code.memory, code.buffers.take(), code.steps_at_once)
        return arena, code

    def _observed(self, values: Sequence[Any], watch: Watch) -> list[Any]:
        begun = watch.now()
        if watch.samples_runs and self.enter is not None and not self.holds_others and watch.ledger is None:
            results = self._passed_over(self.enter, values, watch, begun)
            if results is not None:
                return results
        arena, code = self.opened(values, watch)
        if watch.ledger is None:
            return self._results(arena, self._watched(arena, code, watch, begun))
        with watch.own.aside():
            fresh = self._fresh_bytes(arena, code.plan)
            watch.ledger.hold(fresh)
            arena.weigh(watch.ledger)
        try:
            done = self._watched(arena, code, watch, begun)
        finally:
            arena.weigh(None)
            watch.ledger.release(fresh)
        return self._results(arena, done)

    def _passed_over(self, enter: Enter, values: Sequence[Any], watch: Watch, begun: int) -> list[Any] | None:
        """Run the loop without an arena where nobody wants times of its steps; None where somebody does, or it needs one."""
        schedule, steps, results = self._schedule(watch), whole_number(values[self.inputs.n_steps]), None
        key = self.loop.key
        if schedule.passed_over and steps <= schedule.most_steps and not watch.would_look_at(key):
            results = entered_passed_over(enter, key, values, steps, watch, schedule, begun)
        self.schedules.give_back(schedule)
        return results

    def _fresh_bytes(self, arena: LoopArena, plan: Plan | None) -> int:
        """Return the bytes that the steps of a run make anew, those included whose size a number among the non-sequences says."""
        if plan is None or not arena.steps:
            return 0
        from scanviz.engine.program.memory import fresh_bytes, fresh_registers  # of runs that are weighed

        places = plan.places
        if all(places[number].shape is not None for number in fresh_registers(plan)):
            return fresh_bytes(self.loop.body, plan)
        from scanviz.engine.program.known_numbers import known_in_step  # nothing that runs needs it

        return fresh_bytes(self.loop.body, plan, known_in_step(self.loop, arena.shapes, arena.fixed))

    def _watched(self, arena: LoopArena, code: LoopCode, watch: Watch, begun: int) -> int:
        """Run the steps as observers want them, and return the steps done.

        In a call that is looked at among many that are not, so is one run of each loop: few calls are looked at for either.
        """
        schedule = self._schedule(watch)
        if (
            watch.samples_runs
            and schedule.passed_over
            and arena.steps <= schedule.most_steps
            and not watch.looks_at(arena.loop.key)
        ):
            done = run_passed_over(arena, code, watch, schedule, begun, self.holds_others)
        else:
            from scanviz.engine.runtime.observed import run_observed  # which whoever watches has imported

            done = run_observed(arena, code, watch, schedule, begun, self.holds_others)
        self.schedules.give_back(schedule)
        return done

    def _schedule(self, watch: Watch) -> SamplingSchedule:
        """Return where an earlier run left the schedule; a new one, which begins with a sample, for whoever did not watch then."""
        schedule, observer = self.schedules.take(), id(watch.observers[0])
        if schedule.observer not in (0, observer):
            schedule = self._new_schedule()
        schedule.observer, schedule.control = observer, watch.control
        return schedule

    def _results(self, arena: LoopArena, done: int) -> list[Any]:
        code, results = arena.code, arena.results(done, self.tier.compute)
        if self.loop.until is not None:
            self.tier.took(code, done)
        if code.keeps_buffers or not self.loop.allow_gc:
            code.buffers.give_back(arena.buffers)
        return results
