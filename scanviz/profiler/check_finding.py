"""A finding put together: what the engine computes becomes a record that says where, by what, and out of what.

Where a number came from is followed back through what only moves data: rows, transposes, the slots of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from scanviz.engine.graph.types import TensorType
from scanviz.engine.observe import CompiledFunction
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.scan.loop import Scan
from scanviz.profiler.trace_sampling import statistics_of
from scanviz.record.finding import FindingRecord, LoopPlaceRecord, ValueRecord
from scanviz.record.gradient_pairs import forward_loop
from scanviz.record.loops import OperationRecord
from scanviz.record.program_snapshot import function_record, loop_records, source_record, value_name

SHOWN = 6  # numbers of a value
INPUTS = 12  # of one operation; an ifelse may have very many
_DEPTH = 50  # moves that are followed back
Bad = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


class Frame:
    """A call of a function, or a run of a loop in it, that is going on.

    Attributes
    ----------
    event : CompiledFunction
        The function.
    program : Program
        Its program, or the loop's body.
    loop : LoopInstruction or None
        The loop.
    number : int
        Which call, or which run.
    linked : bool
        Whether the loop is an instruction of the frame around: one in a side of an ``ifelse`` is not.
    step : int
        The step that is going on.
    inputs : tuple of array
        What the step, or the call, began with.
    values : dict of int to array
        Values of its registers, as far as they are still needed.
    shapes : dict of int to tuple
        Shapes of the step before.
    steps_done : dict of int to int
        Steps of the last run of each loop in it, by key.
    """

    __slots__ = (
        "event",
        "inputs",
        "linked",
        "loop",
        "number",
        "program",
        "shapes",
        "step",
        "steps_done",
        "values",
    )

    def __init__(
        self,
        event: CompiledFunction,
        program: Program,
        loop: LoopInstruction | None,
        number: int,
        linked: bool,
    ) -> None:
        self.event, self.program, self.loop = event, program, loop
        self.number, self.linked, self.step = number, linked, 0
        self.inputs: tuple[Any, ...] = ()
        self.values: dict[int, Any] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.steps_done: dict[int, int] = {}

    def value(self, number: int) -> Any:
        """Return the value of a register."""
        constant = self.program.constants.get(number)
        return constant if constant is not None else self.values.get(number)


def moves_only(instruction: AnyInstruction) -> bool:
    """Return whether an operation only shows what its input holds: a row, a transpose, another shape."""
    if not isinstance(instruction, Instruction):
        return False
    declaration = instruction.op.declaration
    return declaration.views is not None and declaration.family != "reduce"


def finding_of(
    frames: Sequence[Frame], index: int, register: int, problem: str, expected: str, is_bad: Bad | None
) -> FindingRecord:
    """Return what is said of an operation's result that should not be.

    Parameters
    ----------
    frames : sequence of Frame
        The call, then the loops around the operation, outer first.
    index : int
        The operation in the innermost program.
    register : int
        Its result.
    problem, expected : str
        As in the record.
    is_bad : callable or None
        Tells the numbers that should not be, where single numbers are at fault.
    """
    frame = frames[-1]
    event = frame.event
    instruction = frame.program.instructions[index]
    operation = _operation(frame, index)
    result = _value(operation.label, frame.value(register), is_bad)
    inputs = tuple(_inputs(frames, instruction, is_bad))
    return FindingRecord(
        problem=problem,
        function=function_record(event).name,
        call=frames[0].number,
        operation=operation.label,
        index=index,
        source=operation.source,
        result=result,
        inputs=inputs,
        step_inputs=tuple(_step_inputs(frame, instruction, is_bad)) if frame.loop is not None else (),
        loops=tuple(_place(frames, depth) for depth in range(1, len(frames))),
        cause="given" if any(each.where is not None for each in inputs) else "made",
        expected=expected,
        read_at=tuple(_read_at(frame, register, result.where)) if result.where else (),
    )


def _operation(frame: Frame, index: int) -> OperationRecord:
    if frame.loop is None:
        return function_record(frame.event).operations[index]
    records = loop_records(frame.event.key, frame.event.program)
    return next(each for each in records if each.key == frame.loop.key).operations[index]


def _inputs(
    frames: Sequence[Frame], instruction: AnyInstruction, is_bad: Bad | None
) -> Iterator[ValueRecord]:
    frame = frames[-1]
    for number in dict.fromkeys(instruction.inputs[:INPUTS]):
        value = frame.value(number)
        if value is not None and isinstance(frame.program.registers[number].type, TensorType):
            origin = _origin(frames, len(frames) - 1, number)
            yield _value(value_name(frame.program, number), value, is_bad, origin)


def _step_inputs(frame: Frame, instruction: AnyInstruction, is_bad: Bad | None) -> Iterator[ValueRecord]:
    """Iterate over what the step began with, as far as the operation does not read it itself; constants come last."""
    shown = 0
    for number, value in zip(frame.program.inputs, frame.inputs, strict=True):
        known = isinstance(frame.program.registers[number].type, TensorType)
        if known and number not in instruction.inputs and shown < INPUTS:
            shown += 1
            yield _value(value_name(frame.program, number), value, is_bad)


def _value(name: str, value: Any, is_bad: Bad | None, origin: str = "") -> ValueRecord:
    array = np.asarray(value)
    where = None
    if is_bad is not None and array.dtype.kind == "f":
        bad = is_bad(array)
        if bad.any():
            where = tuple(int(each) for each in np.unravel_index(int(bad.argmax()), array.shape))
    numbers = tuple(float(each) for each in array.reshape(-1)[:SHOWN])
    shape = tuple(map(int, array.shape))
    return ValueRecord(name, str(array.dtype), shape, statistics_of(array), numbers, where, origin)


def _place(frames: Sequence[Frame], depth: int) -> LoopPlaceRecord:
    frame, around = frames[depth], frames[depth - 1]
    loop = frame.loop
    assert loop is not None and isinstance(loop.op, Scan)
    known = loop.op.settings.gradient_of
    forward = forward_loop(loop, around.program) if frame.linked else None
    done = around.steps_done.get(forward) if forward is not None else None
    step = None if done is None or done <= frame.step else done - 1 - frame.step
    return LoopPlaceRecord(
        loop=loop.name,
        source=source_record(loop.provenance.source),
        run=frame.number,
        step=frame.step,
        forward_loop=known.name if known is not None else None,
        forward_step=step,
    )


def _read_at(frame: Frame, register: int, where: tuple[int, ...]) -> Iterator[LoopPlaceRecord]:
    """Iterate over the steps of loops that read the row of a result that should not be, as far as they read it directly."""
    for each in frame.program.instructions:
        if isinstance(each, LoopInstruction):
            for slot in each.sequences:
                if slot.outer == register:
                    source = source_record(each.provenance.source)
                    yield LoopPlaceRecord(each.name, source, None, where[0])


def _origin(frames: Sequence[Frame], depth: int, register: int, moves: int = 0) -> str:
    """Return where a value came in from outside; empty if it was computed, or cannot be followed."""
    frame = frames[depth]
    program = frame.program
    if moves > _DEPTH:
        return ""
    if register in program.constants:
        return "a constant"
    if register in program.inputs:
        return _origin_of_input(frames, depth, register, moves)
    for each in program.instructions:
        if register in each.outputs and isinstance(each, Instruction) and moves_only(each):
            place = each.op.declaration.views
            assert place is not None  # it moves only
            return _origin(frames, depth, each.inputs[place], moves + 1)
    return ""


def _origin_of_input(frames: Sequence[Frame], depth: int, register: int, moves: int) -> str:
    frame = frames[depth]
    loop = frame.loop
    if loop is None:
        place = frame.program.inputs.index(register)
        name = frame.program.registers[register].name or f"number {place}"
        given = len(frame.event.function.inputs) if frame.event.function is not None else place + 1
        return f"input {name}, as the caller gave it" if place < given else f"shared variable {name}"
    for state in loop.states:
        for tap, read in state.reads:
            written = [write for other, write in state.writes if other == 0]
            if read == register and written and frame.step + tap >= 0:
                return _origin(frames, depth, written[0], moves + 1)
    for carry in loop.carries:
        if carry.read == register and frame.step > 0:
            return _origin(frames, depth, carry.write, moves + 1)
    outer = _outer(loop, register)
    return _origin(frames, depth - 1, outer, moves + 1) if frame.linked and outer is not None else ""


def _outer(loop: LoopInstruction, register: int) -> int | None:
    """Return the register around a loop that an input of its step starts from."""
    found: dict[int, int] = {each.inner: each.outer for each in loop.sequences}
    found |= {each.inner: each.outer for each in loop.non_sequences}
    found |= {each.read: each.outer for each in loop.carries}
    found |= {read: each.outer for each in loop.states for _, read in each.reads}
    return found.get(register)


__all__ = ["Frame", "finding_of", "moves_only"]
