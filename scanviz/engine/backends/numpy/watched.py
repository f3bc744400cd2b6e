"""Running a watched loop in chunks: mostly one stamp a step, now and then one an operation.

With detail ``"steps"`` most chunks run the *steps* variant.  A burst of the *ops* variant follows the first few steps and
then each :data:`PERIOD` steps, about one step in sixteen, so that operations get their share of time without being
timed in every step.  With detail ``"ops"`` every step is timed so.
"""

from __future__ import annotations

from collections.abc import Iterator
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
BURST = 64  # steps of a later burst


def chunks(steps: int, detail: str) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over (variant, first step, end) for a loop of at most ``steps`` steps.

    Examples
    --------
    >>> list(chunks(100, "steps"))
    [('steps', 0, 2), ('ops', 2, 18), ('steps', 18, 100)]
    """
    if detail != "steps":
        for first in range(0, steps, PERIOD):
            yield "ops", first, min(first + PERIOD, steps)
        return
    warm = min(WARM_UP, steps)
    if warm:
        yield "steps", 0, warm
    first, burst = warm, FIRST_BURST
    while first < steps:
        end = min(first + burst, steps)
        yield "ops", first, end
        first, end = end, min(end + PERIOD - burst, steps)
        if first < end:
            yield "steps", first, end
        first, burst = end, BURST


def run_watched(call: LoopCall, scratch: list[Any], watch: Watch) -> tuple[int, int]:
    """Run all steps, telling observers; return the steps done and the nanoseconds spent in them."""
    done, spent = 0, 0
    clock = call.runner.code(call.made, "steps").function.__globals__["clock"]
    detail = "steps" if watch.detail == "values" else watch.detail
    for variant, first, last in chunks(call.steps, detail):
        call.runner.code(call.made, variant)  # written before the clock starts
        stamps: list[int] = [clock()]
        done, call.carried = call.run_chunk(variant, first, last, scratch, stamps.append)
        spent += stamps[-1] - stamps[0]
        watch.loop_steps(_series(call, variant, first, done, stamps))
        if done < last:
            break
    return done, spent


def _series(call: LoopCall, variant: Variant, first: int, done: int, stamps: list[int]) -> StepSeries:
    times = np.array(stamps, np.int64)
    key = call.loop.key
    if variant == "steps":
        return StepSeries(key, first, np.diff(times))
    a_step = stamps_a_step(call.loop)
    table = times[1:].reshape(done - first, a_step)
    ends = np.concatenate([times[:1], table[:, -1]])
    between = np.diff(table, axis=1)
    return StepSeries(key, first, np.diff(ends), between[:, :-1].T.copy(), between[:, -1].copy())
