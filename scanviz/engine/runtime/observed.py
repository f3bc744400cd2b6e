"""Run a loop and time its steps, part by part of a sampling schedule; imported at the first observed call."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter_ns
from typing import TYPE_CHECKING

from scanviz.engine.observation.levels import RUNS, ProbeLevel
from scanviz.engine.observation.sampling import NOTIFY_NS, StepSampler, Variant, scheduled
from scanviz.engine.observation.stamps import BlockStamps, Preemption, Stamps
from scanviz.engine.runtime.calling import take_steps

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.calling import LoopCode, RunSteps

SHORT_NS = 5_000  # shorter steps may share a time if observers allow it
GATHERED_NS = 500_000  # time of steps gathered before observers are notified, unless there are inner loops
LONGEST_BLOCK = 512  # least steps of an interval of a control block
WARMED = 8  # first steps of a control block, which are not compared: their code is cold


def run_observed(
    arena: LoopArena, code: LoopCode, probe: Probe, schedule: StepSampler, begun: int, holds_others: bool
) -> int:
    """Run all steps and return their number; observers are notified of the steps before an error or ctrl+c too.

    Parameters
    ----------
    arena, code, probe
        Those of the run.
    schedule : StepSampler
        Chooses the variant of each part.
    begun : int
        Begin of the run, by the probe's clock.
    holds_others : bool
        Whether there are inner loops, whose observer overhead is excluded from the steps.
    """
    run = _ObservedRun(arena, probe, schedule, begun, holds_others)
    # may write the code that takes times: before the run begins
    schedule.plain_times = code.plain_times
    schedule.runs_on(code.tier_name)
    probe.loop_begin(arena.loop.key, arena.steps, arena.bytes_held())
    failed: BaseException | None = None
    try:
        try:
            arena.check_rows()
            samples = probe.level is ProbeLevel.STEPS and code.samples
            parts = scheduled(arena.steps, samples, schedule)
            if code.takes_whole_runs:
                parts = iter([("ops", 0, arena.steps)])
            for name, first, end in parts:
                run.part(name, first, end)
                if run.done == arena.steps:
                    break
        finally:
            run.notify_steps()
            probe.loop_rows(arena.loop.key, arena.row_bytes())
    except BaseException as error:
        failed = error
        raise
    finally:
        run.end(failed)
    return run.done


class _ObservedRun:
    """A run with timed steps.

    Its time is that of its begin and of the calls of its code; the rest is observer overhead.
    """

    def __init__(
        self, arena: LoopArena, probe: Probe, schedule: StepSampler, begun: int, inner: bool
    ) -> None:
        self.entered, self.held = perf_counter_ns(), probe.own.ns
        self.before = self.entered - self.held - begun  # arguments, and the code for them
        self.arena, self.probe, self.schedule, self.own = arena, probe, schedule, probe.own if inner else None
        self.wanted = arena.steps  # fewer are done if a stop condition holds
        self.done, self.spent = 0, 0  # steps, and their nanoseconds
        self.inside = 0  # nanoseconds of making room and of the code, with observer overhead of inner loops
        # short chunks: notifying of each at once leaves cold caches for the next steps
        self.gathered: list[StepSeries] = []
        self.gathered_ns = 0

    def part(self, name: Variant, first: int, end: int) -> None:
        """Run a part of the schedule."""
        arena, schedule = self.arena, self.schedule
        shares_times = name == "steps" and 0 < schedule.step_ns < SHORT_NS and not schedule.plain_times
        block = self.probe.steps_a_stamp if shares_times else 1
        while first < end and self.done < arena.steps:  # fewer are left if a stop condition held
            begun = perf_counter_ns()
            last = arena.chunk_end(first, end)  # growing rows is the program's work
            self.inside += perf_counter_ns() - begun
            code = arena.code  # may change when rows grow
            in_blocks = name == "plain" or block > 1
            variant = code.variant("plain" if in_blocks else name)  # written before the clock starts
            if in_blocks:
                first = self._blocks(code, variant, first, last, 0 if name == "plain" else block)
            else:
                first = self._steps(code, name, variant, first, last)

    def _steps(self, code: LoopCode, name: Variant, variant: RunSteps, first: int, last: int) -> int:
        """Run steps by code that takes the times; return the number of steps done."""
        arena, stamps = self.arena, code.stamps(name, first, last, self.own)
        arena.record = stamps.record
        begun = perf_counter_ns()
        try:
            first = take_steps(arena, variant, first, last)
            stamps.end()
        finally:
            self.inside += perf_counter_ns() - begun
            self._add(code, stamps, timed=name == "ops")
        return first

    def _blocks(self, code: LoopCode, plain: RunSteps, first: int, last: int, block: int) -> int:
        """Run plain steps with one time per block, or a control block if ``block`` is 0; return the number of steps done."""
        arena, probe, level, is_control = self.arena, self.probe, self.probe.level, not block
        clock = code.clock if self.own is None else self.own.clock(code.clock)
        lost = Preemption() if is_control and code.clock is perf_counter_ns else None
        stamps, arena.record = BlockStamps(first, clock, is_control, lost), None
        ends: Iterable[int] = range(first + block, last + block, block or 1)
        if is_control:
            ends, probe.level = control_ends(first, last, self.schedule.step_ns), RUNS
        begun = perf_counter_ns()
        try:
            for end in ends:
                if first >= min(last, arena.steps):
                    break
                try:
                    first = take_steps(arena, plain, first, min(end, last))
                except Exception:
                    stamps.done = max(first, arena.failed_step)  # its steps before the error have no time
                    raise
                stamps.block(first)
        finally:
            self.inside += perf_counter_ns() - begun
            probe.level = level
            self._add(code, stamps, is_control=is_control)
        return first

    def _add(self, code: LoopCode, stamps: Stamps, timed: bool = False, is_control: bool = False) -> None:
        """Gather the times of a chunk, and notify observers of the runs of inner loops counted in it."""
        probe, schedule = self.probe, self.schedule
        series = stamps.series(self.arena.loop, self.done)
        series.tier = code.tier_name
        if probe.runs:
            if is_control:
                series.inside_ns = probe.noted_ns()
            probe.notify_runs(is_control)
        self.done, self.spent = self.done + series.steps, self.spent + series.span_ns
        if not series.steps:
            return
        span_ns = series.span_ns - series.off_cpu_ns
        if timed:
            schedule.timed_ns = span_ns // series.steps
        if not timed or not schedule.step_ns:  # stamps make short steps much longer
            schedule.took(series.steps, span_ns)
        self.gathered.append(series)
        self.gathered_ns += series.span_ns
        if self.own is not None or self.gathered_ns >= GATHERED_NS:
            self.notify_steps()

    def notify_steps(self) -> None:
        """Notify observers of the gathered chunks."""
        gathered, self.gathered, self.gathered_ns = self.gathered, [], 0
        for series in gathered:
            for observer in self.probe.observers:
                observer.loop_steps(series)

    def end(self, error: BaseException | None) -> None:
        """Notify the end of the run, and its observer overhead."""
        probe, own, key = self.probe, self.probe.own, self.arena.loop.key
        elapsed = self.before + self.inside - (own.ns - self.held)
        probe.loop_end(key, self.done, elapsed, max(0, elapsed - self.spent), error)
        self.schedule.ran(self.wanted, elapsed)
        observing = perf_counter_ns() - self.entered - self.inside
        for observer in probe.observers:
            observer.loop_observed(probe.function, key, observing)
        own.ns += perf_counter_ns() - self.entered - self.inside  # including this notification


def control_ends(first: int, last: int, step_ns: int) -> list[int]:
    """Return the ends of the intervals of a control block: after warm-up steps, after a step that shows the time of entering, last.

    A long block is cut evenly: an interrupt loses count of the steps of one interval at most.

    Examples
    --------
    >>> control_ends(100, 140, 900), control_ends(100, 104, 900)
    ([108, 109, 140], [104])
    """
    longest = max(LONGEST_BLOCK, NOTIFY_NS // max(1, step_ns))
    if last - first > longest:
        return [*range(first + longest, last, longest), last]
    warm = first + WARMED
    return [warm, warm + 1, last] if last - first >= 2 * WARMED else [last]
