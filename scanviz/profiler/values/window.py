"""Collect the values of some steps of a run while a call is recomputed, and end the computation when they are complete."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from scanviz.engine.observe import Observer
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.profiler.values.kept import StepValues, piece_of, traced_variable
from scanviz.record.loops import LoopRecord
from scanviz.record.traces.layout import trace_heads
from scanviz.record.traces.model import TraceRecord

NUMBERS = 1024  # at most, of each value
ALL_NUMBERS = 2**20  # of all values in a window
FEWEST = 16


class Enough(BaseException):
    """Ends the computation when the window is complete; no Exception, so that no handler catches it."""


class OutOfTime(BaseException):
    """The time limit has passed."""


class Deadline(Observer):
    """End a computation after a time limit.

    Parameters
    ----------
    seconds : float
        Time limit, from now on.
    """

    detail = "values"

    def __init__(self, seconds: float) -> None:
        self.seconds, self._end = seconds, time.monotonic() + seconds

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Look at the clock."""
        if time.monotonic() > self._end:
            raise OutOfTime


class StepWindow(Deadline):
    """Collect the values of steps of one run.

    Parameters
    ----------
    loop, record : LoopInstruction, LoopRecord
        The loop in the Program, and as data.
    run : int
        The number of the run.
    begun : int
        Number of its runs begun so far.
    first, last : int
        The steps.
    seconds : float
        Time limit.
    """

    def __init__(
        self,
        loop: LoopInstruction,
        record: LoopRecord,
        run: int,
        begun: int,
        first: int,
        last: int,
        seconds: float,
    ) -> None:
        super().__init__(seconds)
        self.loop, self.run, self.first, self.last = loop, run, first, last
        self.heads = trace_heads(loop, record)
        self.limit = max(FEWEST, min(NUMBERS, ALL_NUMBERS // max(1, len(self.heads) * (last - first + 1))))
        self.most_steps = self.done = 0
        self._begun, self._over = begun, False
        self._rows: dict[int, StepValues] = {}  # by step
        self._wanted = {head.register for head in self.heads}

    @property
    def inside(self) -> bool:
        """True if the run is in progress."""
        return self._begun == self.run + 1 and not self._over

    def begin(self, most_steps: int) -> None:
        """Count a run that begins or continues from a checkpoint."""
        self._begun += 1
        if self.inside:
            self.most_steps = most_steps

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Count the runs of the loop."""
        if loop == self.loop.key:
            self.begin(n_steps)

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """End the computation with the run."""
        if loop == self.loop.key and self.inside:
            self._over = True
            if error is None:
                raise Enough

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Take the inputs of a step; the step after the window ends the computation."""
        super().step_inputs(function, loop, step, values)
        if loop != self.loop.key or not self.inside:
            return
        if step > self.last:
            self._over = True
            raise Enough
        self.done = step + 1
        self._take(step, self.loop.body.inputs, values)

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Take the results of an operation."""
        if loop == self.loop.key and self.inside:
            self._take(step, self.loop.body.instructions[index].outputs, values)
            if step == self.last and index == len(self.loop.body.instructions) - 1:
                self._over = True
                raise Enough

    def _take(self, step: int, registers: Sequence[int], values: Sequence[Any]) -> None:
        if step < self.first:
            return
        row = self._rows.setdefault(step, {})
        for register, value in zip(registers, values, strict=True):
            if register in self._wanted:
                row[register] = piece_of(value, self.limit)

    def trace(self, loop: int, total_steps: int) -> TraceRecord:
        """Return the values as a record of the run."""
        steps = sorted(self._rows)
        variables = [
            traced_variable(head.record, [self._rows[step].get(head.register) for step in steps])
            for head in self.heads
        ]
        return TraceRecord(
            loop=loop,
            run=self.run,
            total_steps=max(total_steps, self.done),
            steps=tuple(steps),
            reasons=("asked",) * len(steps),
            variables=tuple(variables),
        )
