"""What is known so far of one loop, in bounded memory.

Runs are kept apart by thread.  The callers hold a lock.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from scanviz.engine.observe import CountedRuns, StepSeries
from scanviz.profiler.recording.operations import OperationTally, StepTally
from scanviz.profiler.recording.overhead import Prices
from scanviz.profiler.recording.passed_calls import Run
from scanviz.profiler.recording.passed_over import PassedOver
from scanviz.profiler.recording.processor import ProcessorTally
from scanviz.profiler.recording.steps import StepTimes, TierTimes
from scanviz.record.measures import aggregated, declared
from scanviz.record.statistics import median_of

if TYPE_CHECKING:
    from scanviz.profiler.recording.division import Division
    from scanviz.record.model import (
        LoopRecord,
        LoopVariableRecord,
        OperationRecord,
    )

RECENT_RUNS = 256  # runs whose time around their steps is kept, the last ones
_STATES = ("mitmot", "mitsot", "sitsot")
TIERS = 16  # kinds of code told apart


class _Run(NamedTuple):
    number: int
    begun: int
    around: _Run | None  # what its thread had open before: a call was made while it ran


def _with_those_around(run: _Run | None) -> list[_Run]:
    found = []
    while run is not None:
        found.append(run)
        run = run.around
    return found


class KnownLoop(NamedTuple):
    """What is known of a loop until it is described."""

    key: int
    function: int
    parent: int | None
    name: str

    def record(self) -> LoopRecord:
        """Return the record of a loop of which nothing else is known."""
        from scanviz.record.model import LoopRecord

        return LoopRecord(self.key, self.function, self.parent, self.name, None)


class LoopAggregate:
    """Totals and samples of one loop.

    Parameters
    ----------
    what : KnownLoop or LoopRecord
        What the loop is, or its name until that is written down.
    calibration : Prices
        What to take off times of steps in which each operation was timed.
    operations : int, optional
        How many operations its step has whose times are kept; as many as are described when not given.

    Attributes
    ----------
    passed_over : deque
        Steps, nanoseconds, and nanoseconds of notifying, of runs that wait to be counted and have no times of steps.
    detailed : bool or None
        Whether single steps are kept, else totals alone; None until the loop runs and it is decided.
    has_loops : bool
        Whether there are loops inside its step.
    """

    __slots__ = (
        "_calibration",
        "_control_steps",
        "_foreign_ns",
        "_measures",
        "_open",
        "_operations",
        "_parts",
        "_passed_over",
        "_plain_ns",
        "_plain_steps",
        "_processor",
        "_row_bytes",
        "_steps",
        "_ticked_steps",
        "_ticks",
        "_tier_steps",
        "_tiers",
        "_times",
        "_totals",
        "_what",
        "chunks",
        "detailed",
        "has_loops",
        "operations",
        "passed_over",
        "recorder_ns",
        "stamps",
    )

    def __init__(
        self, what: KnownLoop | LoopRecord, calibration: Prices, operations: int | None = None
    ) -> None:
        self._what, self._calibration = what, calibration
        self.operations = len(self.record.operations) if operations is None else operations
        self.passed_over: deque[tuple[int, int, int]] = deque()
        self._passed_over = PassedOver()
        self.detailed: bool | None = None
        self.has_loops = False
        self._times = StepTimes()
        self._open: dict[int, _Run] = {}  # by thread, the innermost
        self._operations = OperationTally(self.operations)
        self._parts: dict[str, StepTally] = {}  # by the tier of the code that ran
        self._tier_steps: dict[str, int] = {}  # and how many steps it did
        self._tiers: dict[tuple[str, str], list[int]] = {}
        self._totals = _Totals()
        self._processor = ProcessorTally()
        self._row_bytes: tuple[int, ...] = ()
        self._measures: dict[str, float] = {}
        self._steps, self._control_steps = 0, 0
        self._plain_steps, self._plain_ns = 0, 0  # of them, in blocks that were timed as a whole
        self._ticks = self._ticked_steps = 0  # stamps of steps, one each, or one of several
        self._foreign_ns = 0.0  # what stamps of other clocks cost beyond those of the process's clock
        self.stamps, self.chunks, self.recorder_ns = 0, 0, 0

    @property
    def record(self) -> LoopRecord:
        """What the loop is."""
        return self._what.record() if isinstance(self._what, KnownLoop) else self._what

    @property
    def steps(self) -> int:
        """Steps told so far."""
        self.count_passed_over()
        return self._steps

    def describe(self, whole: LoopRecord, totals_alone: LoopRecord) -> None:
        """Take what the loop is, as much of it as there is memory for."""
        self._what = whole if self.operations or not whole.operations else totals_alone

    def count_passed_over(self) -> None:
        """Count runs that were passed over; others may be added meanwhile."""
        waiting, totals = self.passed_over, self._totals
        count = len(waiting)
        if not count:
            return
        steps, elapsed, own = zip(*[waiting.popleft() for _ in range(count)], strict=True)
        self._steps += sum(steps)
        self._passed_over.add(steps, elapsed)
        self.recorder_ns += sum(own)
        totals.runs += count
        totals.unseen_runs += count
        totals.total_ns += sum(elapsed)
        totals.longest_run = max(totals.longest_run, *steps)

    def begin(self, thread: int, now: int, buffer_bytes: int) -> None:
        """Open a run."""
        self.count_passed_over()
        totals = self._totals
        self._open[thread] = _Run(totals.runs, now, self._open.get(thread))
        totals.runs += 1
        totals.buffer_bytes = max(totals.buffer_bytes, buffer_bytes)
        self._processor.begin(totals.runs - 1)

    def rows_held(self, row_bytes: tuple[int, ...]) -> None:
        """Take the bytes of the rows of each state, then of each step output, at the end of a run."""
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
        """Take a chunk of steps of the run that the thread has open."""
        self._steps += series.steps
        self._totals.longest_run = max(self._totals.longest_run, series.first + series.steps)  # it may go on
        self.chunks += 1
        if self._totals.clock is not series.source and not series.control:
            self._totals.take_clock(series)
        tally = self._parts.get(series.tier)
        if tally is None:
            tally = self._parts[series.tier] = StepTally(self.operations)
        tally.add(series)
        self._tier_steps[series.tier] = self._tier_steps.get(series.tier, 0) + series.steps
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
            run = self._open.get(thread)
            self._times.take(run.number if run is not None else 0, series, (a_step - 1) * self._stamp_ns())

    def _stamp_ns(self) -> float:
        """Return what a stamp costs: as the tier says, else as was measured of the clock of the process."""
        told = self._totals.stamp_ns
        return self._calibration.stamp_ns if told is None else told

    def counted(self, runs: CountedRuns) -> None:
        """Take whole runs of which nothing else was told."""
        totals = self._totals
        totals.runs += runs.runs
        totals.unseen_runs += runs.runs
        totals.counted_runs += runs.runs
        totals.failed_runs += runs.failed
        totals.total_ns += runs.elapsed_ns
        totals.longest_run = max(totals.longest_run, runs.longest)
        self._steps += runs.steps
        self._control_steps += runs.steps
        self._passed_over.add(runs.lengths, runs.times)

    def ran(self, run: Run, times: Sequence[int]) -> None:
        """Take the same runs of as many calls as there are times, of which nothing else was told."""
        (_, runs, steps, longest, failed, _), calls, totals = run, len(times), self._totals
        totals.runs += runs * calls
        totals.unseen_runs += runs * calls
        totals.failed_runs += failed * calls
        totals.total_ns += max(0, sum(times))
        totals.alone_ns += max(0, sum(times))
        totals.longest_run = max(totals.longest_run, longest)
        self._steps += steps * calls
        if runs == 1 and not failed:
            self._passed_over.add([steps] * calls, times)
        else:
            self._control_steps += steps * calls

    def timed(self, index: int, elapsed_ns: int) -> None:
        """Take the time of one operation in one step, told on its own."""
        self._operations.add_one(index, elapsed_ns)

    def measured(self, index: int | None, name: str, value: float) -> None:
        """Take a number of the loop, or of an operation of its step."""
        if index is None:
            aggregated(self._measures, declared("loop", name), value)
        else:
            self._operations.measured(index, name, value)

    def end(self, thread: int, steps: int, elapsed_ns: int, setup_ns: int, failed: bool) -> None:
        """Close the run that the thread opened last."""
        run, totals = self._pop(thread), self._totals
        if run is not None:
            self._processor.end(run.number)
        if run is not None and run.number == 0:
            totals.first_run_ns = elapsed_ns
        totals.total_ns += elapsed_ns
        totals.setup_ns += setup_ns
        totals.setups.append(setup_ns)
        totals.longest_run = max(totals.longest_run, steps)
        totals.failed_runs += run is not None and failed

    def open_runs(self, thread: int) -> int:
        """Return how many runs a thread has open: more than one where a call was made while another one ran."""
        return len(_with_those_around(self._open.get(thread)))

    def abandon(self, thread: int, kept: int, now: int) -> None:
        """Close the runs that a thread has open but the first ``kept`` of them: an error ended the others."""
        while self.open_runs(thread) > kept:
            run = self._pop(thread)
            assert run is not None
            self._processor.drop(run.number)
            self._totals.failed_runs += 1
            self._totals.total_ns += max(0, now - run.begun)

    def _pop(self, thread: int) -> _Run | None:
        run = self._open.pop(thread, None)
        if run is not None and run.around is not None:
            self._open[thread] = run.around
        return run

    def made(self, tier: str, why: str, elapsed_ns: int) -> None:
        """Count code that was made for the loop."""
        key = (tier, why)
        if key not in self._tiers and len(self._tiers) >= TIERS:
            key = (tier, "for other reasons")
        found = self._tiers.setdefault(key, [0, 0])
        found[0] += 1
        found[1] += elapsed_ns

    def cost_ns(self, division: Division | None) -> float:
        """Return what taking times in its steps cost so far, which is part of its time: at the prices found in the loop itself."""
        if not self.stamps:
            return 0.0
        if division is None:
            return self.stamps * self._calibration.stamp_ns + self._foreign_ns
        timed = self.stamps - self._ticks
        return self._ticked_steps * division.tick_ns + timed * division.stamp_ns

    def _counted_ns(self) -> float:
        """Return what counting a run took: nothing where none was counted, for the price is measured when it is asked for."""
        return self._calibration.counted_ns if self._totals.counted_runs else 0.0

    def snapshot(self, now: int, price: float = 0.0) -> LoopRecord:
        """Return the record so far; runs that go on count up to now, and those of calls passed over took that share less."""
        self._times.count_gathered()
        self.count_passed_over()
        from scanviz.record.model import TierRecord

        totals, division, tier = self._totals, self._division(), self._usual_tier
        going_on = [run for innermost in self._open.values() for run in _with_those_around(innermost)]
        running = sum(max(0, now - run.begun) for run in going_on) - round(totals.alone_ns * price)
        tick = division.tick_ns if division is not None else 0.0
        return replace(
            self.record,
            operations=self._operation_records(division),
            variables=self._variables(),
            runs=totals.runs,
            failed_runs=totals.failed_runs,
            running=len(going_on),
            steps=self._steps,
            longest_run=totals.longest_run,
            total_ns=totals.total_ns + running,
            setup_ns=totals.around_ns(),
            first_run_ns=totals.first_run_ns,
            step_times=self._times.record(division, tier),
            sampled_steps=self._usual_parts.steps,
            disturbed_steps=self._usual_parts.disturbed,
            control_steps=self._control_steps,
            body_ns=math.fsum(division.operations) if division is not None else 0.0,
            copy_ns=division.copies if division is not None else 0.0,
            overhead_ns=division.rest if division is not None else 0.0,
            cost_ns=self.cost_ns(division),
            watching_ns=self.recorder_ns + round(totals.counted_runs * self._counted_ns()),
            buffer_bytes=totals.buffer_bytes,
            clock=totals.clock,
            resolution_ns=totals.resolution_ns,
            stamp_ns=division.stamp_ns if division is not None else self._stamp_ns() if totals.clock else 0.0,
            tick_ns=tick,
            in_place=division is not None and division.in_place,
            blocks=self._times.block_count,
            block_steps=self._times.block_steps,
            tiers=tuple(TierRecord(*key, *found) for key, found in self._tiers.items()),
            series_stride=self._times.sample.stride,
            series=self._times.rows(tick),
            measures=self._measures
            | self._processor.measures(totals.total_ns + running)
            | self._times.measures(division, tier)
            | self._passed_over.measures()
            | self._plain_measures()
            | self._slow_measures()
            | self._other_code()
            | _mean_measures(division),
            series_covers=self._times.sample.covers(),
        )

    def _plain_measures(self) -> dict[str, float]:
        if not self._plain_steps:
            return {}
        return {"plain_steps": float(self._plain_steps), "plain_ns": float(self._plain_ns)}

    @property
    def _usual_tier(self) -> str:
        """The tier whose code did most steps: steps on NumPy and of machine code have no typical step together."""
        return max(self._tier_steps, key=self._tier_steps.__getitem__, default="")

    @property
    def _usual_parts(self) -> StepTally:
        return self._parts.get(self._usual_tier) or StepTally(self.operations)

    def _slow_measures(self) -> dict[str, float]:
        parts = self._usual_parts
        if not parts.slow_steps:
            return {}
        longer = max(0.0, parts.slow_ns[-1])
        return {"slow_timed_steps": float(parts.slow_steps), "slow_timed_ns": float(longer)}

    def _other_code(self) -> dict[str, float]:
        """Return how many steps other code than the usual one has run, and how long one takes of that which ran most of them."""
        others = {tier: steps for tier, steps in self._tier_steps.items() if tier != self._usual_tier}
        times = self._times.tiers.get(max(others, key=others.__getitem__, default=""))
        if not others or times is None:
            return {}
        most = max((times.single, times.timed, times.blocks), key=lambda histogram: histogram.count)
        return {"other_code_steps": float(sum(others.values())), "other_code_ns": most.median}

    def _division(self) -> Division | None:
        if len(self.record.operations) != self.operations:  # they are not described yet
            return None
        from scanviz.profiler.recording.division import divided

        nested = [self.has_loops and operation.kind != "operation" for operation in self.record.operations]
        times = self._times.tiers.get(self._usual_tier) or TierTimes()
        return divided(self._usual_parts, times.single, times.blocks, self._stamp_ns(), nested)

    def _operation_records(self, division: Division | None) -> tuple[OperationRecord, ...]:
        """Return the operations with their times: of the typical step, or as they were told one by one."""
        told = self._operations.records(self.record.operations)
        if division is None:
            return told
        count = self._usual_parts.steps
        means = division.means[: len(told)] or [None] * len(told)
        found = tuple(
            replace(operation, samples=count, typical_ns=time, mean_ns=mean, spread_ns=spread)
            for operation, time, mean, spread in zip(
                told, division.operations, means, division.spreads, strict=True
            )
        )
        if not self._usual_parts.slow_steps:
            return found
        more = self._usual_parts.slow_ns.tolist()
        return tuple(
            replace(done, measures=done.measures | {"slow_more_ns": float(max(0.0, ns))})
            for done, ns in zip(found, more, strict=False)
        )


def _mean_measures(division: Division | None) -> dict[str, float]:
    if division is None or not division.means:
        return {}
    *_, copies, rest = division.means
    return {"mean_step_ns": math.fsum(division.means), "mean_copy_ns": copies, "mean_overhead_ns": rest}


class _Totals:
    """Sums over the runs of a loop."""

    __slots__ = (
        "alone_ns",
        "buffer_bytes",
        "clock",
        "counted_runs",
        "failed_runs",
        "first_run_ns",
        "longest_run",
        "resolution_ns",
        "runs",
        "setup_ns",
        "setups",
        "stamp_ns",
        "total_ns",
        "unseen_runs",
    )

    def __init__(self) -> None:
        self.unseen_runs = 0  # passed over: there is no time of their steps
        self.counted_runs = 0  # of these, in steps of a loop around
        self.runs = self.failed_runs = self.longest_run = self.buffer_bytes = 0
        self.total_ns = self.setup_ns = self.first_run_ns = 0
        self.alone_ns = 0  # of them in calls that were told as a whole
        self.setups: deque[int] = deque(maxlen=RECENT_RUNS)
        self.clock, self.resolution_ns = "", 0.0
        self.stamp_ns: float | None = None

    def around_ns(self) -> int:
        """Return the time before the first step and after the last: of runs whose steps have no time as typical of the others."""
        typical = float(median_of(self.setups)) if self.setups else 0.0
        return self.setup_ns + round(typical * self.unseen_runs)

    def take_clock(self, series: StepSeries) -> None:
        """Note where times come from."""
        self.clock, self.resolution_ns, self.stamp_ns = series.source, series.resolution_ns, series.stamp_ns
