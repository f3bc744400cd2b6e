"""What recording costs: the calibrated price of a time stamp and of a batch of steps, as the engine takes them.

Each price is the median over a few short loops of the same code; time spent in the recorder itself is measured instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import median
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.observe import Observer, StepSeries


class Price(NamedTuple):
    """Nanoseconds that recording costs.

    Attributes
    ----------
    stamp_ns : float
        One time stamp, while the step runs.
    telling_ns : float
        Turning it into a duration afterwards.
    chunk_ns : float
        Handing over one batch of steps.
    """

    stamp_ns: float = 0.0
    telling_ns: float = 0.0
    chunk_ns: float = 0.0


FREE = Price()
_STAMPS = 1000
_BATCHES = 50
_ROUNDS = 7


@cache
def stamp_cost() -> float:
    """Return the nanoseconds that one ``record(clock())`` takes here, the loop around it taken off."""
    return max(0.0, _typical(_stamped) - _typical(_empty)) / _STAMPS


@cache
def telling_cost() -> float:
    """Return the nanoseconds of turning one stamp into a duration, once the step is done."""
    stamps = list(range(10**15, 10**15 + _STAMPS))
    return _typical(lambda: _durations(stamps)) / _STAMPS


@cache
def chunk_cost() -> float:
    """Return the nanoseconds of handing one batch of steps over, beyond its stamps and the time in the recorder."""
    return _typical(_handed_over) / _BATCHES


def measured_price() -> Price:
    """Return what recording costs on this machine, measured once a process in about 3 ms."""
    return Price(stamp_cost(), telling_cost(), chunk_cost())


def _typical(work: Callable[[], object]) -> float:
    return median(_timed(work) for _ in range(_ROUNDS))


def _timed(work: Callable[[], object]) -> int:
    begun = perf_counter_ns()
    work()
    return perf_counter_ns() - begun


def _stamped() -> None:
    kept: list[int] = []
    record, clock = kept.append, perf_counter_ns
    for _ in range(_STAMPS):
        record(clock())


def _empty() -> None:
    for _ in range(_STAMPS):
        pass


def _durations(stamps: list[int]) -> Any:
    return np.diff(np.array(stamps, np.int64))


def _handed_over() -> None:
    watching = (Observer(),)
    for _ in range(_BATCHES):
        kept: list[int] = [perf_counter_ns()]
        kept.append(perf_counter_ns())
        series = StepSeries(0, 0, _durations(kept))
        for each in watching:
            each.loop_steps(series)
