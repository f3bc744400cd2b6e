"""Measure the cost of a stamp as generated code takes it between NumPy calls.

The cost is the difference that stamps make to a short loop of NumPy calls, measured in many short alternating rounds at first use,
not at startup.  The cost of entering and leaving a function, which no clock inside it can see, is measured the same way.  All other
observer overhead is measured where it occurs (``ObserverOverhead`` in :mod:`scanviz.engine.observation.observer_overhead`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np


class OverheadCalibration:
    """The cost of a stamp and of a call.

    Parameters
    ----------
    stamp_ns : float, optional
        Nanoseconds of one time stamp, while the step runs; by default measured once per process, at first use.
    call_ns : float, optional
        Nanoseconds of entering and leaving a call, before its clock is read first and after it is read last; likewise.
    """

    def __init__(self, stamp_ns: float | None = None, call_ns: float | None = None) -> None:
        self._stamp_ns, self._call_ns = stamp_ns, call_ns

    @property
    def stamp_ns(self) -> float:
        """Nanoseconds of one time stamp."""
        return stamp_cost() if self._stamp_ns is None else self._stamp_ns

    @property
    def call_ns(self) -> float:
        """Nanoseconds of entering and leaving a call."""
        return call_cost() if self._call_ns is None else self._call_ns


FREE = OverheadCalibration(0.0, 0.0)
_STAMPS = 40
_ROUNDS = 70  # of three alternating pieces of work, each of about 30 µs
_CALLS, _CALL_ROUNDS = 60, 7


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


@cache
def call_cost() -> float:
    """Measure the nanoseconds of a call before its first clock reading and after its last.

    As with stamps, the call does some NumPy work: an empty call needs half the time.
    """
    # a late import: a script that builds no function does not wait for it
    from scanviz.engine.function.callable import Function

    called, values, stub = Function.__new__(Function), (np.ones(64), np.empty(64)), _StubCalls()
    made: Any = called  # a function without a program
    made._observed = made.profile_observer = stub

    def around() -> int:
        stub.inside_ns, begun = 0, perf_counter_ns()
        for _ in range(_CALLS):
            called(*values)
        return perf_counter_ns() - begun - stub.inside_ns

    return max(0, median([around() for _ in range(_CALL_ROUNDS)])) / _CALLS


class _StubCalls:
    """A stand-in for a function's observed calls, which does a little NumPy work between its clock readings."""

    def __init__(self) -> None:
        self.inside_ns = 0

    def call(self, values: tuple[Any, ...], named: dict[str, Any], observers: tuple[Any, ...]) -> Any:
        begun = perf_counter_ns()
        given, result = values
        for _ in range(4):
            np.tanh(np.multiply(given, 0.5, result), result)
        found = [result]
        self.inside_ns += perf_counter_ns() - begun
        return found


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
