"""Loops as records: variables, mappings and operations of a loop, and the times of its runs.

A loop's times come from three kinds of steps.  Most are timed as a whole.  In a sample of them each operation is timed too.  A
few run without any stamp: they give the price of stamps, which is taken off.  The typical step is the median of the whole
steps, and its parts are medians over the sample, scaled to sum to it exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec import field

from scanviz.engine.display import Shown
from scanviz.engine.observe import WAITED
from scanviz.engine.strict import Strict
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.operations import OperationRecord, SideRecord
from scanviz.record.values import DurationRecord, SourceRecord, equal_fields

Samples = np.ndarray[Any, np.dtype[np.int64]]
SAMPLE_REASONS = {0: "every k-th", 1: "first", 2: "last", 3: "slowest"}


FEW_NS = 10  # shorter steps are shown with fractions of nanoseconds
INSIDE = "part of the code of the loop around"  # why a loop has code that was not made for it alone


class TierRecord(Strict, frozen=True):
    """Code compiled for a loop.

    Attributes
    ----------
    tier : str
        By which tier.
    why : str
        Why this one.
    count : int
        Number of compilations: one for each new set of shapes.
    total_ns : int
        Compilation time.
    """

    tier: str
    why: str
    count: int
    total_ns: int

    @property
    def is_wait(self) -> bool:
        """True for the wait for another thread's compilation."""
        return self.why == WAITED


class TimedSteps(NamedTuple):
    """A kept step, or a block of steps.

    Attributes
    ----------
    run, step : int
        The run, and the step or first step.
    time_ns : int
        Nanoseconds a step.
    reason : int
        Why it was kept.
    covers : int
        Number of steps.
    """

    run: int
    step: int
    time_ns: int
    reason: int
    covers: int

    @property
    def words(self) -> str:
        """The steps in words: ``step 3``, ``steps 16–31``."""
        return f"step {self.step}" if self.covers == 1 else f"steps {self.step}–{self.step + self.covers - 1}"

    @property
    def total_ns(self) -> int:
        """Nanoseconds of all these steps."""
        return self.time_ns * self.covers


