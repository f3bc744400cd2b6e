"""Runs of a loop whose steps get no times: nobody watches, or they are only counted, with their steps and their whole time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.runtime.outcome import FAILED, FailedRun

if TYPE_CHECKING:
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.calling import CompiledLoop, LoopCode
    from scanviz.engine.runtime.events import Watch
    from scanviz.engine.runtime.own_time import OwnTime
    from scanviz.engine.runtime.schedule import SamplingSchedule
    from scanviz.engine.told import CountedRuns

# ``enter(values)``: the loop's results, or how it failed; None where it needs an arena
Enter = Callable[[Sequence[Any]], "list[Any] | FailedRun | None"]


def entered(enter: Enter, values: Sequence[Any]) -> list[Any] | FailedRun | None:
    """Run a loop without an arena, where that can be; ctrl+c is an error like others, for a run that it ended is told."""
    try:
        return enter(values)
    except BaseException as error:
        return FailedRun(0, error, error.__cause__)


def entered_counted(
    enter: Enter, key: int, values: Sequence[Any], n_steps: int, counted: dict[int, CountedRuns], own: OwnTime
) -> list[Any] | None:
    """Run a loop so and count the run; None where it needs an arena.  How many steps it has is the value at ``n_steps``.

    Much of what runs of loops in steps take is this, so it calls as little as can be, and of many runs that are alike most have
    no time.
    """
    given, runs = values[n_steps], counted.get(key)
    if runs is None:
        from scanviz.engine.told import CountedRuns  # when somebody watches

        runs = counted[key] = CountedRuns()
    if runs.alike and given is runs.given:
        runs.alike -= 1
        try:
            found = enter(values)
        except BaseException as error:  # ctrl+c
            found = FailedRun(0, error, error.__cause__)
        if type(found) is list:
            return found
        runs.alike += 1
        elapsed = 0
    else:
        before, begun = own.ns, perf_counter_ns()
        try:
            found = enter(values)
        except BaseException as error:  # ctrl+c
            found = FailedRun(0, error, error.__cause__)
        elapsed = perf_counter_ns() - begun - (own.ns - before)
        if type(found) is list:
            runs.note(given, elapsed)
            return found
    if isinstance(found, FailedRun):
        runs.add(found.step, elapsed, True)
        found.reraise()
    return None


def entered_passed_over(
    enter: Enter,
    key: int,
    values: Sequence[Any],
    steps: int,
    watch: Watch,
    schedule: SamplingSchedule,
    begun: int,
) -> list[Any] | None:
    """Run a loop without an arena, one of many short runs, and notify it as others are; None where it needs an arena."""
    found = entered(enter, values)
    if found is None:
        return None
    if isinstance(found, FailedRun):
        watch.loop_begin(key, steps, 0)
        _tell_failed(watch, key, found.step, begun, found.tier, found.error)
        found.reraise()
    _tell_unseen(watch, key, steps, begun, schedule)
    return found


def run_plain(arena: LoopArena, code: LoopCode) -> int:
    """Run all steps by the variant without stamps; return the steps done."""
    arena.check_rows()
    done, plain = 0, code.variant("plain")
    while done < arena.steps:
        last = arena.chunk_end(done, arena.steps)
        if arena.code is not code:  # the loop was handed over
            code = arena.code
            plain = code.variant("plain")
        done = take_steps(arena, plain, done, last)
    return done


def run_counted(
    arena: LoopArena, code: LoopCode, counted: dict[int, CountedRuns], begun: int, own: OwnTime
) -> int:
    """Run all steps as if nobody watched, but count the run; return the steps done.

    ``begun`` is when the run began, by the clock that stands still while watching takes time: rows that grow are notified.
    """
    runs = counted.get(arena.loop.key)
    if runs is None:
        from scanviz.engine.told import CountedRuns  # when somebody watches

        runs = counted[arena.loop.key] = CountedRuns()
    try:
        done = run_plain(arena, code)
    except BaseException:
        runs.add(max(arena.failed_step, 0), perf_counter_ns() - own.ns - begun, True)
        raise
    runs.add(done, perf_counter_ns() - own.ns - begun, False)
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


def run_passed_over(
    arena: LoopArena,
    code: LoopCode,
    watch: Watch,
    schedule: SamplingSchedule,
    begun: int,
    holds_others: bool,
) -> int:
    """Run all steps of one of many short runs by the variant without stamps; return the steps done.

    Such runs are counted with their steps and their whole time, and so are those of loops in its step.  A run that an error ends
    is notified like others.
    """
    counting = watch.counting() if holds_others else None
    arena.watch = counting or watch
    try:
        done = run_plain(arena, code)
    except BaseException as error:
        watch.loop_begin(arena.loop.key, arena.steps, arena.bytes_held())
        if counting is not None:
            counting.tell_counted()
        _tell_failed(watch, arena.loop.key, max(0, arena.failed_step), begun, code.tier_name, error)
        raise
    _tell_unseen(watch, arena.loop.key, done, begun, schedule, counting)
    return done


def _tell_failed(watch: Watch, key: int, done: int, begun: int, tier: str, error: BaseException) -> None:
    if done:
        from scanviz.engine.told import StepSeries

        watch.loop_steps(StepSeries(key, 0, np.zeros(0, np.int64), steps=done, span_ns=0, tier=tier))
    elapsed = watch.now() - begun
    watch.loop_end(key, done, elapsed, elapsed, error)


def _tell_unseen(
    watch: Watch, key: int, done: int, begun: int, schedule: SamplingSchedule, counting: Watch | None = None
) -> None:
    ended, own = perf_counter_ns(), watch.own
    elapsed = ended - own.ns - begun
    if counting is not None:
        counting.tell_counted()
    schedule.ran_unseen(elapsed)
    watch.loop_run(key, done, elapsed, schedule.own_ns)
    schedule.own_ns = perf_counter_ns() - ended
    own.ns += schedule.own_ns
