"""Totals of the parts of all steps, estimated from the samples of steps whose operations were timed.

A sample stands for half of the steps since the sample before and half of those until the next; where steps of the two take
different times, for those whose time is nearer to its own.  So a total is right where steps change as a loop goes on.  A median
times the number of steps is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scanviz.engine.observation.events import StepSeries

Times = np.ndarray[Any, Any]

DIFFERENT = 1.5  # times as long
PIECES = 4  # of a chunk of steps, for half of the time between two samples to be found
MOST_PIECES = 48  # between two samples
LEAST_LEFT = 0.1  # of a timed step, which stamps take at most less than


class Stretch(NamedTuple):
    """Steps that followed one another, and nanoseconds."""

    steps: int
    ns: float


class _Sample(NamedTuple):
    """Timed steps: how many, the times of their parts together, and without stamps; and the time before that they stand for."""

    steps: int
    parts_ns: Times
    worked_ns: float
    before_ns: float


class StratifiedTotals:
    """Times of parts over all steps.

    Parameters
    ----------
    rows : int
        How many parts a step has; the last is the whole step.

    Attributes
    ----------
    steps, timed_steps, ticked_steps : int
        Steps that have a time, alone or with others; of them those whose operations were timed, and those with one stamp.
    ns : int
        Their time, with all stamps.

    Examples
    --------
    >>> totals = StratifiedTotals(3)
    >>> totals.add_sample(np.array([[8.0], [2.0], [10.0]]), [1.0, 1.0])  # step 0
    >>> totals.pass_by(Stretch(9, 90.0), Stretch(9, 9.0))  # steps 1 to 18
    >>> totals.add_sample(np.array([[0.0], [1.0], [1.0]]), [1.0, 1.0])  # step 19
    >>> totals.estimate()[0].tolist()
    [128.0, 42.0, 170.0]
    """

    __slots__ = ("_between", "_latest", "_parts_ns", "_weight", "ns", "steps", "ticked_steps", "timed_steps")

    def __init__(self, rows: int) -> None:
        self._parts_ns: Times = np.zeros(rows)  # of all samples but the latest, each times its weight
        self._weight = 0.0  # their steps, likewise
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
        """Take steps whose operations were not timed."""
        self._between.extend(stretches)
        if len(self._between) > MOST_PIECES:
            pairs = (self._between[k : k + 2] for k in range(0, len(self._between), 2))
            self._between = [Stretch(sum(one.steps for one in pair), _ns(pair)) for pair in pairs]

    def add_sample(self, times: Times, stamps: Sequence[float]) -> None:
        """Take timed steps: times by part, shape (rows, steps), of which each but the last holds so many stamps."""
        steps, parts_ns = times.shape[1], times.sum(axis=1)
        whole = float(parts_ns[-1])
        if not steps or whole <= 0:
            return
        # a stamp takes no more than the smallest part, which holds one
        stamp_ns = min(
            (ns / held for ns, held in zip(parts_ns.tolist(), stamps, strict=False) if held), default=0.0
        )
        worked = max(whole - sum(stamps) * stamp_ns, LEAST_LEFT * whole)
        before, after = 0.0, _ns(self._between)
        if self._latest is not None:
            before, after = shared_out(
                self._between, self._latest.worked_ns / self._latest.steps, worked / steps
            )
        self._parts_ns, self._weight = self._with_latest(before)
        self._latest, self._between = _Sample(steps, parts_ns, worked, after), []

    def estimate(self) -> tuple[Times, float]:
        """Return the times of the parts of all steps with the stamps that samples have, and in how many steps these are."""
        return self._with_latest(_ns(self._between))

    def _with_latest(self, after_ns: float) -> tuple[Times, float]:
        """Return the sums with the latest sample, which stands for so much time after it."""
        latest = self._latest
        if latest is None:
            return self._parts_ns, self._weight
        weight = 1.0 + (latest.before_ns + after_ns) / latest.worked_ns
        return self._parts_ns + weight * latest.parts_ns, self._weight + weight * latest.steps


def stretches_of(series: StepSeries) -> list[Stretch]:
    """Return a chunk in a few stretches, where its steps have times of their own; else as one."""
    times, steps = series.interval_ns, series.steps
    if series.covers is not None or len(times) != steps or steps < 2 * PIECES:
        return [Stretch(steps, series.span_ns - series.entry_ns)]
    ends = np.arange(PIECES + 1) * steps // PIECES
    sums = np.add.reduceat(times, ends[:-1])
    return [Stretch(*one) for one in zip(np.diff(ends).tolist(), sums.tolist(), strict=True)]


def shared_out(stretches: list[Stretch], before_ns: float, after_ns: float) -> tuple[float, float]:
    """Return the time for which the sample before stands, and the one after: what a step of each takes is given.

    Examples
    --------
    >>> shared_out([Stretch(4, 40.0), Stretch(2, 22.0)], 10.0, 11.0)
    (30.0, 32.0)
    >>> shared_out([Stretch(4, 40.0), Stretch(2, 180.0)], 10.0, 90.0)
    (40.0, 180.0)
    """
    low, high = sorted((before_ns, after_ns))
    if high > DIFFERENT * low:
        middle = math.sqrt(low * high)
        short = sum(one.ns for one in stretches if one.ns <= middle * one.steps)
        long = _ns(stretches) - short
        return (short, long) if before_ns < after_ns else (long, short)
    left, first = sum(one.steps for one in stretches) / 2, 0.0
    for one in stretches:
        first += one.ns * min(1.0, left / max(1, one.steps))
        left = max(0.0, left - one.steps)
    return first, _ns(stretches) - first


def _ns(stretches: list[Stretch]) -> float:
    return float(sum(one.ns for one in stretches))


__all__ = ["StratifiedTotals", "Stretch", "shared_out", "stretches_of"]
