"""Native code of indexing and assignment with slices and integers, and of rows of loops.

Bounds of slices must be known when code is written; an integer may be computed in the step, and is checked there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError, RunError
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    each_element,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.kernels import index_arrays
from scanviz.engine.backends.native.kernels.arrays import write_view
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY
from scanviz.engine.ops.index_pattern import IndexParameters, input_entries, is_basic, numpy_index
from scanviz.engine.program.instructions import Instruction, is_scalar


def _write_index(step: Step, instruction: Instruction) -> None:
    if not is_basic(instruction.op.parameters):
        index_arrays.write_take(step, instruction)
        return
    source, *numbers = instruction.inputs
    if all(step.places.number(number) is not None for number in numbers):
        if step.places.view(instruction) is None and not is_scalar(step.body, source):
            raise RunError("an index beyond its axis is an error of the run")
        write_view(step, instruction)
        return
    place = step.places.of(source)
    assert place is not None
    seen = _picked(step, instruction, place, instruction.op.parameters, numbers)
    (output,) = instruction.outputs
    if is_scalar(step.body, output):
        step.give(output, step.code.load(step.operand(seen).address, seen.dtype))
    else:
        step.places.moved(output, seen)


def _picked(
    step: Step, instruction: Instruction, place: ArrayPlace, pattern: IndexParameters, numbers: Sequence[int]
) -> ArrayPlace:
    """Return the place of an indexed part; some of its integers may be computed in the step.

    Raises
    ------
    NotWrittenError
        If a bound of a slice depends on values.
    """
    code, axis = step.code, 0
    known: list[Any] = []
    shift, holds, shape = constant(0, "int64"), constant(True, "bool"), list(place.shape)
    given = [cast(code, step.value(number), "int64") for number in numbers]
    for entry, position, count in input_entries(pattern):
        own = [step.places.number(number) for number in numbers[position : position + count]]
        if all(number is not None for number in own):
            known += own
        elif entry.kind != "integer":
            raise NotWrittenError("a slice that depends on values has no native code")
        else:
            known.append(np.int64(0))
            index, size = given[position], place.shape[axis]
            below = code.op(f"icmp slt i64 {index.text}, 0", "bool")
            index = code.select(below, code.add(index, size), index)
            inside = code.op(f"icmp ult i64 {index.text}, {size}", "bool")
            holds = code.both(holds, inside)
            shift = code.add(shift, code.times(index, place.strides[axis]))
            shape[axis] = max(size, 1)  # an array without rows has ended the step before
        axis += entry.kind != "newaxis"
    if holds.text != "true":
        step.fail_unless(holds, instruction, given)
    try:
        seen = place._replace(shape=tuple(shape)).seen(
            lambda array: array[(*numpy_index(pattern, known), ...)]
        )
    except IndexError:
        raise RunError("an index beyond its axis is an error of the run") from None
    assert seen is not None  # an index without arrays
    moved = shift if seen.shift is None else code.add(seen.shift, shift)
    return seen._replace(shift=None if moved.text == "0" else moved)


def _write_assign(step: Step, instruction: Instruction) -> None:
    """Write an assignment: copy the array unless in place, then set the part."""
    if not is_basic(instruction.op.parameters.pattern):
        index_arrays.write_put(step, instruction)
        return
    source, value, *numbers = instruction.inputs
    old, target = source_of(step, source), target_of(step, instruction)
    pattern, increment = instruction.op.parameters
    new = source_of(step, value)
    if new.base == target.base:  # it may overlap what is written
        held = step.places.temporary(new.shape, new.dtype)
        copy(step, new, held)
        new = held
    part = _picked(step, instruction, target, pattern, numbers)
    copy(step, old, target)
    reads = [new.spread(part.shape), *([part] if increment else [])]
    each_element(step, reads, part, index_arrays.assigned(step, target.dtype, increment))
    finish(step, instruction, target)


WRITE.row(INDEX)(_write_index)
WRITE.row(ASSIGN)(_write_assign)


def _write_last_row(step: Step, instruction: Instruction) -> None:
    rows, initial = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    source = rows.row(rows.shape[0] - 1) if rows.shape[0] else initial
    must_fit(source.shape == target.shape)
    copy(step, source, target)
    finish(step, instruction, target)


def _write_history(step: Step, instruction: Instruction) -> None:
    rows, initial = (source_of(step, number) for number in instruction.inputs)
    target, offset = target_of(step, instruction), instruction.op.parameters.offset
    front = target.part(0, 0, offset)
    if len(initial.shape) < len(rows.shape):
        must_fit(initial.shape == rows.shape[1:])
        copy(step, initial, front.row(0))
    else:
        must_fit(initial.shape[0] >= offset and initial.shape[1:] == rows.shape[1:])
        copy(step, initial.part(0, 0, offset), front)
    copy(step, rows, target.part(0, offset, rows.shape[0]))


WRITE.row(LAST_ROW)(_write_last_row)
WRITE.row(STATE_HISTORY)(_write_history)
