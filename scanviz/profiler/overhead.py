"""What recording costs: the calibrated price of one time stamp, as generated code takes it."""

from __future__ import annotations

from functools import cache
from statistics import median
from time import perf_counter_ns

_STAMPS = 2000
_ROUNDS = 7


@cache
def stamp_cost() -> float:
    """Return the nanoseconds that one ``record(clock())`` takes here: the median of a few short loops, less the loop."""
    return max(0.0, median(_stamped() for _ in range(_ROUNDS)) - median(_empty() for _ in range(_ROUNDS)))


def _stamped() -> float:
    kept: list[int] = []
    record, clock = kept.append, perf_counter_ns
    begun = perf_counter_ns()
    for _ in range(_STAMPS):
        record(clock())
    return (perf_counter_ns() - begun) / _STAMPS


def _empty() -> float:
    begun = perf_counter_ns()
    for _ in range(_STAMPS):
        pass
    return (perf_counter_ns() - begun) / _STAMPS
