"""Running a loop by generated code: rows and buffers by call, steps in chunks where rows grow or someone watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from scanviz.engine.backends.numpy.compiled import CompiledSource, failure_of
from scanviz.engine.backends.numpy.specialised import LoopCode
from scanviz.engine.backends.numpy.watched import Pace, run_watched
from scanviz.engine.backends.reference import perform
from scanviz.engine.program.instructions import (
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    StepOutputSlot,
    dtype_of,
    is_scalar,
)
from scanviz.engine.program.plan import Plan, StoreKind
from scanviz.engine.runtime.errors import changed_shape, in_words
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.interpreter import Interpreter
from scanviz.engine.runtime.pool import Pool
from scanviz.engine.runtime.rows import (
    ArrayModule,
    OutputRows,
    StateRows,
    bytes_of_rows,
    check_sequences,
    count_steps,
    first_room,
    grown_room,
    results_of,
    row_shape_without_steps,
)

THREADS = 16  # as many runs of a loop at once, in threads, find the sampling schedule of an earlier run
_HOST = ArrayModule()


class LoopRunner:
    """Runs one loop instruction.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    make_runner : callable
        Makes what runs loops and branches inside the step.
    """

    def __init__(
        self,
        loop: LoopInstruction,
        make_runner: Callable[[Program, LoopInstruction | BranchInstruction], Any],
    ) -> None:
        self.loop = loop
        self.runners = {
            k: make_runner(loop.body, each)
            for k, each in enumerate(loop.body.instructions)
            if not isinstance(each, Instruction)
        }
        self.code = LoopCode(loop, self.runners)
        self.paces = Pool(Pace, THREADS)
        place = {number: k for k, number in enumerate(loop.inputs)}
        self.n_steps = place[loop.n_steps]
        self.sequences = [place[slot.outer] for slot in loop.sequences]
        body = loop.body
        self.states = [(slot, place[slot.outer], dtype_of(body, slot.writes[0][1])) for slot in loop.states]
        self.reads = [k for k, slot in enumerate(loop.states) for _ in slot.reads]
        self.carries = [(place[slot.outer], is_scalar(body, slot.read)) for slot in loop.carries]
        self.constants = [(place[slot.outer], is_scalar(body, slot.inner)) for slot in loop.non_sequences]
        self.step_outputs = list(enumerate(loop.step_outputs))

    def take_plan(self, made: Plan) -> None:
        """Take the plan that was made with that of the loop around this one."""
        self.code.take_plan(made)

    def __call__(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Run the loop for the values of its instruction's inputs and return its results."""
        return LoopCall(self, values, watch).run()


class LoopCall:
    """One run of a loop: its rows and buffers."""

    def __init__(self, runner: LoopRunner, values: Sequence[Any], watch: Watch | None) -> None:
        self.begun = time.perf_counter_ns() if watch is not None else 0
        self.runner, self.watch = runner, watch
        loop = self.loop = runner.loop
        self.steps = count_steps(loop, values[runner.n_steps])
        self.room = first_room(loop, self.steps)
        self.sequences = [values[k] for k in runner.sequences]
        check_sequences(loop, self.sequences, self.steps)
        self.states = [
            StateRows(loop, slot, np.asarray(values[k]), self.steps, dtype, _HOST)
            for slot, k, dtype in runner.states
        ]
        self.carried = tuple([_picked(values[k], scalar) for k, scalar in runner.carries])
        self.constants = [_picked(values[k], scalar) for k, scalar in runner.constants]
        shapes = [each.shape[1:] for each in self.sequences]
        shapes += [self.states[k].row_shape for k in runner.reads]
        shapes += [each.shape for each in self.carried]
        shapes += [each.shape for each in self.constants]
        self.shapes = shapes
        self.made = runner.code.get(tuple(shapes), self.states, watch)
        self.outputs = [self._output_rows(k, slot) for k, slot in runner.step_outputs]

    def _output_rows(self, k: int, slot: StepOutputSlot) -> OutputRows:
        store, rows = self.made.plan.stores["output", k], OutputRows(self.loop, slot, self.steps, _HOST)
        if store.kind is not StoreKind.NONE and not store.checked and store.row is not None:
            rows.start(store.row)
        return rows

    def run(self) -> list[Any]:
        """Run all steps and return the results in the order of the instruction's outputs."""
        made = self.made
        scratch = made.buffers.take()
        done = self._run_steps(scratch) if self.watch is None else run_watched(self, scratch, self.watch)
        results = self._results(done)
        if not self.loop.allow_gc:
            made.buffers.give_back(scratch)
        return results

    def check_rows(self) -> None:
        """Raise where the shapes met say that the first step writes a row of another shape than was read."""
        if self.made.plan.mismatch is not None and self.steps:
            slot, expected, given = self.made.plan.mismatch
            raise changed_shape(self.loop, slot, 0, expected, given)

    def _run_steps(self, scratch: list[Any]) -> int:
        self.check_rows()
        done, code = 0, self.runner.code.variant(self.made, "plain")
        while done < self.steps:
            last = self.chunk_end(done, self.steps)
            done = self.run_chunk(code, done, last, scratch, None)
        return done

    def chunk_end(self, first: int, wanted: int) -> int:
        """Return the end of the chunk that begins at a step, making room for rows where there is none left."""
        if first >= self.room:
            self.room = grown_room(self.room, first + 1, self.steps)
            for state in self.states:
                state.reserve(self.room)
            for output in self.outputs:
                output.reserve(self.room)
        return min(wanted, self.room)

    def run_chunk(
        self,
        code: CompiledSource,
        first: int,
        last: int,
        scratch: list[Any],
        record: Any,  # what the variant's code is given to note times with, None for the plain one
    ) -> int:
        """Run steps ``first`` to ``last`` and return where it stopped; a stop condition that held ends the loop."""
        rows = (
            *self.sequences,
            *[each.array for each in self.states],
            *[each.size for each in self.states],
            *[each.array for each in self.outputs],
            *[each.size or 1 for each in self.outputs],
        )
        row_stores = (*self.states, *self.outputs)
        try:
            end, self.carried, stopped = code.function(
                first, last, rows, self.carried, self.constants, scratch, row_stores, self.watch, record
            )
        except Exception as error:
            failure = failure_of(error, code, self.loop.body)
            raise in_words(error, self.loop.body, failure, self.loop) from error.__cause__
        done: int = end
        if stopped:
            self.steps = done
        return done

    def bytes_held(self) -> int:
        """Return the bytes of rows and buffers."""
        return sum(self.row_bytes()) + self.made.plan.arena

    def row_bytes(self) -> tuple[int, ...]:
        """Return the bytes of the rows of each state, then of each step output."""
        return bytes_of_rows(self.states, self.outputs)

    def _results(self, done: int) -> list[Any]:
        rows = self.states, self.outputs
        return results_of(self.loop, done, rows, self.carried, methodcaller("copy"), self._row_shape)

    def _row_shape(self, inner: int) -> tuple[int, ...]:
        """Return the shape that rows of an output would have had."""
        run = Interpreter(self.loop.body, perform, _HOST).run_apart
        return row_shape_without_steps(self.loop, inner, self.shapes, self.constants, run, _HOST)


def _picked(value: Any, scalar: bool) -> Any:
    """Return a value, a single number as a NumPy scalar."""
    return np.asarray(value)[()] if scalar else value


__all__ = ["LoopCall", "LoopRunner"]
