"""Times of a loop that is one kernel: a run has one time, which its steps share evenly and operations by their work.

Imported for observed runs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.observation.events import StepSeries

if TYPE_CHECKING:
    from scanviz.engine.observation.stamps import Clock
    from scanviz.engine.program.instructions import LoopInstruction

MOST_STEPS = 1 << 14  # more steps have one time together, and no times of operations


class KernelStamps:
    """The time of one launch.

    Parameters
    ----------
    first : int
        The first step.
    clock : callable
        Returns nanoseconds once the device is done.
    shares : sequence of float
        Share of each instruction in the time of a step.

    Attributes
    ----------
    record : callable
        ``record(done)`` takes the time after a launch, when ``done`` steps are done.
    """

    def __init__(self, first: int, clock: Clock, shares: Sequence[float]) -> None:
        self._first, self._clock, self._shares = first, clock, shares
        self._done, self.record = first, self._take
        self._begun = self._ended = clock()

    def _take(self, done: int) -> None:
        self._done, self._ended = done, self._clock()

    def end(self) -> None:
        """Do nothing: the launch was waited for."""

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the steps."""
        steps, time = self._done - self._first, self._ended - self._begun
        if not steps or steps > MOST_STEPS:
            covers = np.full(min(steps, 1), steps, np.int64)
            return StepSeries(loop.key, first, covers * 0 + time, covers=covers, steps=steps, plain=True)
        times = np.diff(np.arange(steps + 1) * time // steps)
        operations = np.array(self._shares)[:, None] * times
        copies = np.zeros(steps, np.int64)
        return StepSeries(loop.key, first, times, operations, copies, stamp_ns=0.0)
