"""Aggregate times of whole steps in bounded memory: a histogram per way of timing, and a sample of single steps.

Steps of short runs are gathered before they are counted, so that a run of an inner loop costs little more than its events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from scanviz.record.statistics import FINE, Histogram
from scanviz.record.traces.sample import FIRST, LAST, SLOWEST, SPREAD, StepSample

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries
    from scanviz.profiler.recording.division import Division
    from scanviz.record.loops import Samples
    from scanviz.record.values import DurationRecord

PENDING = 8192  # steps gathered before they are counted, so that counting is rare
FEWEST_SLOW = 500  # steps needed to report the slowest hundredth
PIECES = 512  # chunks gathered before they are counted
DETAIL_BYTES = (
    40_000 + 24 * (FIRST + LAST + SLOWEST + 2 * SPREAD) + 8 * PENDING + 250 * PIECES
)  # of a loop's times


class TierTimes:
    """Times of the steps of one tier's code.

    Attributes
    ----------
    single, timed : Histogram
        Steps with one stamp; and steps with timed operations, including all their stamps.
    fine_blocks : Histogram
        Steps of blocks, by the mean of their block, in picoseconds: a step may take 1.5 ns.
    """

    __slots__ = ("fine_blocks", "single", "timed")

    def __init__(self) -> None:
        self.single, self.timed, self.fine_blocks = Histogram(), Histogram(), Histogram()

    @property
    def blocks_ns(self) -> float:
        """Median over the steps of blocks."""
        return self.fine_blocks.median / FINE


class StepTimes:
    """Times of a loop's steps.

    Attributes
    ----------
    tiers : dict
        Times of steps by tier.
    sample : StepSample
        A sample of single steps and blocks, less the estimated cost of operations' stamps.
    block_count, block_steps : int
        Number of blocks of several steps, and of these steps.
    """

    __slots__ = (
        "_filled", "_interval_count", "_intervals", "_now", "_pieces", "_tier", "_waiting", "block_count", "block_steps", "sample",
        "tiers",
    )  # fmt: skip

    def __init__(self) -> None:
        self._tier, self._now, self.sample = "", TierTimes(), StepSample()
        self.tiers = {self._tier: self._now}
        self.block_count, self.block_steps = 0, 0
        self._waiting = np.empty(0, np.int64)  # gathered times
        self._filled = self._interval_count = 0
        self._intervals: list[tuple[int, StepSeries]] = []  # with their runs
        # of each gathered chunk: run, first step, number of steps, nanoseconds of operations' stamps per step
        self._pieces: list[tuple[int, int, int, int]] = []

    def take(self, run: int, series: StepSeries, stamps_ns: float) -> None:
        """Add a chunk of steps of a run; ``stamps_ns`` estimates the cost of operations' stamps per step."""
        if series.tier != self._tier:
            self.count_gathered()
            self._tier, self._now = series.tier, self.tiers.setdefault(series.tier, TierTimes())
        if series.covers is not None:
            self._take_intervals(run, series)
            return
        times, count = series.interval_ns, len(series.interval_ns)
        stamps = 0 if series.op_ns is None else max(1, int(stamps_ns))  # 0 marks one stamp
        if self._filled + count > PENDING or len(self._pieces) == PIECES:
            self.count_gathered()
        if count > PENDING:
            self._count(times, np.full(count, run), np.arange(series.first, series.first + count), stamps)
            return
        if not len(self._waiting):
            self._waiting = np.empty(PENDING, np.int64)
        self._waiting[self._filled : self._filled + count] = times
        self._pieces.append((run, series.first, count, stamps))
        self._filled += count

    def _take_intervals(self, run: int, series: StepSeries) -> None:
        """Gather times of blocks of steps."""
        if len(self._intervals) >= PIECES or self._interval_count > PENDING:
            self.count_gathered()
        self._intervals.append((run, series))
        self._interval_count += len(series.interval_ns)

    def _count_intervals(self) -> None:
        """Count the gathered intervals."""
        pieces, self._intervals, self._interval_count = self._intervals, [], 0
        if not pieces:
            return
        covers = np.concatenate([series.covers for _, series in pieces if series.covers is not None])
        times = np.concatenate([series.step_ns for _, series in pieces])
        starts = np.concatenate([_starts(series) for _, series in pieces])
        runs = np.repeat([run for run, _ in pieces], [len(series.interval_ns) for _, series in pieces])
        several = covers > 1
        fine = np.concatenate([FINE * series.interval_ns for _, series in pieces]) // covers
        self._now.fine_blocks.add(fine[several], covers[several])
        self._now.single.add(times[~several])
        self.sample.add(runs, starts, times, covers)
        self.block_count += int(several.sum())
        self.block_steps += int(covers[several].sum())

    def count_gathered(self) -> None:
        """Count the gathered steps."""
        self._count_intervals()
        if not self._filled:
            return
        times = self._waiting[: self._filled]
        runs, firsts, counts, stamps = np.array(self._pieces, np.int64).T
        # the number of a step is its index among the gathered steps, shifted to the first step of its chunk
        shift = firsts - np.concatenate([[0], np.cumsum(counts[:-1])])
        steps = np.arange(self._filled) + np.repeat(shift, counts)
        self._count(times, np.repeat(runs, counts), steps, np.repeat(stamps, counts))
        self._filled = 0
        self._pieces.clear()

    def _count(self, times: Samples, runs: Samples, steps: Samples, stamps: Samples | int) -> None:
        if not np.any(stamps):  # the usual case
            self._now.single.add(times)
            self.sample.add(runs, steps, times)
            return
        with_operations = np.broadcast_to(np.asarray(stamps) > 0, times.shape)
        self._now.single.add(times[~with_operations])
        self._now.timed.add(times[with_operations])
        self.sample.add(
            runs, steps, np.where(with_operations, np.maximum(times - stamps, np.minimum(times, 1)), times)
        )

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
            together.merge(times.single.shifted(0.0 if division is None else division.tick_ns))
            extra = 0.0 if of_it is None else of_it.timed_ns - of_it.typical_ns
            together.merge(times.timed if of_it is None else times.timed.shifted(extra))
            together.merge(times.fine_blocks.in_larger_units(FINE))
        return together

    def measures(self, division: Division | None, tier: str, inside: Histogram) -> dict[str, float]:
        """Return the measure of the slowest hundredth of all steps; empty for few steps, or for blocks."""
        together = self._together(division, tier, inside)
        if together.count < FEWEST_SLOW or self.block_count or inside.count:
            return {}
        return {"slowest_hundredth_ns": float(together.slowest_ns(0.01))}

    def rows(self, tick_ns: float) -> Samples:
        """Return the sample's rows without the cost of the step's own stamp."""
        rows = self.sample.rows()
        rows[:, 2] = np.maximum(rows[:, 2] - round(tick_ns), np.minimum(rows[:, 2], 1))
        return rows


def _starts(series: StepSeries) -> Samples:
    """Return the first step of each interval."""
    assert series.covers is not None
    found: Samples = series.first + np.cumsum(series.covers) - series.covers
    return found


__all__ = ["DETAIL_BYTES", "StepTimes", "TierTimes"]