class LoopRecord(Strict, Shown, frozen=True, eq=False):
    """One loop of one function, over all its runs.

    Attributes
    ----------
    key : int
        Identifies it in this record.
    function : int
        Key of the function it belongs to.
    parent : int or None
        Key of the loop around it.
    name : str
        The user's name, or ``scan at file:line``.
    source : SourceRecord or None
        The line of the ``scan`` call.
    has_until : bool
        Whether it has a stop condition.
    gradient_of : int or None
        Key of the loop that it is the back-propagation of.
    operations : tuple of OperationRecord
        Its step.
    variables : tuple of LoopVariableRecord
        Its loop variables.
    var_mappings : dict of str to dict
        The documents' twelve maps: index → indices.  A map to outer entries has one index, -1 for none.
    connection_pattern : tuple of tuple of bool
        ``[outer input][outer output]``: whether one depends on the other over any number of steps.
    inner_connection_pattern : tuple of tuple of bool
        ``[inner input][inner output]``: whether one depends on the other within a step.
    runs : int
        Number of runs.
    failed_runs : int
        Runs that an error ended.
    running : int
        Runs that had not ended when the record was taken.
    steps : int
        Steps really done, in all runs.
    longest_run : int
        The largest number of steps of one run.
    total_ns : int
        All runs.
    setup_ns : int
        The part of them before the first step and after the last.
    first_run_ns : int
        The first run alone, which pays for code made on demand.
    step_times : DurationRecord
        Of the steps that have a time, the price of stamps taken off; one that was timed in a block has the block's average.  Its
        median is the *typical step*: the time of a step without a profile.
    sampled_steps : int
        Steps that the typical step's parts are made from: each operation was timed in them, they were not the very first, and
        the thread ran all the time.
    disturbed_steps : int
        Steps whose operations were timed and which were left out, because the thread was off the CPU in them.
    control_steps : int
        Steps that ran without stamps, to be compared with the others; they have no time of their own.
    body_ns : float
        The operations of the typical step.  With ``copy_ns`` and ``overhead_ns`` it sums to it exactly; all are 0 where too few
        steps were timed.
    copy_ns : float
        Storing rows of the typical step's results.
    overhead_ns : float
        The rest of the typical step: taking slices and going round the loop.
    cost_ns : float
        Overhead of timing its steps, estimated; part of ``total_ns``.  Counting runs of loops inside them is included.
    recorder_ns : int
        Other overhead of observing its runs: aggregating their times, compiling the instrumented code.  Measured, and part of no
        other time.
    inner_cost_ns : float
        The same as ``cost_ns`` of loops inside it, which is part of ``total_ns`` too.
    inner_recorder_ns : int
        The same as ``recorder_ns`` of loops inside it.
    buffer_bytes : int
        The most that states, results and temporaries took in one run.
    clock : str
        Source of the step times.
    resolution_ns : float
        Resolution of that clock; 0 if unknown.
    stamp_ns : float
        Price of timing one operation, in this loop where it was measured there.
    tick_ns : float
        Price of timing a step; it is taken off the times.
    in_place : bool
        Whether that was seen in this loop, by comparison with steps without a stamp, or is of the calibration at start-up.
    blocks : int
        Number of times that cover several steps at once.
    block_steps : int
        Number of those steps.
    tiers : tuple of TierRecord
        Code that was made for it.
    series_stride : int
        The k of the every-k-th steps in ``series``.
    series : numpy.ndarray
        int64, shape (n, 4), a sample of single steps by run and step: number of the run, number of the step,
        nanoseconds, and why it was kept (0 every k-th, 1 among the first, 2 among the last, 3 among the slowest).
    measures : dict of str to float
        Further numbers, as :mod:`scanviz.record.measures` declares them; unmeasured ones are missing.
    series_covers : tuple of int
        Of how many steps each row of ``series`` is: it begins with the step named, and its time is their average.  Empty where
        each is of one.
    sides : tuple of SideRecord
        Sides of the branches in its step that were taken.
    also_gradient_of : tuple of int
        Keys of further loops that it is the back-propagation of: rewrites may run the gradients of several loops as one.
    does_more : bool
        Whether it, or a loop that it is the back-propagation of, was merged with a loop that the other side knows nothing of; its
        time and theirs then make no ratio.
    """

    key: int
    function: int
    parent: int | None
    name: str
    source: SourceRecord | None
    has_until: bool = False
    gradient_of: int | None = None
    operations: tuple[OperationRecord, ...] = ()
    variables: tuple[LoopVariableRecord, ...] = ()
    var_mappings: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    connection_pattern: tuple[tuple[bool, ...], ...] = ()
    inner_connection_pattern: tuple[tuple[bool, ...], ...] = ()
    runs: int = 0
    failed_runs: int = 0
    running: int = 0
    steps: int = 0
    longest_run: int = 0
    total_ns: int = 0
    setup_ns: int = 0
    first_run_ns: int = 0
    step_times: DurationRecord = field(default_factory=DurationRecord)
    sampled_steps: int = 0
    disturbed_steps: int = 0
    control_steps: int = 0
    body_ns: float = 0.0
    copy_ns: float = 0.0
    overhead_ns: float = 0.0
    cost_ns: float = 0.0
    recorder_ns: int = 0
    inner_cost_ns: float = 0.0
    inner_recorder_ns: int = 0
    buffer_bytes: int = 0
    clock: str = ""
    resolution_ns: float = 0.0
    stamp_ns: float = 0.0
    tick_ns: float = 0.0
    in_place: bool = False
    blocks: int = 0
    block_steps: int = 0
    tiers: tuple[TierRecord, ...] = ()
    series_stride: int = 1
    series: Samples = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    measures: dict[str, float] = field(default_factory=dict)
    series_covers: tuple[int, ...] = ()
    sides: tuple[SideRecord, ...] = ()
    also_gradient_of: tuple[int, ...] = ()
    does_more: bool = False

    @property
    def forward_keys(self) -> tuple[int, ...]:
        """Keys of all forward loops of a backward loop."""
        return () if self.gradient_of is None else (self.gradient_of, *self.also_gradient_of)

    def timed(self) -> list[TimedSteps]:
        """Return the rows of ``series`` by run and step."""
        covers = self.series_covers or (1,) * len(self.series)
        return [
            TimedSteps(run, step, time, reason, count)
            for (run, step, time, reason), count in zip(self.series.tolist(), covers, strict=True)
        ]

    def drawn(self, most: int = 64) -> Samples:
        """Return ``series`` for a chart over steps: a block's row is repeated for its steps, at most ``most`` times."""
        if not self.series_covers:
            return self.series
        covers = np.array(self.series_covers, np.int64)
        count = np.minimum(covers, most)
        rows = np.repeat(self.series, count, axis=0)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
        rows[:, 1] += within * np.repeat(covers, count) // np.repeat(count, count)
        return rows

    def at(self, step: int) -> list[TimedSteps]:
        """Return the kept times of a step, run by run: its own or those of its block."""
        return [
            timed_steps
            for timed_steps in self.timed()
            if timed_steps.step <= step < timed_steps.step + timed_steps.covers
        ]

    @property
    def slowdown(self) -> float:
        """Slowdown of the loop's runs by profiling, inner loops included; 1 if unknown.

        Examples
        --------
        >>> LoopRecord(1, 1, None, "rnn", None, total_ns=1100, cost_ns=100.0, recorder_ns=100).slowdown
        1.2
        """
        without = self.total_ns - self.cost_ns - self.inner_cost_ns
        return (self.total_ns + self.recorder_ns + self.inner_recorder_ns) / without if without > 0 else 1.0

    @property
    def recording_ns(self) -> float:
        """Time that profiling added to the runs; in short ones mostly the compilation of instrumented code."""
        return self.cost_ns + self.inner_cost_ns + self.recorder_ns + self.inner_recorder_ns

    @property
    def typical_ns(self) -> float:
        """The typical step, the sum of its parts; 0 if too few steps were timed for a division."""
        return self.body_ns + self.copy_ns + self.overhead_ns

    @property
    def code_ns(self) -> int:
        """Compilation time, as far as it is part of the loop's time."""
        return min(sum(tier.total_ns for tier in self.tiers), self.total_ns)

    def inner_loop(self, operation: int | None) -> int | None:
        """Return the key of the loop that an operation of the step is; None if it is none."""
        if operation is None or operation >= len(self.operations):
            return None
        return self.operations[operation].loop

    @property
    def median_step_ns(self) -> float:
        """The median step, with fractions if it takes few nanoseconds.

        Examples
        --------
        >>> from scanviz.record.values import DurationRecord
        >>> of = lambda ns, p50: LoopRecord(1, 1, None, "s", None, body_ns=ns, step_times=DurationRecord(9, 9 * p50, p50_ns=p50))
        >>> of(1.625, 2).median_step_ns, of(16.625, 17).median_step_ns, of(1.625, 4).median_step_ns
        (1.625, 17, 4)
        """
        p50, typical = self.step_times.p50_ns, self.typical_ns
        return typical if p50 < FEW_NS and round(typical) == p50 else p50

    @property
    def step_quantiles_ns(self) -> tuple[float, float, float]:
        """The median step, the 95th percentile and the longest step, in increasing order.

        Examples
        --------
        >>> from scanviz.record.values import DurationRecord
        >>> times = DurationRecord(90, 291, p50_ns=3, p95_ns=3, max_ns=80)
        >>> LoopRecord(1, 1, None, "s", None, body_ns=3.25, step_times=times).step_quantiles_ns
        (3.25, 3.25, 80)
        """
        median, times = self.median_step_ns, self.step_times
        return median, max(median, times.p95_ns), max(median, times.max_ns)

    def ran_ns(self, operation: OperationRecord) -> float:
        """Return the estimated time of an operation in all steps, slow ones included."""
        return (operation.typical_ns if operation.mean_ns is None else operation.mean_ns) * self.steps

    @property
    def mean_copy_ns(self) -> float:
        """Time for storing rows in the average step."""
        return self.measures.get("mean_copy_ns", self.copy_ns)

    @property
    def mean_overhead_ns(self) -> float:
        """Loop overhead in the average step: slices and the iteration."""
        return self.measures.get("mean_overhead_ns", self.overhead_ns)

    @property
    def kept_bytes(self) -> int:
        """Bytes of rows kept for the gradient: the largest run's."""
        return sum(variable.row_bytes for variable in self.variables if variable.read_backwards)

    def __eq__(self, other: object) -> bool:
        return equal_fields(self, other) if isinstance(other, LoopRecord) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it holds an array
