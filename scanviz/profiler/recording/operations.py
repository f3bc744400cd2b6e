"""Times of single operations: of a program's, told one by one and added up, or of a loop's step, told by chunks of steps.

Of a step's operations a histogram each is kept, so that a step in which the thread did not run, or a rare slow one, moves no number
that is shown.  Next to them are kept the times that are compared to find out what stamps cost in this very loop.
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

RECENT_CALLS = 256  # calls whose times are kept for medians, the last ones
PENDING_TIMED = 4096  # times gathered before they are counted
PENDING_STRETCHES = 64  # of steps without times of operations
COLD = 8  # steps at the start of the first timed chunk that pay for cold code: not taken, where others follow
WHOLE_CHUNK = 8  # steps of a chunk whose first step, which enters its code, is left out
OFF_CPU_NS = 20_000  # nanoseconds off the CPU that are no error of the clocks
DISTURBED_NS = 5_000  # and what a step must have taken beyond the others for that to have been there
PAIRS = 256  # comparisons with plain steps that are kept, the last ones
LONG_BLOCK_NS = 20_000  # nanoseconds: what entering its code takes is known to one
FEWEST_LONG = 2
SLOW = 2.0  # times the usual step
FEWEST_USUAL = 16  # steps, to know what is usual
LENGTHS = 16  # lengths of plain blocks that wait for a block to be compared with


class OperationTally:
    """Times of the operations of a program, told one by one."""

    __slots__ = ("_counts", "_measures", "_recent", "_totals")

    def __init__(self, count: int) -> None:
        self._recent: deque[Samples] = deque(maxlen=RECENT_CALLS)
        self._totals, self._counts = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._measures: dict[int, dict[str, float]] = {}

    def add_one(self, index: int, elapsed_ns: int) -> None:
        """Take one time of one operation."""
        if 0 <= index < len(self._totals):
            self._totals[index] += elapsed_ns
            self._counts[index] += 1

    def add_table(self, times: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:
        """Take the times of all operations in several calls: int64, shape (calls, operations)."""
        if times.shape[1] == len(self._totals):
            self._totals += times.sum(axis=0)
            self._counts += len(times)
            self._recent.extend(times[-RECENT_CALLS:])

    def measured(self, index: int, name: str, value: float) -> None:
        """Take a number of one operation."""
        if 0 <= index < len(self._totals):
            aggregated(self._measures.setdefault(index, {}), declared("operation", name), value)

    def records(self, operations: tuple[OperationRecord, ...]) -> tuple[OperationRecord, ...]:
        """Return the operations with their average times, and as typical ones medians where they were timed call by call."""
        if len(operations) != len(
            self._totals
        ):  # they are not described yet: another thread compiled the function just now
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
    """Times of the parts of a loop's step, and what is compared to see what stamps cost.

    Attributes
    ----------
    parts : HistogramTable
        A row an operation, then storing rows, the rest of the step, and the whole of it; all with their stamps.  The row of an
        operation that is done as one with others is of all of these: its own share may be much less than a nanosecond.
    stamps : list of float
        How many stamps the times of operations hold, storing rows and the rest: one each, or parts of one, which are their shares
        of the time too.
    totals : StratifiedTotals
        The times of all steps by rows of ``parts``.
    disturbed : int
        Steps left out because the thread did not run in them.
    pairs : deque of float
        How much longer a step with one stamp took than a plain one, from neighbouring blocks of one length.
    plain, plain_steps : deque
        What a plain step took, block by block, and the steps of each block.
    inside : list of (int, dict of int to float)
        Of those blocks in which runs of loops inside were timed, the steps, and what of a step these took, by key.
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
        # steps of a plain block → those that warmed its code up and nanoseconds of another, until its neighbour is there
        self._plain: dict[int, tuple[int, float | None]] = {}
        self._entries = Histogram()  # what entering the code takes, which chunks of single stamps tell
        self._waiting: list[tuple[StepSeries, list[Stretch]]] = []  # with the steps before them
        self._between: list[Stretch] = []
        self._weight = 0  # numbers that wait

    def plain_ns(self) -> float:
        """Return the median plain step, over steps: of few nanoseconds, short blocks are mostly what entering them takes."""
        return _median_over(np.array(self.plain), np.array(self.plain_steps))

    def inside_ns(self, loop: int) -> float | None:
        """Return what of a plain step a loop inside takes; None where its runs were not timed there."""
        if not any(loop in times for _, times in self.inside):
            return None
        found = [times.get(loop, 0.0) for _, times in self.inside]
        return _median_over(np.array(found), np.array([steps for steps, _ in self.inside]))

    def long_plain_ns(self) -> float | None:
        """Return the same of blocks so long that the error of what entering them takes is little; None where they are too few."""
        times, steps = np.array(self.plain), np.array(self.plain_steps)
        are_long = times * steps >= LONG_BLOCK_NS
        if are_long.sum() < FEWEST_LONG:
            return None
        return _median_over(times[are_long], steps[are_long])

    @property
    def steps(self) -> int:
        """How many steps have the times of their parts counted."""
        self.flush()
        return self.parts.count

    def median(self, row: int) -> float:
        """Return the median time of a part."""
        return self.quantile(row, 0.5)

    def quantile(self, row: int, share: float) -> float:
        """Return the time that ``share`` of a part's times do not exceed."""
        return self.parts.quantile(row, share) * self.share(row)

    def share(self, row: int) -> float:
        """Return how much of what a row of ``parts`` is of is this part's."""
        return 1.0 if self._shares is None else float(self._shares[row])

    def add(self, series: StepSeries) -> None:
        """Take a chunk of steps of any kind."""
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
        """Take steps for which samples stand."""
        self._between.extend(stretches)
        if len(self._between) >= PENDING_STRETCHES:
            self.flush()

    def _add_plain(self, series: StepSeries) -> None:
        """Take a control block: one time, or that of steps which warm its code up, of one step, and of the others."""
        if series.covers is None or series.timed_steps != series.steps:
            return
        times, covers = series.interval_ns.tolist(), series.covers.tolist()
        if len(covers) == 1:
            warm, step_ns = 0, times[0] / covers[0]
        elif len(covers) == 3 and covers[1] == 1 < covers[2]:
            warm, step_ns = covers[0], (times[2] - times[1]) / (covers[2] - 1)  # entering the code is in both
        else:
            return
        if step_ns <= 0:  # the thread lost the processor in the one step that shows what entering takes
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
        """Take blocks of steps that were timed in the usual code."""
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
        """Count what waits."""
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
        """Count times of parts: of operations that share a stamp the time of all that do, by a part's share of it."""
        if self._shares is None:
            shares = np.array([*self.stamps, 1.0])
            self._shares = np.where(shares > 0, shares, 1.0)
        self.parts.add(np.rint(times / self._shares[:, None]))

    def _add_slow(self, times: Samples) -> None:
        """Add up what slow steps took beyond the usual, part by part: in which of them they were slow."""
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
        """Return the steps but those in which the thread was off the CPU: the longest, as far as they account for it."""
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
    """Return the median time, each as often as it has steps."""
    order = np.argsort(times, kind="stable")
    until = np.cumsum(steps[order])
    return float(times[order[np.searchsorted(until, until[-1] / 2)]])


def _cold(steps: int) -> int:
    return min(COLD, steps // 2) if steps >= COLD else 0


__all__ = ["COLD", "OperationTally", "StepTally"]
