"""Running a watched loop in chunks: mostly one stamp a step, now and then one an operation.

With detail ``"steps"`` most chunks run the *steps* variant.  A burst of the *ops* variant follows the first few steps
and then each :data:`PERIOD` steps, about one step in sixty, so that operations get their share of time without being
timed in every step.  With detail ``"ops"`` every step is timed so.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain, islice, tee
from operator import length_hint
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.base import Watch
from scanviz.engine.backends.numpy.source import Variant, stamps_a_step
from scanviz.engine.observe import StepSeries

if TYPE_CHECKING:
    from scanviz.engine.backends.numpy.loop import LoopCall

WARM_UP = 2  # steps before the first burst, which pay for what is cold
FIRST_BURST = 16  # steps of the first burst
PERIOD = 1024  # steps from one burst to the next
BURST = 16  # steps of a later burst


class Pace:
    """Where a loop stands between bursts, from run to run: short runs are told in one chunk, most of them.

    Attributes
    ----------
    until : int
        Steps to run with one time each before the next burst.
    burst : int
        Steps of that burst.
    """

    __slots__ = ("burst", "until")

    def __init__(self) -> None:
        self.until, self.burst = WARM_UP, FIRST_BURST


def chunks(steps: int, detail: str, pace: Pace | None = None) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over (variant, first step, end) for a run of at most ``steps`` steps, moving ``pace`` on.

    Examples
    --------
    >>> list(chunks(100, "steps"))
    [('steps', 0, 2), ('ops', 2, 18), ('steps', 18, 100)]
    """
    if detail != "steps":
        for first in range(0, steps, PERIOD):
            yield "ops", first, min(first + PERIOD, steps)
        return
    pace, first = pace or Pace(), 0
    while first < steps:
        variant: Variant = "steps" if pace.until else "ops"
        end = min(first + (pace.until or pace.burst), steps)
        if pace.until:
            pace.until -= end - first
        else:
            pace.burst -= end - first
            if not pace.burst:
                pace.until, pace.burst = PERIOD - BURST, BURST
        yield variant, first, end
        first = end


def run_watched(call: LoopCall, scratch: list[Any], watch: Watch) -> int:
    """Run all steps, telling observers; return the steps done.  Steps done before an error or ctrl+c are told too."""
    done, spent, key = 0, 0, call.loop.key
    watch.loop_begin(key, call.steps, call.bytes_held())
    try:
        for variant, first, end in chunks(call.steps, watch.detail, call.runner.pace):
            if done == call.steps:  # the stop condition held
                break
            while first < end and done < call.steps:
                last = call.chunk_end(first, end)
                code = call.runner.code.variant(call.made, variant)  # written before the clock starts
                stamps: Ticks | Stamps = Ticks(first, last) if variant == "steps" else Stamps()
                try:
                    first = call.run_chunk(code, first, last, scratch, stamps.record)
                    stamps.end()
                finally:
                    series = stamps.series(call, done)
                    done += len(series.step_ns)
                    spent += int(series.step_ns.sum())
                    if len(series.step_ns):
                        watch.loop_steps(series)
    finally:
        elapsed = perf_counter_ns() - call.begun
        watch.loop_end(key, done, elapsed, max(0, elapsed - spent))
    return done


class Ticks:
    """One time a step, read by the iteration over the steps itself: no call in the step, no cost but the clock's.

    A tick is taken before each step; ``record`` is what the generated code iterates over.
    """

    __slots__ = ("_count", "_counted", "_ended", "_taken", "record")

    def __init__(self, first: int, last: int) -> None:
        self._counted, self._count = iter(range(first, last)), last - first
        ticks, self._taken = tee(iter(perf_counter_ns, None))
        self.record = (self._counted, ticks)
        self._ended: list[int] = []

    def end(self) -> None:
        """Note the time at which the last step was done."""
        self._ended = [perf_counter_ns()]

    def series(self, call: LoopCall, first: int) -> StepSeries:
        """Return the times of the whole steps."""
        begun = self._count - length_hint(self._counted)
        times = np.fromiter(chain(islice(self._taken, begun), self._ended), np.int64)
        return StepSeries(call.loop.key, first, np.diff(times))


class Stamps:
    """A time after each operation, appended by the generated code."""

    __slots__ = ("_times", "record")

    def __init__(self) -> None:
        self._times = array("q", [perf_counter_ns()])  # read as an array without a copy
        self.record = self._times.append

    def end(self) -> None:
        """Nothing is left to note: the last stamp of a step is its end."""

    def series(self, call: LoopCall, first: int) -> StepSeries:
        """Return the times of the whole steps and of their operations."""
        times, a_step = np.frombuffer(self._times, np.int64), stamps_a_step(call.loop)
        steps = (len(times) - 1) // a_step
        table = times[1 : 1 + steps * a_step].reshape(steps, a_step)
        ends = np.concatenate([times[:1], table[:, -1]])
        between = np.diff(table, axis=1)
        return StepSeries(
            call.loop.key, first, np.diff(ends), between[:, :-1].T.copy(), between[:, -1].copy()
        )
