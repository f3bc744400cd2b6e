"""Running a Program instruction by instruction: the reference tier, and the plain form of any array library's.

Each operation is one call of a function looked up by op; every value exists and can be told to an observer.  What a
loop means at run time is written here once, plainly; the generated tiers are tested against it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Watch
from scanviz.engine.backends.buffers import ArrayModule, OutputRows, StateRows, check_sequences, count_steps
from scanviz.engine.backends.errors import translate
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import TensorType
from scanviz.engine.observe import StepSeries
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.shapes import propagate_shapes

CHUNK = 1024  # steps told to observers at once
Perform = Callable[[Op, Sequence[Any]], Sequence[Any]]


class Interpreter:
    """An executable that interprets its program.

    Parameters
    ----------
    program : Program
        What to run.
    perform : callable
        ``perform(op, values)`` gives the results of an operation.
    module : ArrayModule
        Where buffers come from.
    """

    def __init__(self, program: Program, perform: Perform, module: ArrayModule) -> None:
        self.program, self.perform, self.module = program, perform, module
        self._constants: dict[int, dict[int, Any]] = {}

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs for inputs."""
        with np.errstate(all="ignore"):
            given = [self.module.from_host(each) for each in inputs]
            return [
                self.module.to_host(each) for each in self.run_program(self.program, given, watch, None, 0)
            ]

    def run_program(
        self,
        program: Program,
        inputs: Sequence[Any],
        watch: Watch | None,
        loop: LoopInstruction | None,
        step: int,
    ) -> list[Any]:
        """Return the outputs of a program or of one step of a loop."""
        values: list[Any] = [None] * len(program.registers)
        for number, value in self.constants(program).items():
            values[number] = value
        for number, value in zip(program.inputs, inputs, strict=True):
            values[number] = value
        for index, instruction in enumerate(program.instructions):
            begun = time.perf_counter_ns() if watch is not None else 0
            results = self._run_instruction(program, instruction, values, watch, loop, step)
            for number, value in zip(instruction.outputs, results, strict=True):
                values[number] = value
            if watch is not None and (loop is None or watch.detail == "values"):
                shown = tuple(results) if watch.detail == "values" else ()
                watch.instruction(
                    loop.key if loop else None, step, index, time.perf_counter_ns() - begun, shown
                )
            for number in instruction.frees:
                values[number] = None
        return [values[number] for number in program.outputs]

    def constants(self, program: Program) -> dict[int, Any]:
        """Return a program's constants in the library's memory, moved there once."""
        known = self._constants.get(id(program))
        if known is None:
            known = {number: self.module.from_host(value) for number, value in program.constants.items()}
            self._constants[id(program)] = known
        return known

    def _run_instruction(
        self,
        program: Program,
        instruction: AnyInstruction,
        values: Sequence[Any],
        watch: Watch | None,
        loop: LoopInstruction | None,
        step: int,
    ) -> Sequence[Any]:
        given = [values[number] for number in instruction.inputs]
        try:
            match instruction:
                case Instruction():
                    return self.perform(instruction.op, given)
                case LoopInstruction():
                    return self.run_loop(instruction, values, watch)
                case BranchInstruction():
                    return self.run_branch(instruction, values, watch, loop, step)
        except Exception as error:
            told = translate(error, program, instruction, given, loop, step if loop is not None else None)
            if told is None:
                raise
            raise told from error

    def run_branch(
        self,
        branch: BranchInstruction,
        values: Sequence[Any],
        watch: Watch | None,
        loop: LoopInstruction | None,
        step: int,
    ) -> Sequence[Any]:
        """Run the side that the condition chooses."""
        if bool(self.module.to_host(values[branch.condition])):
            program, reads = branch.then_program, branch.then_inputs
        else:
            program, reads = branch.else_program, branch.else_inputs
        quiet = watch if loop is None else None  # inside a loop the branch is one instruction of the step
        return self.run_program(program, [values[number] for number in reads], quiet, loop, step)

    def run_loop(self, loop: LoopInstruction, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Run a whole loop and return its results in the order of its outputs."""
        return LoopRun(self, loop, values).run(watch)


class LoopRun:
    """One run of one loop."""

    def __init__(self, interpreter: Interpreter, loop: LoopInstruction, values: Sequence[Any]) -> None:
        self.interpreter, self.loop = interpreter, loop
        module = interpreter.module
        self.steps = count_steps(loop, module.to_host(values[loop.n_steps]))
        self.sequences = [values[slot.outer] for slot in loop.sequences]
        check_sequences(loop, self.sequences, self.steps)
        self.states = [
            StateRows(
                loop, slot, values[slot.outer], self.steps, _dtype(loop, slot.reads, slot.writes), module
            )
            for slot in loop.states
        ]
        self.outputs = [OutputRows(loop, slot, self.steps, module) for slot in loop.step_outputs]
        self.carries = [values[slot.outer] for slot in loop.carries]
        self.constants = [values[slot.outer] for slot in loop.non_sequences]

    def run(self, watch: Watch | None) -> list[Any]:
        """Run all steps and return the results."""
        loop, begun = self.loop, time.perf_counter_ns()
        if watch is not None:
            watch.loop_begin(loop.key, self.steps, sum(each.array.nbytes for each in self.states))
        done, spent = self._run_steps(watch)
        results = self._results(done)
        if watch is not None:
            elapsed = time.perf_counter_ns() - begun
            watch.loop_end(loop.key, done, elapsed, max(0, elapsed - spent))
        return results

    def _run_steps(self, watch: Watch | None) -> tuple[int, int]:
        stamps: list[int] = [time.perf_counter_ns()]
        first, done, spent = 0, self.steps, 0
        for step in range(self.steps):
            stop = self.run_step(step, watch)
            if watch is not None:
                stamps.append(time.perf_counter_ns())
                if len(stamps) > CHUNK:
                    spent += self._tell(watch, first, stamps)
                    first, stamps = step + 1, [time.perf_counter_ns()]
            if stop:
                done = step + 1
                break
        if watch is not None and len(stamps) > 1:
            spent += self._tell(watch, first, stamps)
        return done, spent

    def _tell(self, watch: Watch, first: int, stamps: list[int]) -> int:
        watch.loop_steps(StepSeries(self.loop.key, first, np.diff(np.array(stamps, np.int64))))
        return stamps[-1] - stamps[0]

    def run_step(self, step: int, watch: Watch | None) -> bool:
        """Run one step, store its rows, and return whether the stop condition holds."""
        loop = self.loop
        inputs = [array[step] for array in self.sequences]
        inputs += [rows.row(step, tap) for rows in self.states for tap, _ in rows.slot.reads]
        inputs += [*self.carries, *self.constants]
        results = iter(self.interpreter.run_program(loop.body, inputs, watch, loop, step))
        # every result is taken before any row is stored: rows that a result may be a view of stay as they were
        written = [(rows, tap, next(results)) for rows in self.states for tap, _ in rows.slot.writes]
        given = [(rows, next(results)) for rows in self.outputs]
        carried = [next(results) for _ in self.carries]
        if len(written) > 1:
            written = [(rows, tap, self._own(value)) for rows, tap, value in written]
        given = [(rows, self._own(value)) for rows, value in given] if self.loop.states else given
        for rows, tap, value in written:
            rows.write(step, tap, value)
        for output, value in given:
            output.write(step, value)
        self.carries = [self._own(value) for value in carried]
        return loop.until is not None and bool(self.interpreter.module.to_host(next(results)))

    def _own(self, value: Any) -> Any:
        return self.interpreter.module.copy(value)

    def _results(self, done: int) -> list[Any]:
        module, loop = self.interpreter.module, self.loop
        found: dict[int, Any] = {}
        for rows in self.states:
            if rows.slot.result is not None:
                found[rows.slot.result] = rows.result(done)
        for output in self.outputs:
            if output.slot.result is not None:
                fallback = self._row_shape(output) if output.row_shape is None else ()
                found[output.slot.result] = output.result(done, fallback)
        for slot, value in zip(loop.carries, self.carries, strict=True):
            if slot.result is not None:
                found[slot.result] = module.copy(value)
        return [found[number] for number in loop.outputs]

    def _row_shape(self, output: OutputRows) -> tuple[int, ...]:
        """Return the shape that rows of an output would have had, sizes that need values taken as 0."""
        loop = self.loop
        shapes = [tuple(array.shape[1:]) for array in self.sequences]
        shapes += [rows.row_shape for rows in self.states for _ in rows.slot.reads]
        shapes += [tuple(each.shape) for each in (*self.carries, *self.constants)]
        return row_shape_without_steps(loop, output.slot.inner, shapes)


def row_shape_without_steps(
    loop: LoopInstruction, inner: int, inputs: Sequence[tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the shape of a step's result for given shapes of its inputs; sizes that need values are taken as 0."""
    found = propagate_shapes(loop.body, inputs)[inner]
    if found is not None:
        return found
    kind = loop.body.registers[inner].type
    return tuple(size or 0 for size in kind.shape) if isinstance(kind, TensorType) else (6,)


def _dtype(loop: LoopInstruction, reads: Sequence[tuple[int, int]], writes: Sequence[tuple[int, int]]) -> str:
    kind = loop.body.registers[(*reads, *writes)[0][1]].type
    return kind.dtype if isinstance(kind, TensorType) else "uint32"
