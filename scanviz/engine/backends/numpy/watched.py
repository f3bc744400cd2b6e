"""Running a watched loop in chunks: mostly one stamp a step, now and then one an operation.

With detail ``"steps"`` most chunks run the *steps* variant.  A burst of the *ops* variant follows the first few steps
and then again and again, for one step in :data:`SHARE`, so that operations get their share of time without being timed
in every step.  Chunks are long where steps are short, which costs least, and short where steps are long, so that whoever
watches hears of them while they happen.  With detail ``"ops"`` every step is timed so.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain, islice, tee
from operator import length_hint
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.numpy.source import Variant, stamps_a_step
from scanviz.engine.observe import StepSeries
from scanviz.engine.runtime.events import Watch

if TYPE_CHECKING:
    from scanviz.engine.backends.numpy.loop import LoopCall

WARM_UP = 2  # steps before the first burst, which pay for what is cold
FIRST_BURST = 16  # steps of the first burst
SHARE = 64  # later bursts are one step in so many
LONGEST_BURST = 64  # steps
TELL_NS = 50_000_000  # observers hear of long steps about so often
PERIOD = 1024  # steps of a chunk in which every operation is timed


class Pace:
    """Where a loop stands between bursts, from run to run: short runs are told in one chunk, most of them.

    A run has it to itself while it goes on: runs of the same loop in other threads have others.

    Attributes
    ----------
    until : int
        Steps to run with one time each before the next burst.
    burst : int
        Steps of that burst.
    step_ns : int
        What a step took lately, 0 while that is not known.
    """

    __slots__ = ("burst", "step_ns", "until")

    def __init__(self) -> None:
        self.until, self.burst, self.step_ns = WARM_UP, FIRST_BURST, 0

    def move_on(self) -> None:
        """Begin the time before the next burst."""
        affordable = TELL_NS // (SHARE * max(1, self.step_ns))
        self.burst = min(max(1, affordable), LONGEST_BURST)
        self.until = (SHARE - 1) * self.burst


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
                pace.move_on()
        yield variant, first, end
        first = end


def run_watched(call: LoopCall, scratch: list[Any], watch: Watch) -> int:
    """Run all steps, telling observers; return the steps done.  Steps done before an error or ctrl+c are told too."""
    done, spent, pace = 0, 0, call.runner.paces.take()
    key, code_of = call.loop.key, call.runner.code.variant
    watch.loop_begin(key, call.steps, call.bytes_held())
    try:
        call.check_rows()
        for variant, first, end in chunks(call.steps, watch.detail, pace):
            while first < end and done < call.steps:  # fewer are left where the stop condition held
                last = call.chunk_end(first, end)
                code = code_of(call.made, variant)  # written before the clock starts
                stamps: Ticks | Stamps = Ticks(first, last) if variant == "steps" else Stamps()
                try:
                    first = call.run_chunk(code, first, last, scratch, stamps.record)
                    stamps.end()
                finally:
                    series = stamps.series(call, done)
                    count, taken = len(series.step_ns), int(series.step_ns.sum())
                    done, spent = done + count, spent + taken
                    if count:
                        pace.step_ns = taken // count
                        watch.loop_steps(series)
            if done == call.steps:
                break
        watch.loop_rows(key, call.row_bytes())
    except BaseException as error:
        try:
            watch.loop_rows(key, call.row_bytes())
        finally:
            _tell_end(call, watch, done, spent, error)
        raise
    _tell_end(call, watch, done, spent, None)
    call.runner.paces.give_back(pace)
    return done


def _tell_end(call: LoopCall, watch: Watch, done: int, spent: int, error: BaseException | None) -> None:
    elapsed = perf_counter_ns() - call.begun
    watch.loop_end(call.loop.key, done, elapsed, max(0, elapsed - spent), error)


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
