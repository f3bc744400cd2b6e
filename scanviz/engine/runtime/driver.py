"""Running a loop, whatever its code is: steps in chunks where rows grow, observers are notified or ctrl+c must be heard."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from scanviz.engine.ops.current_step import running_loop
from scanviz.engine.program.effects import has_effects
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.program.plan import Plan
from scanviz.engine.runtime.arena import LoopArena, LoopInputs
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.calling import FAILED, CompiledLoop, LoopCode, LoopTier
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.pool import Pool
from scanviz.engine.runtime.schedule import SamplingSchedule, scheduled
from scanviz.engine.runtime.stamps import BlockStamps

SHORT_NS = 5_000  # steps shorter than that share a time where observers allow it
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

    __slots__ = ("effects", "inputs", "loop", "schedules", "tier")

    def __init__(self, loop: LoopInstruction, tier: LoopTier, module: ArrayModule) -> None:
        self.loop, self.tier, self.inputs = loop, tier, LoopInputs(loop, module)
        self.schedules = Pool(SamplingSchedule, THREADS)
        self.effects = has_effects(loop.body)

    def take_plan(self, made: Plan) -> None:
        """Take the plan that was made with that of the loop around this one."""
        self.tier.take_plan(made)

    def __call__(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Run the loop for the values of its instruction's inputs and return its results."""
        if not self.effects:
            return self._run(values, watch)
        with running_loop(self.loop.name):
            return self._run(values, watch)

    def _run(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        begun = perf_counter_ns() if watch is not None else 0
        arena = LoopArena(self.inputs, values, watch)
        code = self.tier.code_for(arena.shapes, arena.states, watch)
        arena.open(code.plan, code.buffers.take(), code.steps_at_once)
        if watch is None:
            done = run_plain(arena, code)
        else:
            schedule = self.schedules.take()
            done = run_observed(arena, code, watch, schedule, begun)
            self.schedules.give_back(schedule)
        results = arena.results(done, self.tier.compute)
        if not self.loop.allow_gc:
            code.buffers.give_back(arena.buffers)
        return results


def run_plain(arena: LoopArena, code: LoopCode) -> int:
    """Run all steps by the variant without stamps; return the steps done."""
    arena.check_rows()
    done, plain = 0, code.variant("plain")
    while done < arena.steps:
        done = take_steps(arena, plain, done, arena.chunk_end(done, arena.steps))
    return done


def take_steps(arena: LoopArena, code: CompiledLoop, first: int, last: int) -> int:
    """Run steps ``first`` to ``last`` and return where it stopped; a stop condition that held ends the loop.

    Raises
    ------
    ScanvizError
        If an instruction failed: in the user's words.
    """
    done, outcome, instruction = code(arena, first, last)
    if outcome:
        if outcome == FAILED:
            arena.failed_step = done
            error = arena.in_words(done, instruction)
            raise error from (None if arena.error is None else arena.error.__cause__)
        arena.steps = done
    return done


def run_observed(
    arena: LoopArena, code: LoopCode, watch: Watch, schedule: SamplingSchedule, begun: int
) -> int:
    """Run all steps, notifying observers of those done before an error or ctrl+c too; return the steps done.

    Parameters
    ----------
    arena, code, watch
        Of the run.
    schedule : SamplingSchedule
        Which steps have their operations timed; is moved on.
    begun : int
        When the run began, on the clock of the process.
    """
    done, spent, key = 0, 0, arena.loop.key
    watch.loop_begin(key, arena.steps, arena.bytes_held())
    try:
        arena.check_rows()
        for name, first, end in scheduled(arena.steps, watch.detail if code.samples else "ops", schedule):
            short = name == "steps" and 0 < schedule.step_ns < SHORT_NS
            block = _block(watch) if short else 0
            while first < end and done < arena.steps:  # fewer are left where the stop condition held
                last = arena.chunk_end(first, end)
                variant = code.variant("plain" if block else name)  # written before the clock starts
                stamps = BlockStamps(first, code.clock) if block else code.stamps(name, first, last)
                arena.record = stamps.record
                try:
                    if isinstance(stamps, BlockStamps):
                        first = take_blocks(arena, variant, first, last, block, stamps)
                    else:
                        first = take_steps(arena, variant, first, last)
                    stamps.end()
                finally:
                    series = stamps.series(arena.loop, done)
                    done, spent = done + series.steps, spent + series.span_ns
                    if series.steps:
                        schedule.step_ns = series.span_ns // series.steps
                        watch.loop_steps(series)
            if done == arena.steps:
                break
        watch.loop_rows(key, arena.row_bytes())
    except BaseException as error:
        try:
            watch.loop_rows(key, arena.row_bytes())
        finally:
            _notify_end(watch, key, done, begun, spent, error)
        raise
    _notify_end(watch, key, done, begun, spent, None)
    return done


def _block(watch: Watch) -> int:
    """Return how many very short steps share a time, 0 where each has its own: of long steps a time each costs little."""
    block = watch.steps_a_stamp
    return block if block > 1 else 0


def take_blocks(
    arena: LoopArena, plain: CompiledLoop, first: int, last: int, block: int, stamps: BlockStamps
) -> int:
    """Run steps ``first`` to ``last`` with a time every ``block`` of them; return where it stopped."""
    while first < last and first < arena.steps:
        try:
            first = take_steps(arena, plain, first, min(first + block, last))
        except Exception:
            stamps.done = max(first, arena.failed_step)  # its steps before the error have no time
            raise
        stamps.block(first)
    return first


def _notify_end(
    watch: Watch, key: int, done: int, begun: int, spent: int, error: BaseException | None
) -> None:
    elapsed = perf_counter_ns() - begun
    watch.loop_end(key, done, elapsed, max(0, elapsed - spent), error)


__all__ = ["LoopRunner", "run_observed", "run_plain", "take_steps"]
