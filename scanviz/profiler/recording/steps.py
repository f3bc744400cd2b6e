"""Aggregate the times of a loop's steps in bounded memory, by tier: steps of NumPy code and of machine code share no typical step.

Each tier has histograms by way of timing and a tally of the parts of its steps.  The loop has one sample of single steps.  Times of
short runs are gathered before they are counted, so that a run of an inner loop costs little more than its events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine.observation.events import StepSeries
from scanviz.profiler.recording.division import GRAIN, Division, apportioned
from scanviz.profiler.recording.operations import StepTally, Stretch
from scanviz.record.loops import Samples
from scanviz.record.operations import OperationRecord
from scanviz.record.statistics import FINE, Histogram
from scanviz.record.traces.sample import FIRST, LAST, SLOWEST, SPREAD, StepSample
from scanviz.record.values import DurationRecord

PENDING = 8192  # times gathered before they are counted, so that counting is rare
PIECES = 64  # chunks gathered before they are counted
FEWEST_SLOW = 500  # steps needed to report the slowest hundredth
# of a loop's times
DETAIL_BYTES = 40_000 + 24 * (FIRST + LAST + SLOWEST + 2 * SPREAD) + 8 * PENDING + 500 * PIECES


class _Piece(NamedTuple):
    """A gathered chunk of a run, or steps without a time.

    ``run`` is -1 for a chunk whose single steps are not kept; ``stamps_ns`` is the cost of operations' stamps per step, 0 for steps
    with one stamp.
    """

    series: StepSeries | Stretch
    run: int
    stamps_ns: int


class StepTimes:
    """Times of a loop's steps.

    Parameters
    ----------
    operations : int
        Number of operations of a step with times.
    around : StepTimes, optional
        The same of the outer loop.

    Attributes
    ----------
    tiers : dict of str to StepTally
        Times of steps by tier.
    sample : StepSample
        A sample of single steps and blocks, less the estimated cost of operations' stamps.
    block_count, block_steps : int
        Number of blocks of several steps, and of these steps.
    """

    def __init__(self, operations: int, around: StepTimes | None = None) -> None:
        self._operations, self._around, self._latest = operations, around, ""
        self.tiers: dict[str, StepTally] = {}
        self.sample = StepSample()
        self.block_count = self.block_steps = 0
        self._pieces: list[_Piece] = []
        self._gathered, self._tier = 0, StepTally(0)  # number of gathered times, and the tier of all of them

    def _of(self, tier: str) -> StepTally:
        found = self.tiers.get(tier)
        if found is None:
            found = self.tiers[tier] = StepTally(self._operations)
        return found

    def take(self, series: StepSeries, run: int = -1, stamps_ns: float = 0.0) -> None:
        """Add a chunk of steps; of a numbered run single steps are kept, less the cost of operations' stamps per step."""
        tier, self._latest = self._of(series.tier), series.tier
        tier.steps += series.steps
        tier.has_code = True
        self._gather(tier, _Piece(series, run, 0 if series.op_ns is None else max(1, int(stamps_ns))))
        self._gathered += (series.interval_ns if series.op_ns is None else series.op_ns).size
        if self._gathered > PENDING:
            self.count_gathered()

    def _gather(self, tier: StepTally, piece: _Piece) -> None:
        if tier is not self._tier or len(self._pieces) >= PIECES:
            self.count_gathered()
        self._tier = tier
        self._pieces.append(piece)

    def count_gathered(self) -> None:
        """Count the gathered times."""
        pieces, self._pieces, self._gathered, tier = self._pieces, [], 0, self._tier
        kept: list[StepSeries] = []
        for series, run, _ in pieces:
            if isinstance(series, Stretch):
                tier.totals.pass_by(series)
                continue
            tier.add(series)
            if run >= 0:
                kept.append(series)
        if not kept:
            return
        counts = np.array([len(series.interval_ns) for series in kept])
        times = np.concatenate([series.interval_ns for series in kept])
        covers = np.concatenate([_covers(series) for series in kept])
        runs = np.repeat([piece.run for piece in pieces if piece.run >= 0], counts)
        stamps = np.repeat([piece.stamps_ns for piece in pieces if piece.run >= 0], counts)
        # the first step of an interval: the gathered steps before it, shifted to the first step of its chunk
        firsts = np.cumsum(covers) - covers
        chunks = np.array([series.first for series in kept]) - firsts[np.cumsum(counts) - counts]
        several = covers > 1
        tier.single.add(times[~several & (stamps == 0)])
        tier.timed.add(times[stamps > 0])
        tier.fine_blocks.add(FINE * times[several] // covers[several], covers[several])
        self.block_count += int(several.sum())
        self.block_steps += int(covers[several].sum())
        step_ns = (times + covers // 2) // covers
        shown = np.maximum(step_ns - stamps, np.minimum(step_ns, 1))
        self.sample.add(runs, firsts + np.repeat(chunks, counts), shown, covers)

    # steps without a time of their own

    def made(self, tier: str) -> None:
        """Add a compilation; most steps from now on run this tier's code."""
        self._latest = tier

    @property
    def now(self) -> str:
        """The current tier: the latest compiled or observed one, or the outer loop's if the steps are part of its code."""
        around = "" if self._around is None else self._around.now
        return around if around in self.tiers and self.tiers[around].is_inside else self._latest

    def unobserved(self, steps: int, elapsed_ns: int) -> None:
        """Count steps of unobserved runs, whose total time is known."""
        if now := self.now:
            tier = self._of(now)
            tier.steps += steps
            if steps and tier.has_code:
                self._gather(tier, _Piece(Stretch(steps, elapsed_ns), -1, 0))

    def inside(self, name: str, steps: int, elapsed_ns: int) -> None:
        """Count steps inside the outer loop's code, and their time if known."""
        tier = self._of(name)
        tier.is_inside = True
        tier.steps += steps
        if elapsed_ns > 0:
            tier.inside_steps += steps
            tier.inside_ns += elapsed_ns

    # the figures of a record

    @property
    def part_of(self) -> str:
        """The tier of the outer loop's code that ran most steps, if that tier never ran code of this loop; else empty."""
        most = max(self.tiers, key=self._steps_of, default="")
        return most if most and not self.tiers[most].has_code else ""

    def _steps_of(self, tier: str) -> int:
        return self.tiers[tier].steps

    @property
    def usual(self) -> str:
        """The tier that ran most steps, preferring tiers with timed operations.

        If most steps were part of the outer loop's code, that code's tier: other tiers' steps do not represent them.
        """
        if self.part_of:
            return self.part_of
        own = [name for name, tier in self.tiers.items() if tier.has_code]
        timed = [name for name in own if self.tiers[name].parts.count] or own
        return max(timed, key=self._steps_of, default="")

    def tally(self, tier: str) -> StepTally:
        """Return the times of a tier's steps."""
        return self.tiers.get(tier) or StepTally(self._operations)

    def inside_times(self) -> Histogram:
        """Return the times of the steps inside the outer loop's code: for each step the mean of all."""
        found, tier = Histogram(), self.tiers.get(self.part_of)
        if tier is not None and tier.inside_steps:
            found.add(np.array([round(tier.inside_ns / tier.inside_steps)]), np.array([tier.inside_steps]))
        return found

    def means(
        self, divisions: Mapping[str, Division], unobserved_steps: int, unobserved_ns: float
    ) -> tuple[float, ...]:
        """Return the mean of each part over all steps of all tiers; empty if unknown.

        Parameters
        ----------
        divisions : mapping of str to Division
            The division of each tier's steps, if known.
        unobserved_steps, unobserved_ns : int, float
            Steps without a time of their own, and their total time.
        """
        steps, whole, parts = unobserved_steps, unobserved_ns, np.zeros(self._operations + 2)
        for name, tier in self.tiers.items():
            division, totals = divisions.get(name), tier.totals
            worked = float(totals.ns)
            if division is not None:
                worked -= totals.ticked_steps * division.tick_ns + totals.timed_steps * division.added_ns
                parts += np.array(division.totals_ns) * (max(0.0, worked) / (sum(division.totals_ns) or 1.0))
            steps, whole = steps + totals.steps, whole + max(0.0, worked)
        if whole <= 0 or parts.sum() <= 0:
            return ()
        return apportioned(parts.tolist(), round(whole / steps / GRAIN) * GRAIN)

    def cost_ns(self, divisions: Mapping[str, Division]) -> float:
        """Return the cost of the stamps of all steps, at the prices measured in the loop."""
        found = 0.0
        for name, division in divisions.items():
            totals = self.tiers[name].totals
            timing_ns = max(division.added_ns, division.timed_ns - division.typical_ns)
            found += totals.ticked_steps * division.tick_ns + totals.timed_steps * timing_ns
        return found

    def record(self, division: Division | None, tier: str, inside: Histogram) -> DurationRecord:
        """Return the distribution of step times without the cost of stamps; the median is the typical step if known.

        Parameters
        ----------
        division : Division or None
            The typical step.
        tier : str
            The tier of the typical step.
        inside : Histogram
            Times of steps inside the outer loop's code, timed together.
        """
        found = self._together(division, tier, inside).record()
        if division is None or not found.count:
            return found
        p50 = round(division.typical_ns)
        return replace(
            found,
            min_ns=min(found.min_ns, p50),
            p50_ns=p50,
            p95_ns=max(found.p95_ns, p50),
            p99_ns=max(found.p99_ns, p50),
            max_ns=max(found.max_ns, p50),
        )

    def _together(self, division: Division | None, tier: str, inside: Histogram) -> Histogram:
        """Return all times without the cost of stamps, as far as it is known."""
        together = Histogram()
        together.merge(inside)
        for name, times in self.tiers.items():
            of_it = division if name == tier else None
            together.merge(times.single.scaled(less=0.0 if division is None else division.tick_ns))
            extra = 0.0 if of_it is None else of_it.timed_ns - of_it.typical_ns
            together.merge(times.timed if of_it is None else times.timed.scaled(less=extra))
            together.merge(times.fine_blocks.scaled(FINE))
        return together

    def measures(self, division: Division | None, tier: str, inside: Histogram) -> dict[str, float]:
        """Return the measures of slow steps, and of steps of other tiers."""
        found: dict[str, float] = {}
        together, parts = self._together(division, tier, inside), self.tally(tier)
        if together.count >= FEWEST_SLOW and not self.block_count and not inside.count:
            found["slowest_hundredth_ns"] = float(together.slowest_ns(0.01))
        if parts.slow_steps:
            found["slow_timed_steps"] = float(parts.slow_steps)
            found["slow_timed_ns"] = float(max(0.0, parts.slow_ns[-1]))
        others = [times for name, times in self.tiers.items() if name != tier]
        most = max(others, key=lambda times: times.steps, default=None)
        if most is not None and most.usual_ns:
            found["other_code_steps"] = float(sum(times.steps for times in others))
            found["other_code_ns"] = most.usual_ns
        return found

    def rows(self, tick_ns: float) -> Samples:
        """Return the sample's rows without the cost of the step's own stamp."""
        rows = self.sample.rows()
        rows[:, 2] = np.maximum(rows[:, 2] - round(tick_ns), np.minimum(rows[:, 2], 1))
        return rows

    def operation_records(
        self,
        operations: Sequence[OperationRecord],
        division: Division | None,
        tier: str,
        means: Sequence[float],
    ) -> tuple[OperationRecord, ...]:
        """Return the operations with their times in the typical step; unchanged without a division."""
        if division is None:
            return tuple(operations)
        parts = self.tally(tier)
        averages: Sequence[float | None] = means[: len(operations)] or [None] * len(operations)
        slow = [{"slow_more_ns": float(max(0.0, ns))} if parts.slow_steps else {} for ns in parts.slow_ns]
        return tuple(
            replace(
                operation,
                samples=parts.parts.count,
                typical_ns=time,
                mean_ns=mean,
                spread_ns=spread,
                measures=operation.measures | more,
            )
            for operation, time, mean, spread, more in zip(
                operations, division.operations, averages, division.spreads, slow, strict=False
            )
        )


def _covers(series: StepSeries) -> Samples:
    return np.ones(len(series.interval_ns), np.int64) if series.covers is None else series.covers
