"""Aggregate the events of one loop in bounded memory.

Open runs are kept per thread.  The callers hold a lock.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

from msgspec.structs import replace

from scanviz.engine.observation.events import Run, StepSeries
from scanviz.engine.observation.probe import note_overhead_ns
from scanviz.profiler.recording.division import Division, divided
from scanviz.profiler.recording.operations import OperationTally
from scanviz.profiler.recording.overhead import Calibration
from scanviz.profiler.recording.processor import ProcessorTally
from scanviz.profiler.recording.steps import StepTimes
from scanviz.record.loops import INSIDE, TierRecord
from scanviz.record.measures import aggregated, declared
from scanviz.record.model import LoopRecord, LoopVariableRecord
from scanviz.record.statistics import median_of

_ROWS = ("mitmot", "mitsot", "sitsot", "nitsot")
TIERS = 16  # distinct compilations, by tier and reason
RECENT_RUNS = 256  # latest runs whose time around their steps is kept


class RunTotals:
    """Totals of the runs of a loop.

    Attributes
    ----------
    runs, failed_runs : int
        All runs, and the failed ones among them.
    unobserved_steps : int
        Steps of unobserved runs.
    entered_runs, entered_steps, entered_ns : int
        Unobserved runs that are not part of the outer loop's code, with their steps and time.
    longest_run : int
        Steps of the longest run.
    total_ns, unobserved_ns, setup_ns, first_run_ns : int
        Time of all runs, of unobserved runs, around the steps of observed runs, and of the first run.
    buffer_bytes : int
        Largest buffer size of a run.
    """

    def __init__(self) -> None:
        self.runs = self.failed_runs = self.entered_runs = self.entered_steps = self.entered_ns = 0
        self.longest_run = self.buffer_bytes = self.unobserved_steps = 0
        self.total_ns = self.unobserved_ns = self.setup_ns = self.first_run_ns = 0
        self.setups: deque[int] = deque(maxlen=RECENT_RUNS)

    def add_unobserved(self, run: Run) -> None:
        """Count unobserved runs; those inside the outer loop's machine code are not entered."""
        _, runs, steps, longest, failed, ns, tier = run
        elapsed_ns = max(0, ns)
        self.runs += runs
        self.unobserved_steps += steps
        if not tier:
            self.entered_runs += runs
            self.entered_steps += steps
            self.entered_ns += elapsed_ns
        self.failed_runs += failed
        self.total_ns += elapsed_ns
        self.unobserved_ns += elapsed_ns
        self.longest_run = max(self.longest_run, longest)

    def add_ended(self, steps: int, elapsed_ns: int, setup_ns: int, failed: bool) -> None:
        """Add the time of a run, which was counted at its begin."""
        self.total_ns += elapsed_ns
        self.setup_ns += setup_ns
        self.setups.append(setup_ns)
        self.longest_run = max(self.longest_run, steps)
        self.failed_runs += failed

    def around_ns(self, step_ns: float) -> int:
        """Return the time before the first step and after the last; an unobserved run counts the typical time of the others.

        The time of unobserved runs is at most what their steps of ``step_ns`` leave: an unobserved run is entered in a tenth of
        the time.
        """
        typical = float(median_of(self.setups)) if self.setups else 0.0
        left = max(0.0, self.entered_ns - step_ns * self.entered_steps)
        return self.setup_ns + round(min(typical * self.entered_runs, left))


class _OpenRun(NamedTuple):
    """An open run: its number and its begin."""

    number: int
    begun: int


