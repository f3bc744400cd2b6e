"""Measure the cost of a stamp as generated code takes it between NumPy calls.

The cost is the difference that stamps make to a short loop of NumPy calls, measured in many short alternating rounds at first use,
not at startup.  All other observer overhead is measured where it occurs (``ObserverOverhead`` in
:mod:`scanviz.engine.observation.observer_overhead`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np

Calibration = Callable[[], float]  # nanoseconds of one time stamp, while the step runs
FREE: Calibration = float  # float() is 0
_STAMPS = 40
_ROUNDS = 70  # of three alternating pieces of work, each of about 30 µs


@cache
def stamp_cost() -> float:
    """Measure the nanoseconds of one ``record(clock())`` between NumPy calls.

    A loop of stamps alone needs about half, since caches and branch predictors stay warm.  That is the lower bound of the result
    when the machine changes its speed during the measurement.
    """
    values, result = np.ones(64), np.empty(64)
    kept: list[int] = []
    rounds = [
        (
            _timed(lambda: _stamped(values, result, kept)),
            _timed(lambda: _unstamped(values, result)),
            _timed(lambda: _stamps(kept)),
        )
        for _ in range(_ROUNDS)
    ]
    between = median([more - less for more, less, _ in rounds])
    return max(between, min(alone for _, _, alone in rounds)) / _STAMPS


def _timed(work: Callable[[], object]) -> int:
    begun = perf_counter_ns()
    work()
    return perf_counter_ns() - begun


def _stamped(values: Any, result: Any, kept: list[int]) -> None:
    kept.clear()
    record, clock, multiply, tanh = kept.append, perf_counter_ns, np.multiply, np.tanh
    for _ in range(_STAMPS):
        multiply(values, 0.5, result)
        tanh(result, result)
        record(clock())


def _stamps(kept: list[int]) -> None:
    kept.clear()
    record, clock = kept.append, perf_counter_ns
    for _ in range(_STAMPS):
        record(clock())


def _unstamped(values: Any, result: Any) -> None:
    multiply, tanh = np.multiply, np.tanh
    for _ in range(_STAMPS):
        multiply(values, 0.5, result)
        tanh(result, result)
