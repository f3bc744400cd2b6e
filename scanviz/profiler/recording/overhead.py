"""What taking a time costs: the price of a stamp, as generated code takes it between NumPy calls.

It is the difference that stamps make to a short loop of NumPy calls, the median over a few rounds, and it is measured when it is
first asked for, not at start-up.  What else watching takes is measured where it happens (``OwnTime`` in
:mod:`scanviz.engine.runtime.events`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import perf_counter_ns
from typing import Any, NamedTuple, Protocol

import numpy as np


class Prices(Protocol):
    """Where the price of a stamp comes from."""

    @property
    def stamp_ns(self) -> float:
        """Nanoseconds of one time stamp, while the step runs."""
        ...


class OverheadCalibration(NamedTuple):
    """A price that is known.

    Attributes
    ----------
    stamp_ns : float
        Nanoseconds of one time stamp, while the step runs.
    """

    stamp_ns: float = 0.0


class MeasuredOverhead:
    """The price on this machine, measured once a process when it is first asked for."""

    __slots__ = ()

    @property
    def stamp_ns(self) -> float:
        """Nanoseconds of one time stamp, while the step runs."""
        return stamp_cost()


FREE = OverheadCalibration()
_STAMPS = 200
_ROUNDS = 7


@cache
def stamp_cost() -> float:
    """Return the nanoseconds that one ``record(clock())`` takes between NumPy calls.

    Alone in a loop it takes about half: there it finds caches and branch predictors as it left them.
    """
    values, result = np.ones(64), np.empty(64)
    kept: list[int] = []
    stamped = _differences(lambda: _stamped(values, result, kept), lambda: _unstamped(values, result))
    return max(0, sorted(stamped)[_ROUNDS // 2]) / _STAMPS


def _timed(work: Callable[[], object]) -> int:
    begun = perf_counter_ns()
    work()
    return perf_counter_ns() - begun


def _differences(work: Callable[[], object], less: Callable[[], object]) -> list[int]:
    """Return how much longer one piece of work takes than another, round by round."""
    return [_timed(work) - _timed(less) for _ in range(_ROUNDS)]


def _stamped(values: Any, result: Any, kept: list[int]) -> None:
    kept.clear()
    record, clock, multiply, tanh = kept.append, perf_counter_ns, np.multiply, np.tanh
    for _ in range(_STAMPS):
        multiply(values, 0.5, result)
        tanh(result, result)
        record(clock())


def _unstamped(values: Any, result: Any) -> None:
    multiply, tanh = np.multiply, np.tanh
    for _ in range(_STAMPS):
        multiply(values, 0.5, result)
        tanh(result, result)
