"""Aggregate times of operations: of a program one by one, of a loop's step by chunks of steps.

Each operation of a step has a histogram, so that a descheduled or rare slow step moves no displayed number.  The tally also keeps
the times whose comparison gives the cost of stamps in this loop.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from scanviz.profiler.recording.stratified import StratifiedTotals, Stretch, stretches_of
from scanviz.record.measures import aggregated, declared
from scanviz.record.statistics import Histogram, HistogramTable, median_of

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries
    from scanviz.record.loops import Samples
    from scanviz.record.model import OperationRecord

RECENT_CALLS = 256  # latest calls whose times are kept for medians
PENDING_TIMED = 4096  # times gathered before they are counted
PENDING_STRETCHES = 64  # stretches of steps without times of operations gathered before they are counted
COLD = 8  # steps at the start of the first timed chunk that pay for cold code: left out if others follow
WHOLE_CHUNK = 8  # chunks of so many steps leave out their first step, which enters the code
OFF_CPU_NS = 20_000  # nanoseconds off the CPU beyond the error of the clocks
DISTURBED_NS = 5_000  # least excess of a step that was descheduled
PAIRS = 256  # latest comparisons with plain steps that are kept
LONG_BLOCK_NS = 20_000  # plain blocks of which entering the code is a negligible part
FEWEST_LONG = 2  # such blocks that are needed
SLOW = 2.0  # a slow step takes more than so many times the usual one
FEWEST_USUAL = 16  # steps that define the usual step
LENGTHS = 16  # distinct lengths of plain blocks that wait for a comparable block


class OperationTally:
    """Times of the operations of a program."""

    __slots__ = ("_counts", "_measures", "_recent", "_totals")

    def __init__(self, count: int) -> None:
        self._recent: deque[Samples] = deque(maxlen=RECENT_CALLS)
        self._totals, self._counts = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._measures: dict[int, dict[str, float]] = {}

    def add_one(self, index: int, elapsed_ns: int) -> None:
        """Add one time of one operation."""
        if 0 <= index < len(self._totals):
            self._totals[index] += elapsed_ns
            self._counts[index] += 1

    def add_table(self, times: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:
        """Add the times of all operations in several calls: int64, shape (calls, operations)."""
        if times.shape[1] == len(self._totals):
            self._totals += times.sum(axis=0)
            self._counts += len(times)
            self._recent.extend(times[-RECENT_CALLS:])

    def measured(self, index: int, name: str, value: float) -> None:
        """Add a measure of one operation."""
        if 0 <= index < len(self._totals):
            aggregated(self._measures.setdefault(index, {}), declared("operation", name), value)

    def records(self, operations: tuple[OperationRecord, ...]) -> tuple[OperationRecord, ...]:
        """Return the operations with their mean times, and with medians as typical times if they were timed call by call."""
        # not described yet: another thread has just compiled the function
        if len(operations) != len(self._totals):
            return operations
        means = [
            total / count if count else None
            for total, count in zip(self._totals.tolist(), self._counts.tolist(), strict=True)
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
            for k, (operation, count) in enumerate(zip(operations, self._counts.tolist(), strict=True))
        )


class StepTally:
    """Times of the parts of a loop's step, and the comparisons that give the cost of stamps.

    Attributes
    ----------
    parts : HistogramTable
        One row per operation, then storing rows, the rest of the step, and the whole step; all include their stamps.  Operations
        that are fused share the time of the fused code in each of their rows: a share may be far below a nanosecond.
    stamps : list of float
        Number of stamps in the time of each operation, of storing rows and of the rest: one, or a share of one for fused
        operations, which is their share of the time too.
    totals : StratifiedTotals
        Times of all steps by rows of ``parts``.
    disturbed : int
        Steps left out because the thread was descheduled.
    pairs : deque of float
        Excess of a step with one stamp over a plain one, from neighbouring blocks of equal length.
    plain, plain_steps : deque
        Time of a plain step in each plain block, and the number of steps of the block.
    inside : list of (int, dict of int to float)
        For plain blocks with timed inner loops, the number of steps, and the time per step of each inner loop by key.
    is_plain : bool
        Whether these blocks are all that have times, since the usual code takes them.
    slow_steps : int
        Steps in which the thread ran and that took much longer than the usual one.
    slow_ns : numpy.ndarray
        By how much they were longer together, by rows of ``parts``.
    """

    __slots__ = (
        "_between", "_count", "_entries", "_plain", "_shares", "_waiting", "_warm", "_weight", "disturbed", "inside",
        "is_plain", "pairs", "parts", "plain", "plain_steps", "slow_ns", "slow_steps", "stamps", "totals",
    )  # fmt: skip

    def __init__(self, count: int) -> None:
        self._count = count
        self.stamps = [1.0] * (count + 2)
        self._shares: Samples | None = (
            None  # of rows of ``parts``, as they were when the first of these were counted
        )
        self.parts, self.totals, self.disturbed = HistogramTable(count + 3), StratifiedTotals(count + 3), 0
        self.slow_steps, self.slow_ns = 0, np.zeros(count + 3)
        self.pairs: deque[float] = deque(maxlen=PAIRS)
        self.plain: deque[float] = deque(maxlen=PAIRS)
        self.plain_steps: deque[int] = deque(maxlen=PAIRS)
        self.inside: list[tuple[int, dict[int, float]]] = []
        self._warm = self.is_plain = False
        # steps of a plain block → its warm-up steps and the nanoseconds of a step, until its neighbour arrives
        self._plain: dict[int, tuple[int, float | None]] = {}
        self._entries = Histogram()  # times of entering the code, from chunks with one stamp per step
        self._waiting: list[tuple[StepSeries, list[Stretch]]] = []  # with the steps before them
        self._between: list[Stretch] = []
        self._weight = 0  # gathered numbers

    def plain_ns(self) -> float:
        """Return the median plain step, weighted by steps: short blocks of very short steps consist mostly of entering the code."""
        return _median_over(np.array(self.plain), np.array(self.plain_steps))

    def inside_ns(self, loop: int) -> float | None:
        """Return the time of an inner loop in a plain step; None if its runs were not timed there."""
        if not any(loop in times for _, times in self.inside):
            return None
        found = [times.get(loop, 0.0) for _, times in self.inside]
        return _median_over(np.array(found), np.array([steps for steps, _ in self.inside]))

    def long_plain_ns(self) -> float | None:
        """Return the median plain step of long blocks, where entering the code is negligible; None if they are too few."""
        times, steps = np.array(self.plain), np.array(self.plain_steps)
        are_long = times * steps >= LONG_BLOCK_NS
        if are_long.sum() < FEWEST_LONG:
            return None
        return _median_over(times[are_long], steps[are_long])

    @property
    def steps(self) -> int:
        """Number of steps with counted times of parts."""
        self.flush()
        return self.parts.count

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
            self.pass_by(*stretches_of(series))
        if series.control:
            if not self.is_plain:
                self._add_plain(series)
        elif series.plain and series.covers is not None:
            self._add_blocks(series)
        elif series.op_ns is None:
            self._add_stamped(series)
        elif len(series.op_ns) == self._count and len(series.interval_ns) and series.covers is None:
            if series.op_stamps is not None:
                self.stamps = [*series.op_stamps, 1.0, 1.0]
            self._waiting.append((series, self._between))
            self._between = []
            self._weight += len(series.interval_ns) * self._count
            if self._weight >= PENDING_TIMED or len(self._waiting) >= 32:
                self.flush()

    def pass_by(self, *stretches: Stretch) -> None:
        """Add steps that the samples represent."""
        self._between.extend(stretches)
        if len(self._between) >= PENDING_STRETCHES:
            self.flush()

    def _add_plain(self, series: StepSeries) -> None:
        """Add a control block: one time, or the times of warm-up steps, of one step, and of the others."""
        if series.covers is None or series.timed_steps != series.steps:
            return
        times, covers = series.interval_ns.tolist(), series.covers.tolist()
        if len(covers) == 1:
            warm, step_ns = 0, times[0] / covers[0]
        elif len(covers) == 3 and covers[1] == 1 < covers[2]:
            warm, step_ns = covers[0], (times[2] - times[1]) / (covers[2] - 1)  # entering the code is in both
        else:
            return
        if step_ns <= 0:  # the thread was descheduled in the step that measures entering the code
            return
        if len(self._plain) >= LENGTHS:
            self._plain.clear()
        self._plain[series.steps] = warm, step_ns
        if warm and not self._warm:
            self._warm = True
            self.plain.clear()
            self.plain_steps.clear()  # blocks too short to be warmed up are all that short runs have, and worse
            self.inside.clear()
        if warm or not self._warm:
            self.plain.append(step_ns)
            self.plain_steps.append(series.steps)
            if series.inside_ns:
                of_a_step = {key: ns / series.steps for key, ns in series.inside_ns.items()}
                self.inside = [*self.inside[-PAIRS + 1 :], (series.steps, of_a_step)]

    def _add_blocks(self, series: StepSeries) -> None:
        """Add blocks of steps that were timed in the usual code."""
        assert series.covers is not None
        if not self.is_plain:
            self.is_plain = True
            self.plain.clear()
            self.plain_steps.clear()
        self.plain.extend((series.interval_ns / series.covers).tolist())
        self.plain_steps.extend(series.covers.tolist())

    def _add_stamped(self, series: StepSeries) -> None:
        if series.covers is not None or not series.steps:
            return
        times = series.interval_ns
        warm, plain_ns = self._plain.pop(series.steps, (0, None))
        if plain_ns is not None and len(times) == series.steps:
            stamped_ns = float(times[warm:].mean()) if warm else series.span_ns / series.steps
            self.pairs.append(stamped_ns - plain_ns)
            self._entries.add_one(series.entry_ns)

    def flush(self) -> None:
        """Count the gathered times."""
        waiting, self._waiting, self._weight = self._waiting, [], 0
        for series, before in waiting:
            self.totals.pass_by(*before)
            times = self._times(series)
            if not self.parts.count:
                times = times[:, _cold(times.shape[1]) :]
            elif times.shape[1] >= WHOLE_CHUNK:
                times = times[:, 1:]
            elif times.shape[1]:
                entry = min(int(self._entries.median), int(times[-2, 0]))
                times[-2:, 0] -= entry
            usual = self._without_disturbed(times, series.off_cpu_ns)
            self.disturbed += times.shape[1] - usual.shape[1]
            self._count_parts(usual)
            self.totals.add_sample(usual, self.stamps)
            self._add_slow(usual)
        self.totals.pass_by(*self._between)
        self._between = []

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


def _median_over(times: Samples, steps: Samples) -> float:
    """Return the median time, weighted by steps."""
    order = np.argsort(times, kind="stable")
    until = np.cumsum(steps[order])
    return float(times[order[np.searchsorted(until, until[-1] / 2)]])


def _cold(steps: int) -> int:
    return min(COLD, steps // 2) if steps >= COLD else 0


__all__ = ["COLD", "OperationTally", "StepTally"]
