"""One run of one loop, step by step: what a loop means at run time, written once and plainly."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.observe import StepSeries
from scanviz.engine.program.instructions import LoopInstruction, dtype_of
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.rows import (
    OutputRows,
    RunInstruction,
    StateRows,
    bytes_of_rows,
    check_sequences,
    count_steps,
    first_room,
    grown_room,
    results_of,
    row_shape_without_steps,
)

if TYPE_CHECKING:
    from scanviz.engine.runtime.interpreter import Interpreter

CHUNK = 1024  # steps told to observers at once


class Place:
    """Where a program runs and who is told.

    Attributes
    ----------
    watch : Watch or None
        Who watches.
    loop, step : LoopInstruction or None, int
        The loop whose body it is, and the step.
    tell : bool
        Whether each instruction is told to ``watch``.
    times : list of int or None
        Gets the time after each instruction.
    """

    __slots__ = ("loop", "step", "tell", "times", "watch")

    def __init__(
        self,
        watch: Watch | None,
        loop: LoopInstruction | None = None,
        step: int = 0,
        tell: bool = False,
        times: list[int] | None = None,
    ) -> None:
        self.watch, self.loop, self.step, self.tell, self.times = watch, loop, step, tell, times


class LoopRun:
    """One run of one loop by an interpreter.

    Parameters
    ----------
    interpreter : Interpreter
        Runs the steps.
    loop : LoopInstruction
        The loop.
    values : sequence
        Values of the registers around the loop.
    watch : Watch or None
        Who watches.
    """

    def __init__(
        self, interpreter: Interpreter, loop: LoopInstruction, values: Sequence[Any], watch: Watch | None
    ) -> None:
        self.begun = time.perf_counter_ns()
        self.interpreter, self.loop, self.watch = interpreter, loop, watch
        module = interpreter.module
        self.steps = count_steps(loop, module.to_host(values[loop.n_steps]))
        self.room = first_room(loop, self.steps)
        self.sequences = [values[slot.outer] for slot in loop.sequences]
        check_sequences(loop, self.sequences, self.steps)
        self.states = [
            StateRows(
                loop, slot, values[slot.outer], self.steps, dtype_of(loop.body, slot.writes[0][1]), module
            )
            for slot in loop.states
        ]
        self.outputs = [OutputRows(loop, slot, self.steps, module) for slot in loop.step_outputs]
        self.carries = [values[slot.outer] for slot in loop.carries]
        self.constants = [values[slot.outer] for slot in loop.non_sequences]
        self.stamps: list[int] = []  # of one chunk: before each step, after each instruction, after each step
        self.spent = 0

    def run(self) -> list[Any]:
        """Run all steps and return the results."""
        if self.watch is not None:
            self.watch.loop_begin(self.loop.key, self.steps, self._bytes())
        done = 0
        try:
            while done < self.steps:
                stop = self.run_step(done)
                done += 1
                if self.watch is not None and done % CHUNK == 0:
                    self._tell(done)
                if stop:
                    break
            results = self._results(done)
            self._tell_rest(done)
        except BaseException as error:  # a step failed or was interrupted: what was done is told
            try:
                self._tell_rest(done)
            finally:
                self._tell_end(done, error)
            raise
        self._tell_end(done, None)
        return results

    def _tell_rest(self, done: int) -> None:
        if self.watch is not None:
            self._tell(done)
            self.watch.loop_rows(self.loop.key, bytes_of_rows(self.states, self.outputs))

    def _tell_end(self, done: int, error: BaseException | None) -> None:
        if self.watch is not None:
            elapsed = time.perf_counter_ns() - self.begun
            self.watch.loop_end(self.loop.key, done, elapsed, max(0, elapsed - self.spent), error)

    def run_step(self, step: int) -> bool:
        """Run one step, store its rows, and return whether the stop condition holds."""
        if step >= self.room:
            self._grow(step + 1)
        inputs = [array[step] for array in self.sequences]
        inputs += [rows.row(step, tap) for rows in self.states for tap, _ in rows.slot.reads]
        inputs += [*self.carries, *self.constants]
        times = self.stamps if self.watch is not None else None
        if times is not None:
            times.append(time.perf_counter_ns())
        tell = self.watch is not None and self.watch.detail == "values"
        place = Place(self.watch, self.loop, step, tell, times)
        results = self.interpreter.run_program(self.loop.body, inputs, place)
        stop = self._store(step, results)
        if times is not None:
            times.append(time.perf_counter_ns())
        return stop

    def _store(self, step: int, results: Sequence[Any]) -> bool:
        """Store a step's results; whatever may be a view of rows written here is copied before the first is written."""
        module, given = self.interpreter.module, iter(results)
        written = [(rows, tap, next(given)) for rows in self.states for tap, _ in rows.slot.writes]
        if len(written) > 1:
            written = [(rows, tap, module.copy(value)) for rows, tap, value in written]
        for output in self.outputs:
            output.write(step, next(given))
        self.carries = [module.copy(next(given)) for _ in self.carries]
        stop = self.loop.until is not None and bool(module.to_host(next(given)))
        for rows, tap, value in written:
            rows.write(step, tap, value)
        return stop

    def _grow(self, needed: int) -> None:
        self.room = grown_room(self.room, needed, self.steps)
        for state in self.states:
            state.reserve(self.room)
        for output in self.outputs:
            output.reserve(self.room)

    def _tell(self, done: int) -> None:
        """Tell the whole steps since the last time; stamps of a step that failed are left out."""
        a_step = len(self.loop.body.instructions) + 2
        steps = len(self.stamps) // a_step
        if self.watch is None or not steps:
            return
        table = np.array(self.stamps[: steps * a_step], np.int64).reshape(steps, a_step)
        self.stamps.clear()
        between = np.diff(table, axis=1)
        whole = np.diff(np.append(table[:, 0], table[-1, -1]))
        self.spent += int(whole.sum())
        series = StepSeries(
            self.loop.key, done - steps, whole, between[:, :-1].T.copy(), between[:, -1].copy()
        )
        self.watch.loop_steps(series)

    def _results(self, done: int) -> list[Any]:
        run, copy = self.interpreter.run_apart, self.interpreter.module.copy
        rows, row_shape = (self.states, self.outputs), lambda inner: self._row_shape(inner, run)
        return results_of(self.loop, done, rows, self.carries, copy, row_shape)

    def _row_shape(self, inner: int, run: RunInstruction | None = None) -> tuple[int, ...]:
        """Return the shape that rows of an output have, as far as it is known without a step."""
        shapes = [tuple(array.shape[1:]) for array in self.sequences]
        shapes += [rows.row_shape for rows in self.states for _ in rows.slot.reads]
        shapes += [tuple(each.shape) for each in (*self.carries, *self.constants)]
        module = self.interpreter.module
        return row_shape_without_steps(self.loop, inner, shapes, self.constants, run, module)

    def _bytes(self) -> int:
        held = sum(each.array.nbytes for each in self.states)
        for output in self.outputs:
            if output.slot.result is not None:
                row = int(np.prod(self._row_shape(output.slot.inner)))
                held += output.size * row * np.dtype(output.dtype).itemsize
        return int(held)
