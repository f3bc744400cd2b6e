"""Runs of a loop whose steps are timed, as a sampling schedule says: imported when somebody watches."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter_ns
from typing import TYPE_CHECKING

from scanviz.engine.observation.levels import RUNS, ProbeLevel
from scanviz.engine.observation.preemption import Preemption
from scanviz.engine.observation.stamps import BlockStamps, Stamps
from scanviz.engine.observation.step_sampler import LONGEST_BLOCK, NOTIFY_NS, StepSampler, Variant, scheduled
from scanviz.engine.runtime.calling import take_steps

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.calling import LoopCode, RunSteps

SHORT_NS = 5_000  # steps shorter than that share a time where observers allow it
TOLD_NS = 500_000  # steps of a loop without loops inside are told when so many nanoseconds of them were taken
WARMED = 8  # steps of a control block that are not compared: their code is cold


def run_observed(
    arena: LoopArena,
    code: LoopCode,
    probe: Probe,
    schedule: StepSampler,
    begun: int,
    holds_others: bool,
) -> int:
    """Run all steps, notifying observers of those done before an error or ctrl+c too; return the steps done.

    Parameters
    ----------
    arena, code, probe
        Of the run.
    schedule : StepSampler
        Which steps have their operations timed; is moved on.
    begun : int
        When the run began, by the clock that stands still while watching takes time.
    holds_others : bool
        Whether there are loops in its step, whose watching is no part of the step's time.
    """
    run = _ObservedRun(arena, probe, schedule, begun, probe.own if holds_others else None)
    # asking makes the code that notes times, which is no part of the run: its beginning ends before
    schedule.plain_times, schedule.cheap_stamps = code.plain_times, code.cheap_stamps
    schedule.runs_on(code.tier_name)
    probe.loop_begin(arena.loop.key, arena.steps, arena.bytes_held())
    try:
        arena.check_rows()
        for name, first, end in scheduled(
            arena.steps, probe.level is ProbeLevel.STEPS and code.samples, schedule
        ):
            run.part(name, first, end)
            if run.done == arena.steps:
                break
        run.tell()
        probe.loop_rows(arena.loop.key, arena.row_bytes())
    except BaseException as error:
        try:
            run.tell()
            probe.loop_rows(arena.loop.key, arena.row_bytes())
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
        "arena", "before", "done", "entered", "held", "inside", "own", "probe", "schedule", "spent", "untold", "untold_ns",
        "wanted",
    )  # fmt: skip

    def __init__(
        self,
        arena: LoopArena,
        probe: Probe,
        schedule: StepSampler,
        begun: int,
        own: ObserverOverhead | None,
    ) -> None:
        self.entered, self.held = perf_counter_ns(), probe.own.ns
        self.before = self.entered - self.held - begun  # arguments, and the code for them
        self.arena, self.probe, self.schedule, self.own = arena, probe, schedule, own
        self.wanted = arena.steps  # fewer are done where a stop condition holds
        self.done, self.spent = 0, 0  # steps, and nanoseconds in them
        self.inside = 0  # nanoseconds in making room and in the code, with what watching takes in its steps
        self.untold: list[
            StepSeries
        ] = []  # short chunks: telling them one by one leaves cold caches for the steps that follow
        self.untold_ns = 0

    def part(self, name: Variant, first: int, end: int) -> None:
        """Run a part of the schedule."""
        arena, schedule = self.arena, self.schedule
        short = name == "steps" and 0 < schedule.step_ns < SHORT_NS and not schedule.plain_times
        control = name == "plain"
        block = 1 if control else _block(self.probe) if short else 0
        probe, level = self.probe, self.probe.level
        while first < end and self.done < arena.steps:  # fewer are left where the stop condition held
            begun = perf_counter_ns()
            last = arena.chunk_end(first, end)  # rows that grow are the program's work
            self.inside += perf_counter_ns() - begun
            code = arena.code  # where they grow a loop may be handed over
            variant = code.variant("plain" if block else name)  # written before the clock starts
            stamps: Stamps
            if block:
                is_timed_here = control and code.clock is perf_counter_ns
                clock = code.clock if self.own is None else self.own.clock(code.clock)
                stamps = BlockStamps(first, clock, control, Preemption() if is_timed_here else None)
            else:
                stamps = code.stamps(name, first, last, self.own)
            arena.record = stamps.record
            begun = perf_counter_ns()
            if control:
                probe.level = RUNS
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
                probe.level = level
                series = stamps.series(arena.loop, self.done)
                series.tier = code.tier_name
                if probe.runs:
                    if control:
                        series.inside_ns = probe.noted_ns()
                    probe.notify_runs(control)
                self.done, self.spent = self.done + series.steps, self.spent + series.span_ns
                if series.steps:
                    if name == "ops":
                        schedule.timed_ns = (series.span_ns - series.off_cpu_ns) // series.steps
                    if name != "ops" or not schedule.step_ns:  # its stamps make short steps much longer
                        schedule.took(series.steps, series.span_ns - series.off_cpu_ns)
                    self.untold.append(series)
                    self.untold_ns += series.span_ns
                    if self.own is not None or self.untold_ns >= TOLD_NS:
                        self.tell()

    def tell(self) -> None:
        """Tell the chunks that nobody has been told of."""
        told, self.untold, self.untold_ns = self.untold, [], 0
        for series in told:
            self.probe.loop_steps(series)

    def end(self, error: BaseException | None) -> None:
        """Notify the end of the run, and what watching it took."""
        probe, own, key = self.probe, self.probe.own, self.arena.loop.key
        elapsed = self.before + self.inside - (own.ns - self.held)
        probe.loop_end(key, self.done, elapsed, max(0, elapsed - self.spent), error)
        self.schedule.ran(self.wanted, elapsed)
        probe.loop_observed(key, perf_counter_ns() - self.entered - self.inside)
        own.ns += perf_counter_ns() - self.entered - self.inside  # notifying that is watching too


def _block(probe: Probe) -> int:
    """Return how many very short steps share a time, 0 where each has its own: of long steps a time each costs little."""
    block = probe.steps_a_stamp
    return block if block > 1 else 0


def take_blocks(
    arena: LoopArena, plain: RunSteps, first: int, last: int, ends: Iterable[int], stamps: BlockStamps
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
    piece = max(LONGEST_BLOCK, NOTIFY_NS // max(1, step_ns))
    if last - first > piece:
        return [*range(first + piece, last, piece), last]
    warm = first + WARMED
    return [warm, warm + 1, last] if last - first >= 2 * WARMED else [last]
