"""Aggregate times of operations: of a program one by one, of a loop's step by chunks of steps.

Each operation of a step has a histogram, so that a descheduled or rare slow step moves no displayed number.  A tally of steps also
keeps the times whose comparison gives the cost of stamps in this loop.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.observation.events import StepSeries
from scanviz.record.loops import Samples
from scanviz.record.measures import aggregated, declared
from scanviz.record.model import OperationRecord
from scanviz.record.statistics import FINE, LONGEST, Histogram, HistogramTable, median_of

Times = np.ndarray[Any, Any]

RECENT_CALLS = 256  # latest calls whose times are kept for medians
COLD = 8  # steps at the start of the first timed chunk that pay for cold code: left out if others follow
WHOLE_CHUNK = 8  # least steps of a chunk that leaves out its first step, which enters the code
OFF_CPU_NS = 20_000  # nanoseconds off the CPU beyond the error of the clocks
DISTURBED_NS = 5_000  # least excess of a step that was descheduled
BLOCKS = 256  # latest plain blocks that are kept
LONG_BLOCK_NS = 100_000  # length of plain blocks for which entering the code is negligible
FEWEST_PLAIN = 2  # plain blocks that show the time of a step
SLOW = 2.0  # a slow step takes more than this multiple of the usual one
FEWEST_USUAL = 16  # steps that define the usual step
SAME = (
    0.01  # square of the relative difference of step times below which two samples represent a stretch alike
)
PIECES = 4  # stretches of a chunk
MOST_STRETCHES = 48  # between two samples
LEAST_LEFT = 0.1  # share of a timed step that is not stamps


class OperationTally:
    """Times of the operations of a program, and of calls around them."""

    def __init__(self, count: int) -> None:
        self._recent: deque[Times] = deque(maxlen=RECENT_CALLS)
        # of each operation, then around them
        self._totals, self._counts = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
        self._measures: dict[int, dict[str, float]] = {}

    def add_one(self, index: int, elapsed_ns: int) -> None:
        """Add one time of one operation."""
        if 0 <= index < len(self._totals) - 1:
            self._totals[index] += elapsed_ns
            self._counts[index] += 1

    def add_call(self, elapsed_ns: Sequence[int], around_ns: int = 0) -> None:
        """Add the times of all operations in one call, and the time of the call around them."""
        times = np.array([*elapsed_ns, around_ns], np.int64)
        if len(times) == len(self._totals):
            self._totals += times
            self._counts += 1
            self._recent.append(times)

    def around(self, calls: int) -> tuple[int, float]:
        """Return the number of timed calls and the time around their operations: the median if other calls were not timed."""
        timed = int(self._counts[-1])
        if not timed:
            return 0, 0.0
        times = [row[-1] for row in self._recent]
        return timed, float(median_of(times)) if timed < calls else float(self._totals[-1] / timed)

    def measured(self, index: int, name: str, value: float) -> None:
        """Add a measure of one operation."""
        if 0 <= index < len(self._totals) - 1:
            aggregated(self._measures.setdefault(index, {}), declared("operation", name), value)

    def records(self, operations: tuple[OperationRecord, ...]) -> tuple[OperationRecord, ...]:
        """Return the operations with their mean times, and with medians as typical times if they were timed call by call."""
        # not described yet: another thread has just compiled the function
        if len(operations) != len(self._totals) - 1:
            return operations
        counts = self._counts[:-1].tolist()
        means = [
            total / count if count else None
            for total, count in zip(self._totals.tolist(), counts, strict=False)
        ]
        typical = median_of(np.array(self._recent)).tolist() if operations and self._recent else means
        return tuple(
            replace(
                operation,
                samples=count,
                typical_ns=typical[k] or 0.0,
                mean_ns=means[k],
                measures=dict(self._measures.get(k, {})),
            )
            for k, (operation, count) in enumerate(zip(operations, counts, strict=True))
        )


class Stretch(NamedTuple):
    """Consecutive steps without timed operations, and their nanoseconds."""

    steps: int
    ns: float


class _Sample(Struct):
    """Steps with timed operations, the sum of their parts, and the time of all steps that they represent."""

    steps: int
    parts_ns: Times
    worked_ns: float
    represented_ns: float

    @property
    def step_ns(self) -> float:
        return self.worked_ns / self.steps


class PartTotals:
    """Estimate the times of a step's parts over all steps from the samples with timed operations.

    The steps between two samples are shared out between these, most of them to the sample whose steps take nearly as long.

    Parameters
    ----------
    rows : int
        Number of parts; the last is the whole step.

    Attributes
    ----------
    steps, timed_steps, ticked_steps : int
        Steps with a time, alone or together with others; those with timed operations, and those with one stamp.
    ns : int
        Their time, including all stamps.

    Examples
    --------
    >>> totals = PartTotals(3)
    >>> totals.add_sample(np.array([[8.0], [2.0], [10.0]]), [1.0, 1.0])  # step 0
    >>> totals.pass_by(Stretch(18, 144.0))  # steps as long as those of the sample, without its stamps
    >>> totals.estimate()[0].tolist()
    [200.0, 50.0, 250.0]
    """

    def __init__(self, rows: int) -> None:
        self._parts_ns: Times = np.zeros(
            rows
        )  # of all samples but the latest, and of the steps they represent
        self._steps = 0.0  # these steps
        self._latest: _Sample | None = None
        self._between: list[Stretch] = []
        self.steps = self.timed_steps = self.ticked_steps = self.ns = 0

    def count(self, series: StepSeries) -> None:
        """Count the steps of a chunk and their time."""
        self.steps += series.steps
        self.ns += series.span_ns - series.entry_ns
        if series.op_ns is not None:
            self.timed_steps += series.steps
        elif not series.control:
            self.ticked_steps += series.timed_steps

    def pass_by(self, *stretches: Stretch) -> None:
        """Add steps that the samples represent."""
        self._between.extend(stretches)
        if len(self._between) > MOST_STRETCHES:
            pairs = zip(self._between[::2], [*self._between[1::2], Stretch(0, 0.0)], strict=False)
            self._between = [Stretch(one.steps + two.steps, one.ns + two.ns) for one, two in pairs]

    def add_sample(self, times: Times, stamps: Sequence[float]) -> None:
        """Add timed steps: times by part, shape (rows, steps); ``stamps`` gives the number of stamps in each part but the last."""
        steps, parts_ns = times.shape[1], times.sum(axis=1)
        whole = float(parts_ns[-1])
        if not steps or whole <= 0:
            return
        # a stamp takes no longer than the smallest part with one
        held = zip(parts_ns.tolist(), stamps, strict=False)
        stamp_ns = min((ns / count for ns, count in held if count), default=0.0)
        worked = max(whole - sum(stamps) * stamp_ns, LEAST_LEFT * whole)
        latest, sample = self._latest, _Sample(steps, parts_ns, worked, worked)
        for stretch in self._between:
            share = 0.0 if latest is None else _share_before(stretch, latest.step_ns, sample.step_ns)
            sample.represented_ns += (1.0 - share) * stretch.ns
            if latest is not None:
                latest.represented_ns += share * stretch.ns
        self._parts_ns, self._steps = self._with_latest()
        self._latest, self._between = sample, []

    def estimate(self) -> tuple[Times, float]:
        """Return the times of the parts of all steps, each with the stamps of a sample, and the number of these steps."""
        return self._with_latest(sum(stretch.ns for stretch in self._between))

    def _with_latest(self, after_ns: float = 0.0) -> tuple[Times, float]:
        latest = self._latest
        if latest is None:
            return self._parts_ns, self._steps
        times = (latest.represented_ns + after_ns) / latest.worked_ns
        return self._parts_ns + times * latest.parts_ns, self._steps + times * latest.steps


def _share_before(stretch: Stretch, before_ns: float, after_ns: float) -> float:
    """Return the share of a stretch that the sample before represents, given the step times of both samples.

    Examples
    --------
    >>> _share_before(Stretch(4, 40.0), 10.0, 10.0), round(_share_before(Stretch(4, 360.0), 10.0, 90.0), 3)
    (0.5, 0.002)
    """
    step_ns = max(stretch.ns, 1.0) / max(stretch.steps, 1)
    to_before, to_after = (math.log(step_ns / ns) ** 2 + SAME for ns in (before_ns, after_ns))
    return to_after / (to_before + to_after)


def stretches_of(series: StepSeries) -> list[Stretch]:
    """Return a chunk in a few stretches if its steps have times of their own; else as one."""
    times, steps = series.interval_ns, series.steps
    if series.covers is not None or len(times) != steps or steps < 2 * PIECES:
        return [Stretch(steps, series.span_ns - series.entry_ns)]
    ends = np.arange(PIECES + 1) * steps // PIECES
    sums = np.add.reduceat(times, ends[:-1])
    return [Stretch(*one) for one in zip(np.diff(ends).tolist(), sums.tolist(), strict=True)]


class StepTally:
    """Times of the steps of one tier's code: of whole steps, of the parts of steps with timed operations, and of plain steps.

    Attributes
    ----------
    steps : int
        Number of steps, with a time or without.
    single, timed : Histogram
        Steps with one stamp; and steps with timed operations, including all their stamps.
    fine_blocks : Histogram
        Steps of blocks, by the mean of their block, in picoseconds: a step may take 1.5 ns.
    has_code : bool
        Whether this loop has code of its own on this tier.
    inside_steps, inside_ns : int
        Steps with a known time inside the outer loop's code, and that time.
    is_inside : bool
        Whether steps ran inside the outer loop's code.
    parts : HistogramTable
        One row per operation, then storing rows, the rest of the step, and the whole step; all include their stamps.  Operations
        that are fused share the time of the fused code in each of their rows: a share may be far below a nanosecond.
    stamps : list of float
        Number of stamps in the time of each operation, of storing rows and of the rest: one, or a share of one for fused
        operations, which is their share of the time too.
    totals : PartTotals
        Times of all steps by rows of ``parts``.
    disturbed : int
        Steps left out because the thread was descheduled.
    plain : deque of (float, int)
        Time of a plain step in each plain block, and the number of steps of the block.
    inside : deque of (int, dict of int to float)
        For plain blocks with timed inner loops, the number of steps, and the time per step of each inner loop by key.
    slow_steps : int
        Steps in which the thread ran and that took much longer than the usual one.
    slow_ns : numpy.ndarray
        Their total excess over the usual step, by rows of ``parts``.
    """

    def __init__(self, count: int) -> None:
        self._count, self.stamps = count, [1.0] * (count + 2)
        self.single, self.timed, self.fine_blocks = Histogram(), Histogram(), Histogram()
        self.has_code = self.is_inside = False
        self.steps = self.inside_steps = self.inside_ns = self.disturbed = self.slow_steps = 0
        # shares of rows of ``parts``, as they were when the first of these were counted
        self._shares: Samples | None = None
        self.parts, self.totals = HistogramTable(count + 3), PartTotals(count + 3)
        self.slow_ns = np.zeros(count + 3)
        self.plain: deque[tuple[float, int]] = deque(maxlen=BLOCKS)
        self.inside: deque[tuple[int, dict[int, float]]] = deque(maxlen=BLOCKS)
        self._entry_ns = LONGEST  # least time of entering the code, from chunks with one stamp per step

    @property
    def usual_ns(self) -> float:
        """The median of the most frequent way of timing."""
        return max(
            (self.single.count, self.single.median),
            (self.timed.count, self.timed.median),
            (self.fine_blocks.count, self.fine_blocks.median / FINE),
        )[1]

    def plain_ns(self) -> float | None:
        """Return the median plain step, weighted by steps; None if the plain blocks are too few."""
        return _median_over(self.plain) if len(self.plain) >= FEWEST_PLAIN else None

    def plain_inside_ns(self, loop: int | None) -> float | None:
        """Return the time of an inner loop in a plain step; None if its runs were not timed there."""
        if not any(loop in times for _, times in self.inside):
            return None
        return _median_over([(times.get(loop or 0, 0.0), steps) for steps, times in self.inside])

    def median(self, row: int) -> float:
        """Return the median time of a part."""
        return self.quantile(row, 0.5)

    def quantile(self, row: int, share: float) -> float:
        """Return the time that ``share`` of a part's times do not exceed."""
        return self.parts.quantile(row, share) * self.share(row)

    def share(self, row: int) -> float:
        """Return this part's share of the time in its row of ``parts``."""
        return 1.0 if self._shares is None else float(self._shares[row])

    def add(self, series: StepSeries) -> None:
        """Add a chunk of steps of any kind."""
        self.totals.count(series)
        if series.op_ns is None and series.steps:
            self.totals.pass_by(*stretches_of(series))
        if series.control or series.plain:
            self._add_plain(series)
        elif series.op_ns is None:
            if series.covers is None and series.steps:
                self._entry_ns = min(self._entry_ns, series.entry_ns)
        elif len(series.op_ns) == self._count and len(series.interval_ns) and series.covers is None:
            if series.op_stamps is not None:
                self.stamps = [*series.op_stamps, 1.0, 1.0]
            self._add_timed(series)

    def _add_plain(self, series: StepSeries) -> None:
        """Add blocks of plain steps; the second of three blocks is a single step, which shows the time of entering the code."""
        times, covers = series.interval_ns, series.covers
        if covers is None or series.timed_steps != series.steps:
            return
        if len(covers) == 3 and covers[1] == 1 < covers[2]:
            times, covers = times[2:] - times[1:2], covers[2:] - 1
        elif len(covers) == 1 and times[0] < LONG_BLOCK_NS:
            return  # mostly the time of entering the code
        blocks = zip((times / covers).tolist(), covers.tolist(), strict=True)
        self.plain.extend(block for block in blocks if block[0] > 0)
        if series.inside_ns:
            of_a_step = {key: ns / series.steps for key, ns in series.inside_ns.items()}
            self.inside.append((series.steps, of_a_step))

    def _add_timed(self, series: StepSeries) -> None:
        """Add steps with timed operations."""
        times = self._times(series)
        if not self.parts.count:
            times = times[:, _cold(times.shape[1]) :]
        elif times.shape[1] >= WHOLE_CHUNK:
            times = times[:, 1:]
        elif self._entry_ns < times[-2, 0]:
            times[-2:, 0] -= self._entry_ns
        usual = self._without_disturbed(times, series.off_cpu_ns)
        self.disturbed += times.shape[1] - usual.shape[1]
        self._count_parts(usual)
        self.totals.add_sample(usual, self.stamps)
        self._add_slow(usual)

    def _count_parts(self, times: Samples) -> None:
        """Count times of parts, scaling the share of a fused operation up to the time of the fused code."""
        if self._shares is None:
            shares = np.array([*self.stamps, 1.0])
            self._shares = np.where(shares > 0, shares, 1.0)
        self.parts.add(np.rint(times / self._shares[:, None]))

    def _add_slow(self, times: Samples) -> None:
        """Sum the excess of slow steps over the usual step, part by part."""
        if not times.shape[1] or self.parts.count < FEWEST_USUAL:
            return
        slow = times[:, times[-1] > SLOW * self.median(len(times) - 1)]
        if slow.shape[1]:
            usual = np.array([self.median(row) for row in range(len(times))])
            self.slow_ns += slow.sum(axis=1) - slow.shape[1] * usual
            self.slow_steps += slow.shape[1]

    def _times(self, series: StepSeries) -> Samples:
        """Return the rows of a chunk: operations, storing rows, the rest, the whole."""
        assert series.op_ns is not None
        whole = series.interval_ns
        copies = series.copy_ns if series.copy_ns is not None else np.zeros_like(whole)
        rest = np.maximum(whole - copies - series.op_ns.sum(axis=0), 0)
        return np.vstack([series.op_ns, copies, rest, whole]).astype(np.float64)

    def _without_disturbed(self, times: Samples, off_cpu_ns: int) -> Samples:
        """Return the steps without those that were descheduled: the longest ones that account for the time off the CPU."""
        if off_cpu_ns < OFF_CPU_NS or not times.shape[1]:
            return times
        whole = times[-1]
        usual = median_of(whole) if len(whole) >= 3 else self.median(len(times) - 1) or whole.min()
        over = whole - usual
        longest = np.argsort(-over, kind="stable")
        before = np.cumsum(over[longest]) - over[longest]
        disturbed = longest[(before < 0.8 * off_cpu_ns) & (over[longest] > DISTURBED_NS)]
        return np.delete(times, disturbed, axis=1)


def _median_over(times: Iterable[tuple[float, int]]) -> float:
    """Return the median of times, each weighted by its number of steps."""
    ordered = sorted(times)
    until = np.cumsum([steps for _, steps in ordered])
    return ordered[int(np.searchsorted(until, until[-1] / 2))][0]


def _cold(steps: int) -> int:
    return min(COLD, steps // 2) if steps >= COLD else 0
