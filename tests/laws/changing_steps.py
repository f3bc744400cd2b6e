"""Law of loops whose steps change as they go on: totals of operations are those of all steps, not of a typical one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.observation.events import StepSeries
from scanviz.engine.observation.sampling import StepSampler, scheduled
from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.record.loops import LoopRecord, Samples
from scanviz.record.operations import OperationRecord
from tests.laws.law import law

ERROR = 0.08  # of the loop's time
STAMP, TICK, REST = 100, 50, 200


@dataclass(frozen=True)
class ChangingSteps:
    """What each step of a loop takes.

    Attributes
    ----------
    steps : int
        How many.
    until : list of float
        Where phases end, as a part of all steps; the last one at the end.
    phases : list of list of int
        By phase the nanoseconds of each operation where it begins; they go over into those of the next one, or change at once.
    gradual : bool
        Whether they go over.
    """

    steps: int
    until: list[float]
    phases: list[list[int]]
    gradual: bool

    def operations_ns(self) -> Samples:
        """Return what operations take, shape (operations, steps)."""
        begins = np.array([0.0, *self.until[:-1]]) * self.steps
        at, of = np.arange(self.steps), np.array(self.phases)
        if self.gradual:
            return np.rint([np.interp(at, begins, row) for row in of.T]).astype(np.int64)
        return of[np.searchsorted(begins, at, side="right") - 1].T.copy()


@st.composite
def changing_steps(draw: st.DrawFn) -> ChangingSteps:
    """Draw a loop of two or three operations; one may be long while the other is short."""
    count, lengths = draw(st.integers(2, 3)), draw(st.lists(st.integers(2, 5), min_size=2, max_size=3))
    times = st.sampled_from([1_000, 5_000, 20_000, 100_000])
    return ChangingSteps(
        draw(st.sampled_from([3_000, 8_000, 20_000])),
        (np.cumsum(lengths) / sum(lengths)).tolist(),
        [draw(st.lists(times, min_size=count, max_size=count)) for _ in lengths],
        draw(st.booleans()),
    )


def _series(loop: ChangingSteps) -> Iterator[StepSeries]:
    """Iterate over the events of the loop under its schedule."""
    operations = loop.operations_ns()
    plain = operations.sum(axis=0) + REST
    schedule = StepSampler(control=True)
    for variant, first, end in scheduled(loop.steps, True, schedule):
        span, times = slice(first, end), plain[first:end]
        schedule.took(end - first, int(times.sum()))
        if variant == "plain":
            covers = np.array([end - first])
            yield StepSeries(1, first, np.array([times.sum()]), covers=covers, control=True)
        elif variant == "steps":
            yield StepSeries(1, first, times + TICK)
        else:
            parts = operations[:, span] + STAMP
            copies, rest = np.full(end - first, STAMP), np.full(end - first, REST + STAMP)
            yield StepSeries(1, first, parts.sum(axis=0) + copies + rest, op_ns=parts, copy_ns=copies)


def profiled(loop: ChangingSteps) -> LoopRecord:
    """Return a record's numbers of the loop."""
    operations = tuple(OperationRecord(k, "·", "operation", "", None) for k in range(len(loop.phases[0])))
    what = LoopRecord(1, 1, None, "changing", None, operations=operations)
    made = LoopAggregate(what, lambda: float(STAMP))
    made.detailed = True
    made.begin(0, 0, 0)
    whole = 0
    for series in _series(loop):
        made.take(0, series)
        whole += series.span_ns
    made.end(0, loop.steps, whole, 0, failed=False)
    return made.snapshot(0)


@law(sample=25, loop=changing_steps())
def shares_of_operations_hold_for_all_steps(loop: ChangingSteps) -> None:
    """Shares of operations stay near those of all steps when steps get longer or shorter or another operation dominates."""
    record, truth = profiled(loop), loop.operations_ns().sum(axis=1)
    whole = truth.sum() + REST * loop.steps
    stated = [record.ran_ns(operation) for operation in record.operations]
    for took, reported in zip(truth.tolist(), stated, strict=True):
        assert abs(reported - took) <= ERROR * whole, (stated, truth.tolist())
