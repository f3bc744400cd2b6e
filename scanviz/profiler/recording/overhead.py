"""What recording costs: the calibrated price of a time stamp and of a batch of steps, as the engine takes them.

A stamp's price is the difference that it makes to a short loop of NumPy calls, the median over a few rounds.  A batch's is
the difference that watching makes to a small compiled loop, so it holds what the engine does for watchers around the
steps.  Time spent in the recorder itself is measured instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import median
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.observe import Observer
from scanviz.engine.runtime.events import Watch


class OverheadCalibration(NamedTuple):
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


FREE = OverheadCalibration()
_STAMPS = 400
_RUNS = 15
_ROUNDS = 7


@cache
def stamp_cost() -> float:
    """Return the nanoseconds that one ``record(clock())`` takes between NumPy calls.

    Alone in a loop it takes about half: there it finds caches and branch predictors as it left them.
    """
    values, result = np.ones(64), np.empty(64)
    kept: list[int] = []
    stamped = _differences(lambda: _stamped(values, result, kept), lambda: _unstamped(values, result))
    return max(0.0, median(stamped)) / _STAMPS


@cache
def telling_cost() -> float:
    """Return the nanoseconds of turning one stamp into a duration, once the step is done."""
    stamps = list(range(10**15, 10**15 + _STAMPS))
    return _typical(lambda: _durations(stamps)) / _STAMPS


@cache
def chunk_cost() -> float:
    """Return the nanoseconds of telling one batch of steps, beyond its stamps and the time in the recorder."""
    run = _small_loop()
    watch = Watch(0, (Observer(),))
    _repeat(run, watch)  # code is made when it is first needed
    difference = median(_differences(lambda: _repeat(run, watch), lambda: _repeat(run, None)))
    return max(0.0, difference / _RUNS - 2 * (stamp_cost() + telling_cost()))


def measured_overhead() -> OverheadCalibration:
    """Return what recording costs on this machine, measured once a process in a few milliseconds."""
    return OverheadCalibration(stamp_cost(), telling_cost(), chunk_cost())


def _typical(work: Callable[[], object]) -> float:
    return median(_timed(work) for _ in range(_ROUNDS))


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


def _durations(stamps: list[int]) -> Any:
    return np.diff(np.array(stamps, np.int64))


def _small_loop() -> Callable[[Watch | None], object]:
    """Return a compiled loop of one step that can be run watched or not, seen by no observer."""
    from scanviz.engine.function import function
    from scanviz.engine.graph.nodes import Variable
    from scanviz.engine.graph.types import TensorType
    from scanviz.engine.scan.build import scan

    x = Variable(TensorType("float64", (None,)), "x")
    sums, _ = scan(lambda x_t, total: total + x_t, x, 0.0, name="calibration")
    executable = function([x], sums, mode="numpy").executable
    values = np.zeros(1)
    return lambda watch: executable.run([values], watch)


def _repeat(run: Callable[[Watch | None], object], watch: Watch | None) -> None:
    for _ in range(_RUNS):
        run(watch)
