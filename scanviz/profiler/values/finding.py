"""Describe a bad value as a record: where it appeared, which operation made it, and from which values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from scanviz.engine.graph.types import TensorType
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import AnyInstruction, LoopInstruction
from scanviz.engine.program.value_names import as_written
from scanviz.engine.scan.loop import Scan
from scanviz.profiler.values.kept import statistics_of
from scanviz.record.operations import OperationRecord
from scanviz.record.program_snapshot import (
    forward_loops,
    function_record,
    loop_records,
    source_record,
    value_name,
)
from scanviz.record.traces.finding import FindingRecord, StepPlaceRecord, ValueRecord
from scanviz.record.traces.origins import Frame, Origin, origins, rows_given

SHOWN = 6  # numbers of a value
INPUTS = 12  # of one operation; an ifelse may have very many
MOST_ROWS = 6  # that are named
Bad = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def finding_of(
    event: CompiledFunction,
    frames: Sequence[Frame],
    index: int,
    register: int,
    problem: str,
    expected: str,
    is_bad: Bad | None,
) -> FindingRecord:
    """Return the record of a bad result.

    Parameters
    ----------
    event : CompiledFunction
        The function.
    frames : sequence of Frame
        The call, then the loops around the operation, outer first.
    index : int
        The operation in the innermost program.
    register : int
        Its result.
    problem, expected : str
        As in the record.
    is_bad : callable or None
        Tests for bad numbers, where single numbers are at fault.
    """
    frame = frames[-1]
    instruction = frame.program.instructions[index]
    operation = _operation(event, frame, index)
    result = _value(operation.label, frame.value(register), is_bad)
    inputs = tuple(_inputs(frames, instruction, is_bad))
    found = origins(frames, register, result.where)
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
        loops=tuple(_place_in(frames, depth) for depth in range(1, len(frames))),
        cause="given" if any(value.where is not None for value in inputs) else "made",
        expected=expected,
        read_at=tuple(_read_at(frame, register, result.where)) if result.where else (),
        rows=tuple(dict.fromkeys(map(_row, rows_given(found))))[:MOST_ROWS],
        made_of=tuple(
            dict.fromkeys(
                _loop_place(one.loop, one.step, frame)
                for one in found
                if one.loop is not None and one.frame is frame
            )
        ),
        moved_from=operation.moved_from,
    )


def _row(origin: Origin) -> str:
    """Return a place in the caller's data as text, such as ``x[731]``."""
    known = itertools.takewhile(lambda at: at is not None, origin.place)
    return f"{origin.name}[{', '.join(map(str, known))}]"


def _operation(event: CompiledFunction, frame: Frame, index: int) -> OperationRecord:
    if frame.loop is None:
        return function_record(event).operations[index]
    records = loop_records(event.key, event.program)
    return next(record for record in records if record.key == frame.loop.key).operations[index]


def _inputs(
    frames: Sequence[Frame], instruction: AnyInstruction, is_bad: Bad | None
) -> Iterator[ValueRecord]:
    frame = frames[-1]
    pairs = zip(as_written(frame.program, instruction), instruction.inputs, strict=True)
    for number, read in list(dict(pairs).items())[:INPUTS]:
        value = frame.value(number) if frame.value(number) is not None else frame.value(read)
        if value is not None and isinstance(frame.program.registers[number].type, TensorType):
            shown = _value(value_name(frame.program, number), value, is_bad)
            if shown.where is not None:
                moved = [
                    one for one in origins(frames, number, shown.where) if one.moved and one.loop is None
                ]
                shown = replace(shown, origin=" or ".join(dict.fromkeys(map(str, moved))))
            yield shown


def _step_inputs(frame: Frame, instruction: AnyInstruction, is_bad: Bad | None) -> Iterator[ValueRecord]:
    """Iterate over the values at the start of the step that the operation does not read itself; constants come last."""
    shown = 0
    for number, value in zip(frame.program.inputs, frame.inputs, strict=True):
        known = isinstance(frame.program.registers[number].type, TensorType)
        if known and number not in as_written(frame.program, instruction) and shown < INPUTS:
            shown += 1
            yield _value(value_name(frame.program, number), value, is_bad)


def _value(name: str, value: Any, is_bad: Bad | None) -> ValueRecord:
    array = np.asarray(value)
    where = None
    if is_bad is not None and array.dtype.kind == "f":
        bad = is_bad(array)
        if bad.any():
            where = tuple(int(index) for index in np.unravel_index(int(bad.argmax()), array.shape))
    numbers = tuple(float(element) for element in array.reshape(-1)[:SHOWN])
    shape = tuple(map(int, array.shape))
    return ValueRecord(name, str(array.dtype), shape, statistics_of(array), numbers, where)


def _place_in(frames: Sequence[Frame], depth: int) -> StepPlaceRecord:
    frame, around = frames[depth], frames[depth - 1]
    assert frame.loop is not None and frame.step is not None
    return _loop_place(frame.loop, frame.step, around if frame.linked else None, frame.steps, frame.number)


def _read_at(frame: Frame, register: int, where: tuple[int, ...]) -> Iterator[StepPlaceRecord]:
    """Iterate over the steps of loops that directly read the bad row of a result."""
    for instruction in frame.program.instructions:
        if isinstance(instruction, LoopInstruction):
            for slot in instruction.sequences:
                if slot.outer == register:
                    yield _loop_place(instruction, where[0], frame, len(frame.value(register)))


def _loop_place(
    loop: LoopInstruction, step: int, around: Frame | None, steps: int | None = None, run: int | None = None
) -> StepPlaceRecord:
    """Return the record of a loop's step; for a gradient also the forward step that it belongs to."""
    if steps is None and around is not None:
        steps = around.steps_done[loop.key]
    known = loop.op.settings.gradient_of if isinstance(loop.op, Scan) else None
    return StepPlaceRecord(
        loop=loop.name,
        source=source_record(loop.provenance.source),
        run=run,
        step=step,
        forward_loop=known.name if known is not None else None,
        forward_step=_forward_step(loop, step, steps or 0, around),
    )


def _forward_step(loop: LoopInstruction, step: int, steps: int, around: Frame | None) -> int | None:
    """Return the forward step of a step in a gradient's loop, None if unknown.

    The forward loop's steps are known where it ran in the frame around; elsewhere they are as many as the gradient's, unless
    that is truncated.
    """
    settings = loop.op.settings if isinstance(loop.op, Scan) else None
    if settings is None or settings.gradient_of is None:
        return None
    forward = forward_loops(loop, around.program, ())[0] if around is not None else ()
    done = around.steps_done.get(forward[0]) if around is not None and forward else None
    if done is None and settings.truncate_gradient == -1:
        done = steps
    return done - 1 - step if done is not None and step < done else None
