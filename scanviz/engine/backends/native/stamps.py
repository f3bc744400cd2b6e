"""Times that native code writes down itself, and what they say of steps and operations.

Loops inside that are called out are watched meanwhile: what that takes is noted with its time, and taken off the times that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

import numpy as np

from scanviz.engine.backends.native.instructions import formula_of
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observe import StepSeries
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program
from scanviz.engine.runtime.events import OwnTime
from scanviz.engine.runtime.schedule import Variant
from scanviz.engine.runtime.stamps import RESOLUTION, Clock, stamps_a_step

STAMP_BYTES = 16  # of a time: seconds and nanoseconds


class NativeRecord:
    """What is written down during a chunk.

    Attributes
    ----------
    times : array
        Pairs of seconds and nanoseconds, by the code.
    watched : list of (int, int)
        Times, and what watching had taken in this thread until then.
    """

    __slots__ = ("_own", "times", "watched")

    def __init__(self, count: int, own: OwnTime | None) -> None:
        self.times = np.zeros((count, 2), np.int64)
        self._own = own
        self.watched: list[tuple[int, int]] = []
        self.note()

    def note(self) -> None:
        """Note what watching has taken so far."""
        if self._own is not None:
            self.watched.append((perf_counter_ns(), self._own.ns))

    def nanoseconds(self) -> Array:
        """Return the times, less what watching took; 0 where the code did not come."""
        times: Array = self.times[:, 0] * 1_000_000_000 + self.times[:, 1]
        if len(self.watched) < 2:
            return times - np.where(times, self.watched[0][1], 0) if self.watched else times
        noted = np.array(self.watched)
        before = np.maximum(np.searchsorted(noted[:, 0], times, side="right") - 1, 0)
        return np.where(times, times - noted[before, 1], 0)


class NativeStamps:
    """Takes the times of a chunk of steps.

    Parameters
    ----------
    stamped : sequence of tuple of int
        The instructions that end at each stamp of a step.
    variant : str
        Of the code.
    steps : int
        How many.
    clock : callable
        Gives nanoseconds.
    own : OwnTime or None
        What watching takes, where something is watched in the steps.
    """

    def __init__(
        self,
        stamped: Sequence[Sequence[int]],
        variant: Variant,
        steps: int,
        clock: Clock,
        own: OwnTime | None,
    ) -> None:
        self._stamped, self._variant = stamped, variant
        self._clock = clock if own is None else own.clock(clock)
        self._end = 0
        self.record = NativeRecord(steps * len(stamped), own)
        self._begun = self._clock()

    def end(self) -> None:
        """Note the time at which the last step was done."""
        self._end = self._clock()

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the whole steps, in the variant for it of their operations too."""
        width, times = len(self._stamped), self.record.nanoseconds()
        done = int(np.count_nonzero(times)) // width
        table = times[: done * width].reshape(done, width)
        if self._variant == "steps":
            ends = np.append(table[:, 0], self._end) if self._end else table[:, 0]
            span = int(ends[-1]) - self._begun if len(ends) else 0
            return StepSeries(loop.key, first, np.diff(ends), span_ns=span, resolution_ns=RESOLUTION)
        spans = np.diff(np.append(table[:, 0], table[-1:, -1])) if done else np.empty(0, np.int64)
        between = np.diff(table, axis=1)
        operations = np.zeros((stamps_a_step(loop) - 2, done), np.int64)
        for k, group in enumerate(self._stamped[1:-1]):
            for index, share in _shares(loop.body, group):
                operations[index] = (between[:, k] * share).astype(np.int64)
        return StepSeries(loop.key, first, spans, operations, between[:, -1].copy(), resolution_ns=RESOLUTION)


def _shares(program: Program, group: Sequence[int]) -> list[tuple[int, float]]:
    """Return how the time of instructions that are done as one is shared out: by the lines of their formulas."""
    weights = []
    for index in group:
        instruction = program.instructions[index]
        block = None
        if len(group) > 1 and isinstance(instruction, Instruction):
            block = formula_of(instruction, program)
        weights.append(1 if block is None else sum(line.op != "constant" for line in block.lines) or 1)
    total = sum(weights)
    return [(index, weight / total) for index, weight in zip(group, weights, strict=True)]


__all__ = ["STAMP_BYTES", "NativeRecord", "NativeStamps"]
