"""Running a loop, whatever its code is: steps in chunks where rows grow, observers are notified or ctrl+c must be heard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import get_ident
from time import perf_counter_ns
from typing import Any

from scanviz.engine.ops.current_step import running_loop
from scanviz.engine.program.effects import has_effects
from scanviz.engine.program.instructions import Instruction, LoopInstruction, all_loops
from scanviz.engine.program.memory import fresh_bytes, fresh_registers
from scanviz.engine.program.plan import Plan
from scanviz.engine.runtime.alone import ALONE, MOST_RUNS, together
from scanviz.engine.runtime.arena import LoopArena, LoopInputs
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.calling import CompiledLoop, LoopCode, LoopTier
from scanviz.engine.runtime.events import OwnTime, Watch
from scanviz.engine.runtime.pool import Pool
from scanviz.engine.runtime.preemption import Preemption
from scanviz.engine.runtime.schedule import LONGEST_BLOCK, PIECE_NS, SamplingSchedule, Variant, scheduled
from scanviz.engine.runtime.stamps import BlockStamps, Stamps
from scanviz.engine.runtime.untimed import (
    Enter,
    entered,
    entered_counted,
    entered_passed_over,
    run_counted,
    run_passed_over,
    run_plain,
    take_steps,
)

SHORT_NS = 5_000  # steps shorter than that share a time where observers allow it
WARMED = 8  # steps of a control block that are not compared: their code is cold
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
        "schedules",
        "tier",
    )

    def __init__(self, loop: LoopInstruction, tier: LoopTier, module: ArrayModule) -> None:
        self.loop, self.tier, self.inputs = loop, tier, LoopInputs(loop, module)
        nested = next(all_loops(loop.body), None) is not None
        self.schedules = Pool(lambda: SamplingSchedule(nested), THREADS)
        self.effects = has_effects(loop.body)
        # of a tier that may hand a loop over whose end nobody knows
        self.hand_over = None if loop.until is None else getattr(tier, "going_on", None)
        # of a tier that has code which needs no arena: there is none where nobody knows the end, or somebody is told of steps
        may_enter = loop.until is None and not self.effects
        self.enter: Enter | None = getattr(tier, "enter", None) if may_enter else None
        self.holds_others = any(not isinstance(part, Instruction) for part in loop.body.instructions)

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
            found = None if self.enter is None else self._entered_alone(self.enter, values, watch)
            if found is not None:
                return found
            watch = None
        elif watch.counted is not None and self.enter is not None and not self.holds_others:
            found = entered_counted(
                self.enter, self.loop.key, values, self.inputs.n_steps, watch.counted, watch.own
            )
            if found is not None:
                return found
        if not self.effects:
            return self._run(values, watch)
        with running_loop(self.loop.name):
            return self._run(values, watch)

    def _entered_alone(self, enter: Enter, values: Sequence[Any], watch: Watch) -> list[Any] | None:
        """Run the loop without an arena and note the run, in a call that is told as a whole; None where it needs one."""
        try:
            found = enter(values)
        except BaseException:  # ctrl+c
            watch.ran(self.loop.key, 0, 0, 1)
            raise
        if isinstance(found, list):
            steps = int(values[self.inputs.n_steps])
            watch.runs.append((self.loop.key, 1, steps, steps, 0, -1))
            return found
        if found is not None:
            watch.ran(self.loop.key, found.step, 0, 1)
            found.reraise()
        return None

    def _run(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        if watch is None:
            if ALONE:
                return self._alone(values)
            arena, code = self._opened(values, None)
            return self._results(arena, run_plain(arena, code))
        counted = watch.counted
        if counted is None:
            return self._observed(values, watch)
        begun = perf_counter_ns() - watch.own.ns
        arena, code = self._opened(values, watch)
        return self._results(arena, run_counted(arena, code, counted, begun, watch.own))

    def _alone(self, values: Sequence[Any]) -> list[Any]:
        """Run the loop as if nobody watched, and note the run where this thread makes a call that is told as a whole."""
        watch = ALONE.get(get_ident())
        begun = 0 if watch is None or not watch.times_runs else perf_counter_ns() - watch.own.ns
        if self.enter is not None:
            found = entered(self.enter, values)
            if isinstance(found, list):
                self._note(watch, int(values[self.inputs.n_steps]), begun)
                return found
            if found is not None:
                if watch is not None:
                    watch.ran(self.loop.key, found.step, begun, 1)
                found.reraise()
        arena, code = self._opened(values, None)
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

    def _opened(self, values: Sequence[Any], watch: Watch | None) -> tuple[LoopArena, LoopCode]:
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
        arena, code = self._opened(values, watch)
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
        schedule, steps, results = self._schedule(watch), int(values[self.inputs.n_steps]), None
        key = self.loop.key
        if schedule.passed_over and steps <= schedule.most_steps and not watch.would_look_at(key):
            results = entered_passed_over(enter, key, values, steps, watch, schedule, begun)
        self.schedules.give_back(schedule)
        return results

    def _fresh_bytes(self, arena: LoopArena, plan: Plan | None) -> int:
        """Return the bytes that the steps of a run make anew, those included whose size a number among the non-sequences says."""
        if plan is None or not arena.steps:
            return 0
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
            done = run_observed(arena, code, watch, schedule, begun, self.holds_others)
        self.schedules.give_back(schedule)
        return done

    def _schedule(self, watch: Watch) -> SamplingSchedule:
        """Return where an earlier run left the schedule; a new one, which begins with a sample, for whoever did not watch then."""
        schedule, observer = self.schedules.take(), id(watch.observers[0])
        if schedule.observer not in (0, observer):
            schedule = SamplingSchedule(schedule.nested)
        schedule.observer, schedule.control = observer, watch.control
        return schedule

    def _results(self, arena: LoopArena, done: int) -> list[Any]:
        code, results = arena.code, arena.results(done, self.tier.compute)
        if self.loop.until is not None:
            self.tier.took(code, done)
        if code.keeps_buffers or not self.loop.allow_gc:
            code.buffers.give_back(arena.buffers)
        return results


def run_observed(
    arena: LoopArena,
    code: LoopCode,
    watch: Watch,
    schedule: SamplingSchedule,
    begun: int,
    holds_others: bool,
) -> int:
    """Run all steps, notifying observers of those done before an error or ctrl+c too; return the steps done.

    Parameters
    ----------
    arena, code, watch
        Of the run.
    schedule : SamplingSchedule
        Which steps have their operations timed; is moved on.
    begun : int
        When the run began, by the clock that stands still while watching takes time.
    holds_others : bool
        Whether there are loops in its step, whose watching is no part of the step's time.
    """
    schedule.plain_times, schedule.cheap_stamps = code.plain_times, code.cheap_stamps
    run = _ObservedRun(arena, watch, schedule, begun, watch.own if holds_others else None)
    watch.loop_begin(arena.loop.key, arena.steps, arena.bytes_held())
    try:
        arena.check_rows()
        for name, first, end in scheduled(arena.steps, watch.detail if code.samples else "ops", schedule):
            run.part(name, first, end)
            if run.done == arena.steps:
                break
        watch.loop_rows(arena.loop.key, arena.row_bytes())
    except BaseException as error:
        try:
            watch.loop_rows(arena.loop.key, arena.row_bytes())
        finally:
            run.end(error)
        raise
    run.end(None)
    return run.done


class _ObservedRun:
    """One run whose steps are timed.

    The run's time is that of its beginning and of the calls of its code; all else is what watching takes.
    """

    __slots__ = (
        "arena", "before", "done", "entered", "held", "inside", "own", "schedule", "spent", "wanted", "watch",
    )  # fmt: skip

    def __init__(
        self,
        arena: LoopArena,
        watch: Watch,
        schedule: SamplingSchedule,
        begun: int,
        own: OwnTime | None,
    ) -> None:
        self.entered, self.held = perf_counter_ns(), watch.own.ns
        self.before = self.entered - self.held - begun  # arguments, and the code for them
        self.arena, self.watch, self.schedule, self.own = arena, watch, schedule, own
        self.wanted = arena.steps  # fewer are done where a stop condition holds
        self.done, self.spent = 0, 0  # steps, and nanoseconds in them
        self.inside = 0  # nanoseconds in making room and in the code, with what watching takes in its steps

    def part(self, name: Variant, first: int, end: int) -> None:
        """Run a part of the schedule."""
        arena, schedule = self.arena, self.schedule
        short = name == "steps" and 0 < schedule.step_ns < SHORT_NS
        control = name == "plain"
        block = 1 if control else _block(self.watch) if short else 0
        arena.watch = self.watch.counting() if control else self.watch
        while first < end and self.done < arena.steps:  # fewer are left where the stop condition held
            begun = perf_counter_ns()
            last = arena.chunk_end(first, end)  # rows that grow are the program's work
            self.inside += perf_counter_ns() - begun
            code = arena.code  # where they grow a loop may be handed over
            variant = code.variant("plain" if block else name)  # written before the clock starts
            stamps: Stamps
            if block:
                is_timed_here = control and code.clock is perf_counter_ns
                stamps = BlockStamps(first, code.clock, control, Preemption() if is_timed_here else None)
            else:
                stamps = code.stamps(name, first, last, self.own)
            arena.record = stamps.record
            begun = perf_counter_ns()
            try:
                if isinstance(stamps, BlockStamps):
                    ends = (
                        control_ends(first, last, schedule.step_ns)
                        if control
                        else range(first + block, last + block, block)
                    )
                    first = take_blocks(arena, variant, first, last, ends, stamps)
                else:
                    first = take_steps(arena, variant, first, last)
                stamps.end()
            finally:
                self.inside += perf_counter_ns() - begun
                if control:
                    arena.watch.tell_counted()
                series = stamps.series(arena.loop, self.done)
                series.tier = code.tier_name
                self.done, self.spent = self.done + series.steps, self.spent + series.span_ns
                if series.steps:
                    if name == "ops":
                        schedule.timed_ns = (series.span_ns - series.off_cpu_ns) // series.steps
                    if name != "ops" or not schedule.step_ns:  # its stamps make short steps much longer
                        schedule.took(series.steps, series.span_ns - series.off_cpu_ns)
                    self.watch.loop_steps(series)

    def end(self, error: BaseException | None) -> None:
        """Notify the end of the run, and what watching it took."""
        watch, own, key = self.watch, self.watch.own, self.arena.loop.key
        elapsed = self.before + self.inside - (own.ns - self.held)
        watch.loop_end(key, self.done, elapsed, max(0, elapsed - self.spent), error)
        self.schedule.ran(self.wanted, elapsed)
        watch.loop_observed(key, perf_counter_ns() - self.entered - self.inside)
        own.ns += perf_counter_ns() - self.entered - self.inside  # notifying that is watching too


def _block(watch: Watch) -> int:
    """Return how many very short steps share a time, 0 where each has its own: of long steps a time each costs little."""
    block = watch.steps_a_stamp
    return block if block > 1 else 0


def take_blocks(
    arena: LoopArena, plain: CompiledLoop, first: int, last: int, ends: Iterable[int], stamps: BlockStamps
) -> int:
    """Run steps ``first`` to ``last`` with a time at each of ``ends``; return where it stopped."""
    for end in ends:
        if first >= min(last, arena.steps):
            break
        try:
            first = take_steps(arena, plain, first, min(end, last))
        except Exception:
            stamps.done = max(first, arena.failed_step)  # its steps before the error have no time
            raise
        stamps.block(first)
    return first


def control_ends(first: int, last: int, step_ns: int) -> list[int]:
    """Return where a control block is cut: after steps that warm its code up, and after one that shows what entering it takes.

    A long part that is compared with nothing is cut evenly: an interrupt loses count of the steps of one piece at most.

    Examples
    --------
    >>> control_ends(100, 140, 900), control_ends(100, 104, 900)
    ([108, 109, 140], [104])
    """
    piece = max(LONGEST_BLOCK, PIECE_NS // max(1, step_ns))
    if last - first > piece:
        return [*range(first + piece, last, piece), last]
    warm = first + WARMED
    return [warm, warm + 1, last] if last - first >= 2 * WARMED else [last]


__all__ = ["LoopRunner", "run_observed", "run_plain", "take_steps"]