class LoopAggregate:
    """Totals and samples of one loop.

    Parameters
    ----------
    record : LoopRecord
        The description of the loop; until it is described, only its keys and its name.
    calibration : callable
        Returns the cost of a stamp, subtracted from steps with timed operations.
    operations : int, optional
        Number of operations of the step with times; by default those described.
    around : LoopAggregate, optional
        The outer loop.

    Attributes
    ----------
    tally : OperationTally
        Times of its operations one by one.
    detailed : bool or None
        Whether single steps are kept, or only totals; None until the first run decides.
    """

    def __init__(
        self,
        record: LoopRecord,
        calibration: Calibration,
        operations: int | None = None,
        around: LoopAggregate | None = None,
    ) -> None:
        self.record, self._calibration = record, calibration
        self.operations = len(record.operations) if operations is None else operations
        self.detailed: bool | None = None
        self._times: StepTimes = StepTimes(self.operations, None if around is None else around._times)
        # by thread, innermost last: a call made during a run nests another run in it
        self._open: dict[int, list[_OpenRun]] = {}
        self.tally = OperationTally(self.operations)
        self._tiers: dict[tuple[str, str], list[int]] = {}
        self._totals = RunTotals()
        self._processor = ProcessorTally()
        self._row_bytes: tuple[int, ...] = ()
        self._measures: dict[str, float] = {}
        self._steps = self._control_steps = 0
        self._clock: tuple[str, float, float | None] = (
            "",
            0.0,
            None,
        )  # source, resolution and cost of stamps
        self.stamps = self.chunks = self.recorder_ns = 0

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self._steps

    def describe(self, record: LoopRecord) -> None:
        """Set the description, as far as memory allows: without that of the step where its operations have no times."""
        is_whole = self.operations or not record.operations
        self.record = record if is_whole else totals_only(record)

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
        """Return the loop variables with the bytes of their rows: of each state, then of each step output."""
        variables = self.record.variables
        rows = sorted((one for one in variables if one.kind in _ROWS), key=lambda one: one.kind == "nitsot")
        held = {id(one): size for one, size in zip(rows, self._row_bytes, strict=False)}
        return tuple(replace(one, row_bytes=held.get(id(one), 0)) for one in variables)

    def take(self, thread: int, series: StepSeries) -> None:
        """Add a chunk of steps to the open run of the thread."""
        self._steps += series.steps
        self._totals.longest_run = max(self._totals.longest_run, series.first + series.steps)  # so far
        self.chunks += 1
        count, a_step = len(series.interval_ns), 1 if series.op_ns is None else len(series.op_ns) + 2
        if series.control:
            self._control_steps += series.steps
        else:
            self.stamps += count * a_step
            self._clock = series.source, series.resolution_ns, series.stamp_ns
        if not self.detailed:
            self._times.take(series)
            self._times.count_gathered()
        elif series.control or not count:
            self._times.take(series)
        else:
            stack = self._open.get(thread)
            self._times.take(series, stack[-1].number if stack else 0, (a_step - 1) * self._stamp_ns())

    def _around_ns(self, division: Division | None) -> int:
        """Return the time before the first step and after the last; steps inside other code contain it."""
        if self._times.part_of:
            return self._totals.setup_ns
        return self._totals.around_ns(0.0 if division is None else division.typical_ns)

    def _stamp_ns(self) -> float:
        """Return the cost of a stamp: the tier's own, or the measured one of the process's clock."""
        own = self._clock[2]
        return self._calibration() if own is None else own

    def count(self, run: Run, control: bool = False) -> None:
        """Count unobserved runs; ``control`` is true if they ran in a control block of the outer loop."""
        _, runs, steps, _, _, elapsed_ns, tier = run
        self._totals.add_unobserved(run)
        self._steps += steps
        self._control_steps += steps * (control or bool(tier))
        if tier:
            self._times.inside(tier, steps, elapsed_ns)
        else:
            self._times.unobserved(steps, elapsed_ns)
            self.recorder_ns += runs * note_overhead_ns()

    def measured(self, index: int | None, name: str, value: float) -> None:
        """Add a measure of the loop, or of an operation of its step."""
        if index is None:
            aggregated(self._measures, declared("loop", name), value)
        else:
            self.tally.measured(index, name, value)

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
        self._times.made(tier)
        key = (tier, why)
        if key not in self._tiers and len(self._tiers) >= TIERS:
            key = (tier, "for other reasons")
        found = self._tiers.setdefault(key, [0, 0])
        found[0] += 1
        found[1] += elapsed_ns

    def snapshot(self, now: int) -> LoopRecord:
        """Return the record so far; open runs count up to now."""
        times, totals, (source, resolution_ns, _) = self._times, self._totals, self._clock
        times.count_gathered()
        tier, divisions = times.usual, self._divisions()
        division = divisions.get(tier)
        around = self._around_ns(division)
        means = times.means(
            divisions, totals.unobserved_steps, max(0, totals.unobserved_ns - around + totals.setup_ns)
        )
        going_on = [run for stack in self._open.values() for run in stack]
        total_ns = totals.total_ns + sum(max(0, now - run.begun) for run in going_on)
        inside, parts = times.inside_times(), times.tally(tier)
        tick = 0.0 if division is None else division.tick_ns
        made = [TierRecord(*key, *found) for key, found in self._tiers.items()]
        if times.part_of and all(code.tier != tier for code in made):
            made.append(TierRecord(tier, INSIDE, 1, 0))
        operations = self.tally.records(self.record.operations)
        record = replace(
            self.record,
            operations=times.operation_records(operations, division, tier, means),
            variables=self._variables(),
            runs=totals.runs,
            failed_runs=totals.failed_runs,
            running=len(going_on),
            steps=self._steps,
            longest_run=totals.longest_run,
            total_ns=total_ns,
            setup_ns=around,
            first_run_ns=totals.first_run_ns,
            step_times=times.record(division, tier, inside),
            sampled_steps=parts.parts.count,
            disturbed_steps=parts.disturbed,
            control_steps=self._control_steps,
            cost_ns=times.cost_ns(divisions) if divisions else self.stamps * self._stamp_ns(),
            recorder_ns=self.recorder_ns,
            buffer_bytes=totals.buffer_bytes,
            clock=source,
            resolution_ns=resolution_ns,
            stamp_ns=self._stamp_ns() if source else 0.0,
            blocks=times.block_count + bool(inside.count),
            block_steps=times.block_steps + inside.count,
            tiers=tuple(made),
            series_stride=times.sample.stride,
            series=times.rows(tick),
            measures=self._measures
            | self._processor.measures(total_ns)
            | times.measures(division, tier, inside)
            | _mean_measures(means),
            series_covers=times.sample.covers(),
        )
        return record if division is None else _with_division(record, division)

    def _divisions(self) -> dict[str, Division]:
        """Return the division of each tier's steps, if enough of them were timed."""
        operations = self.record.operations
        if len(operations) != self.operations:  # not described yet
            return {}

        found = {}
        for name, tally in self._times.tiers.items():
            if tally.has_code:
                inside = [tally.plain_inside_ns(operation.loop) for operation in operations]
                division = divided(tally, self._stamp_ns(), inside)
                if division is not None:
                    found[name] = division
        return found


def totals_only(record: LoopRecord) -> LoopRecord:
    """Return a loop's record without the description of its step."""
    return replace(
        record,
        operations=(),
        variables=(),
        var_mappings={},
        connection_pattern=(),
        inner_connection_pattern=(),
    )


def _with_division(record: LoopRecord, division: Division) -> LoopRecord:
    return replace(
        record,
        body_ns=math.fsum(division.operations),
        copy_ns=division.copies,
        overhead_ns=division.rest,
        stamp_ns=division.stamp_ns,
        tick_ns=division.tick_ns,
        in_place=division.in_place,
    )


def _mean_measures(means: tuple[float, ...]) -> dict[str, float]:
    if not means:
        return {}
    *_, copies, rest = means
    return {"mean_step_ns": math.fsum(means), "mean_copy_ns": copies, "mean_overhead_ns": rest}
