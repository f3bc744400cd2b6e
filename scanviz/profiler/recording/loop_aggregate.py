"""Aggregate the events of one loop in bounded memory.

Open runs are kept per thread.  The callers hold a lock.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from scanviz.profiler.recording.operations import OperationTally, StepTally
from scanviz.profiler.recording.overhead import Prices
from scanviz.profiler.recording.processor import ProcessorTally
from scanviz.profiler.recording.run_totals import RunTotals
from scanviz.profiler.recording.steps import StepTimes, TierTimes
from scanviz.profiler.recording.tier_steps import TierSteps
from scanviz.record.measures import aggregated, declared

if TYPE_CHECKING:
    from scanviz.engine.observation.events import Run, StepSeries
    from scanviz.profiler.recording.division import Division
    from scanviz.record.model import (
        LoopRecord,
        LoopVariableRecord,
    )

_STATES = ("mitmot", "mitsot", "sitsot")
TIERS = 16  # distinct compilations, by tier and reason


class KnownLoop(NamedTuple):
    """The identity of a loop that is not described yet."""

    key: int
    function: int
    parent: int | None
    name: str

    def record(self) -> LoopRecord:
        """Return a record with nothing but the identity."""
        from scanviz.record.model import LoopRecord

        return LoopRecord(self.key, self.function, self.parent, self.name, None)


class _OpenRun(NamedTuple):
    """An open run: its number and its begin."""

    number: int
    begun: int


class LoopAggregate:
    """Totals and samples of one loop.

    Parameters
    ----------
    what : KnownLoop or LoopRecord
        The description of the loop, or its identity until it is described.
    calibration : Prices
        The cost of stamps, subtracted from steps with timed operations.
    operations : int, optional
        Number of operations of the step with times; by default those described.
    around : LoopAggregate, optional
        The outer loop.

    Attributes
    ----------
    detailed : bool or None
        Whether single steps are kept, or only totals; None until the first run decides.
    has_loops : bool
        Whether the step contains loops.
    """

    __slots__ = (
        "_calibration",
        "_control_steps",
        "_foreign_ns",
        "_measures",
        "_open",
        "_operations",
        "_plain_ns",
        "_plain_steps",
        "_processor",
        "_row_bytes",
        "_steps",
        "_steps_by_tier",
        "_ticked_steps",
        "_ticks",
        "_tiers",
        "_times",
        "_totals",
        "_what",
        "chunks",
        "detailed",
        "has_loops",
        "operations",
        "recorder_ns",
        "stamps",
    )

    def __init__(
        self,
        what: KnownLoop | LoopRecord,
        calibration: Prices,
        operations: int | None = None,
        around: LoopAggregate | None = None,
    ) -> None:
        self._what, self._calibration = what, calibration
        self.operations = len(self.record.operations) if operations is None else operations
        self.detailed: bool | None = None
        self.has_loops = False
        self._times = StepTimes()
        # by thread, innermost last: a call made during a run nests another run in it
        self._open: dict[int, list[_OpenRun]] = {}
        self._operations = OperationTally(self.operations)
        self._steps_by_tier: TierSteps = TierSteps(
            self.operations, None if around is None else around._steps_by_tier
        )
        self._tiers: dict[tuple[str, str], list[int]] = {}
        self._totals = RunTotals()
        self._processor = ProcessorTally()
        self._row_bytes: tuple[int, ...] = ()
        self._measures: dict[str, float] = {}
        self._steps, self._control_steps = 0, 0
        self._plain_steps, self._plain_ns = 0, 0  # of them, in blocks timed as a whole
        self._ticks = self._ticked_steps = 0  # stamps of steps, each of one step or of several
        self._foreign_ns = 0.0  # cost of other clocks' stamps beyond that of the process's clock
        self.stamps, self.chunks, self.recorder_ns = 0, 0, 0

    @property
    def record(self) -> LoopRecord:
        """The description of the loop."""
        return self._what.record() if isinstance(self._what, KnownLoop) else self._what

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self._steps

    def describe(self, whole: LoopRecord, totals_alone: LoopRecord) -> None:
        """Set the description, as far as memory allows."""
        self._what = whole if self.operations or not whole.operations else totals_alone

    def begin(self, thread: int, now: int, buffer_bytes: int) -> None:
        """Open a run."""
        totals = self._totals
        self._open.setdefault(thread, []).append(_OpenRun(totals.runs, now))
        totals.runs += 1
        totals.buffer_bytes = max(totals.buffer_bytes, buffer_bytes)
        self._processor.begin(totals.runs - 1)

    def rows_held(self, row_bytes: tuple[int, ...]) -> None:
        """Add the bytes of rows at the end of a run: of each state, then of each step output."""
        before = self._row_bytes or (0,) * len(row_bytes)
        if before == row_bytes:
            return
        self._row_bytes = tuple(max(a, b) for a, b in zip(before, row_bytes, strict=True))

    def _variables(self) -> tuple[LoopVariableRecord, ...]:
        """Return the loop variables with the bytes of their rows."""
        if not self._row_bytes or not self.record.variables:
            return self.record.variables
        states = [variable for variable in self.record.variables if variable.kind in _STATES]
        outputs = [variable for variable in self.record.variables if variable.kind == "nitsot"]
        held = {
            id(variable): size for variable, size in zip([*states, *outputs], self._row_bytes, strict=False)
        }
        return tuple(
            replace(variable, row_bytes=held.get(id(variable), 0)) for variable in self.record.variables
        )

    def take(self, thread: int, series: StepSeries) -> None:
        """Add a chunk of steps to the open run of the thread."""
        self._steps += series.steps
        self._totals.longest_run = max(self._totals.longest_run, series.first + series.steps)  # so far
        self.chunks += 1
        if self._totals.clock is not series.source and not series.control:
            self._totals.take_clock(series)
        self._steps_by_tier.take(series)
        if series.control:
            self._control_steps += series.steps
            self._plain_steps += series.steps
            self._plain_ns += series.span_ns
            return
        count, a_step = len(series.interval_ns), 1 if series.op_ns is None else len(series.op_ns) + 2
        self.stamps += count * a_step
        if series.op_ns is None:
            self._ticks += count
            self._ticked_steps += series.timed_steps
        if series.stamp_ns is not None:
            self._foreign_ns += count * a_step * (series.stamp_ns - self._calibration.stamp_ns)
        if self.detailed and count:
            stack = self._open.get(thread)
            self._times.take(stack[-1].number if stack else 0, series, (a_step - 1) * self._stamp_ns())

    def _around_ns(self, division: Division | None) -> int:
        """Return the time before the first step and after the last; steps inside other code contain it."""
        if self._steps_by_tier.part_of:
            return self._totals.setup_ns
        return self._totals.around_ns(0.0 if division is None else division.typical_ns)

    def _stamp_ns(self) -> float:
        """Return the cost of a stamp: the tier's own, or the measured one of the process's clock."""
        stamp_ns = self._totals.stamp_ns
        return self._calibration.stamp_ns if stamp_ns is None else stamp_ns

    def count(self, run: Run, control: bool = False) -> None:
        """Count unobserved runs; ``control`` says whether they ran in a control block of the outer loop."""
        from scanviz.engine.observation.probe import note_overhead_ns  # imported by the engine already

        _, runs, steps, longest, failed, elapsed_ns, tier = run
        self._totals.add_unobserved(runs, failed, max(0, elapsed_ns), longest, steps, inside=bool(tier))
        self._steps += steps
        self._control_steps += steps * (control or bool(tier))
        if tier:
            self._steps_by_tier.inside(tier, steps, elapsed_ns)
        else:
            self._steps_by_tier.unobserved(steps, elapsed_ns)
            self.recorder_ns += runs * note_overhead_ns()

    def timed(self, index: int, elapsed_ns: int) -> None:
        """Add the time of one operation in a single step."""
        self._operations.add_one(index, elapsed_ns)

    def measured(self, index: int | None, name: str, value: float) -> None:
        """Add a measure of the loop, or of an operation of its step."""
        if index is None:
            aggregated(self._measures, declared("loop", name), value)
        else:
            self._operations.measured(index, name, value)

    def end(self, thread: int, steps: int, elapsed_ns: int, setup_ns: int, failed: bool) -> None:
        """Close the innermost open run of the thread."""
        if known := self.open_runs(thread) > 0:
            number = self._close(thread).number
            self._processor.end(number)
            if number == 0:
                self._totals.first_run_ns = elapsed_ns
        self._totals.add_ended(steps, elapsed_ns, setup_ns, known and failed)

    def _close(self, thread: int) -> _OpenRun:
        run = self._open[thread].pop()
        if not self._open[thread]:
            del self._open[thread]
        return run

    def open_runs(self, thread: int) -> int:
        """Return the number of open runs of a thread: more than one if a call was made during a run."""
        return len(self._open.get(thread, ()))

    def abandon(self, thread: int, kept: int, now: int) -> None:
        """Close the open runs of a thread, except the first ``kept``: an error ended them."""
        while self.open_runs(thread) > kept:
            run = self._close(thread)
            self._processor.drop(run.number)
            self._totals.failed_runs += 1
            self._totals.total_ns += max(0, now - run.begun)

    def made(self, tier: str, why: str, elapsed_ns: int) -> None:
        """Add a compilation of the loop."""
        self._steps_by_tier.made(tier)
        key = (tier, why)
        if key not in self._tiers and len(self._tiers) >= TIERS:
            key = (tier, "for other reasons")
        found = self._tiers.setdefault(key, [0, 0])
        found[0] += 1
        found[1] += elapsed_ns

    def cost_ns(self, division: Division | None) -> float:
        """Return the cost of the stamps so far, which the loop's time includes, at the prices measured in the loop itself."""
        if not self.stamps:
            return 0.0
        if division is None:
            return self.stamps * self._calibration.stamp_ns + self._foreign_ns
        timed_steps = (self.stamps - self._ticks) / (len(division.operations) + 2)
        return self._ticked_steps * division.tick_ns + timed_steps * division.timing_ns

    def snapshot(self, now: int) -> LoopRecord:
        """Return the record so far; open runs count up to now."""
        self._times.count_gathered()
        from scanviz.record.loops import INSIDE, TierRecord

        totals, tier = self._totals, self._steps_by_tier.usual
        divisions = self._divisions()
        division = divisions.get(tier)
        around, means = self._around_ns(division), self._means(divisions)
        parts, going_on = self._steps_by_tier.parts, [run for stack in self._open.values() for run in stack]
        running = sum(max(0, now - run.begun) for run in going_on)
        tick, inside = division.tick_ns if division is not None else 0.0, self._steps_by_tier.inside_times()
        made = [TierRecord(*key, *found) for key, found in self._tiers.items()]
        if self._steps_by_tier.part_of and all(code.tier != tier for code in made):
            made.append(TierRecord(tier, INSIDE, 1, 0))
        return replace(
            self.record,
            operations=self._steps_by_tier.operation_records(
                self._operations.records(self.record.operations), division, means
            ),
            variables=self._variables(),
            runs=totals.runs,
            failed_runs=totals.failed_runs,
            running=len(going_on),
            steps=self._steps,
            longest_run=totals.longest_run,
            total_ns=totals.total_ns + running,
            setup_ns=around,
            first_run_ns=totals.first_run_ns,
            step_times=self._times.record(division, tier, inside),
            sampled_steps=parts.steps,
            disturbed_steps=parts.disturbed,
            control_steps=self._control_steps,
            body_ns=math.fsum(division.operations) if division is not None else 0.0,
            copy_ns=division.copies if division is not None else 0.0,
            overhead_ns=division.rest if division is not None else 0.0,
            cost_ns=self.cost_ns(division),
            watching_ns=self.recorder_ns,
            buffer_bytes=totals.buffer_bytes,
            clock=totals.clock,
            resolution_ns=totals.resolution_ns,
            stamp_ns=division.stamp_ns if division is not None else self._stamp_ns() if totals.clock else 0.0,
            tick_ns=tick,
            in_place=division is not None and division.in_place,
            blocks=self._times.block_count + bool(inside.count),
            block_steps=self._times.block_steps + inside.count,
            tiers=tuple(made),
            series_stride=self._times.sample.stride,
            series=self._times.rows(tick),
            measures=self._measures
            | self._processor.measures(totals.total_ns + running)
            | self._times.measures(division, tier, inside)
            | self._plain_measures()
            | self._steps_by_tier.slow_measures()
            | self._steps_by_tier.others_measures(self._times.tiers)
            | _mean_measures(means),
            series_covers=self._times.sample.covers(),
        )

    def _plain_measures(self) -> dict[str, float]:
        if not self._plain_steps:
            return {}
        return {"plain_steps": float(self._plain_steps), "plain_ns": float(self._plain_ns)}

    def _divisions(self) -> dict[str, Division]:
        """Return the division of each tier's steps, if enough of them were timed."""
        if len(self.record.operations) != self.operations:  # not described yet
            return {}
        from scanviz.profiler.recording.division import divided

        nested = [self.has_loops and operation.kind != "operation" for operation in self.record.operations]
        found = {}
        for tier, tally in self._steps_by_tier.by_tier.items():
            times = self._times.tiers.get(tier) or TierTimes()
            inside = [self._inside_ns(tally, operation.loop) for operation in self.record.operations]
            division = divided(tally, times.single, times.fine_blocks, self._stamp_ns(), nested, inside)
            if division is not None:
                found[tier] = division
        return found

    def _means(self, divisions: dict[str, Division]) -> tuple[float, ...]:
        """Return the mean of each part of a step over all steps."""
        totals = self._totals
        around = self._around_ns(divisions.get(self._steps_by_tier.usual)) - totals.setup_ns
        return self._steps_by_tier.means(
            divisions, totals.unobserved_steps, max(0, totals.unobserved_ns - around)
        )

    def _inside_ns(self, tally: StepTally, loop: int | None) -> float | None:
        """Return the time of an inner loop in a plain step, if its runs were timed there."""
        return None if loop is None else tally.inside_ns(loop)


def _mean_measures(means: tuple[float, ...]) -> dict[str, float]:
    if not means:
        return {}
    *_, copies, rest = means
    return {"mean_step_ns": math.fsum(means), "mean_copy_ns": copies, "mean_overhead_ns": rest}
