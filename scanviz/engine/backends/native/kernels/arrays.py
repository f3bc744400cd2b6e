"""Native code of operations that make or rearrange arrays: views, filled, joined and repeated arrays, triangles and diagonals.

Views cost nothing.  Arrays that follow from sizes are tables of the code.
"""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.elements import for_each, lanes_of
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    each_element,
    fill,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import Instruction, is_scalar
from scanviz.engine.program.plan.location import packed

LARGEST = 1 << 16  # bytes of a table


def write_view(step: Step, instruction: Instruction) -> None:
    """Write a possible view: nothing if it is one, else a copy."""
    (number,) = instruction.outputs
    source, body = instruction.inputs[0], step.body
    if is_scalar(body, number):
        if is_scalar(body, source):
            step.give(number, step.value(source))
            return
        # the one element of an array, or one of several
        seen = step.places.view(instruction) or step.places.of(source)
        assert seen is not None
        step.give(number, step.code.load(step.operand(seen).address, seen.dtype))
        return
    target = step.places.of(number)
    assert target is not None
    if is_scalar(body, source):
        fill(step, step.value(source), target)
    elif step.places.view(instruction) is None:  # the same elements in another order of memory
        place = step.places.of(source)
        assert place is not None
        must_fit(place.elements == target.elements)
        strides = packed(place.shape, np.dtype(place.dtype).itemsize)
        copy(step, place, target._replace(shape=place.shape, strides=strides))


def write_seen(step: Step, instruction: Instruction) -> None:
    """Write an operation that returns a view of its first input.

    Raises
    ------
    NotWrittenError
        If the part depends on values.
    """
    source, *others = instruction.inputs
    (number,) = instruction.outputs
    if is_scalar(step.body, source) and is_scalar(step.body, number) and not others:
        step.give(number, step.value(source))
    elif step.places.view(instruction) is None:
        raise NotWrittenError(f"`{instruction.op.name}` is no view here")
    else:
        write_view(step, instruction)


def _write_alloc(step: Step, instruction: Instruction) -> None:
    source, target = instruction.inputs[0], target_of(step, instruction)
    if is_scalar(step.body, source):
        fill(step, cast(step.code, step.value(source), target.dtype), target)
    else:
        copy(step, source_of(step, source), target)
    finish(step, instruction, target)


def _write_vector(step: Step, instruction: Instruction) -> None:
    target = target_of(step, instruction)
    for k, number in enumerate(instruction.inputs):
        operand = step.operand(target.part(0, k, 1))
        step.code.store(cast(step.code, step.value(number), target.dtype), operand.address)


def _write_concatenate(step: Step, instruction: Instruction) -> None:
    target, start = target_of(step, instruction), 0
    axis = instruction.op.parameters.axis
    for number in instruction.inputs:
        source = source_of(step, number)
        must_fit(_apart(source.shape, axis) == _apart(target.shape, axis))
        copy(step, source, target.part(axis, start, source.shape[axis]))
        start += source.shape[axis]


def _apart(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _write_repeat(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    axis = instruction.op.parameters.axis
    size, wanted, apart = source.shape[axis], target.shape[axis], target.strides[axis]
    must_fit(_apart(source.shape, axis) == _apart(target.shape, axis))
    if not wanted:
        return
    count = wanted // size
    goal = target._replace(
        shape=(*target.shape[:axis], size, count, *target.shape[axis + 1 :]),
        strides=(*target.strides[:axis], count * apart, apart, *target.strides[axis + 1 :]),
    )
    read = source._replace(
        shape=(*source.shape[: axis + 1], 1, *source.shape[axis + 1 :]),
        strides=(*source.strides[: axis + 1], 0, *source.strides[axis + 1 :]),
    )
    copy(step, read, goal)


def _write_known(step: Step, instruction: Instruction) -> None:
    """Write an array that is known when code is written."""
    given = [step.places.number(number) for number in instruction.inputs]
    if any(number is None for number in given):
        raise NotWrittenError(f"`{instruction.op.name}` of numbers computed in the step has no native code")
    target = target_of(step, instruction)
    _copy_table(step, np.asarray(instruction.op.perform(given)[0]), target)


def _copy_table(step: Step, values: Array, target: ArrayPlace) -> None:
    if values.nbytes > LARGEST or values.dtype.name == "float16":
        raise NotWrittenError("a large table has no native code")
    place = step.places.temporary(values.shape, values.dtype.name)
    address = step.code.table(np.ascontiguousarray(values).tobytes())
    source = step.operand(place)._replace(address=address)
    lanes = lanes_of([target.dtype], step.vector_bytes)
    for_each(step.code, target.shape, [source], [step.operand(target)], lambda found, lanes: found, lanes)


def _write_triangle(step: Step, instruction: Instruction) -> None:
    """Write a triangle of matrices: a table marks the elements that stay."""
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    lower, offset = instruction.op.parameters.lower, instruction.op.parameters.offset
    ones = (np.tril if lower else np.triu)(np.ones(target.shape[-2:], bool), offset)
    kept = step.places.temporary(target.shape[-2:], "bool")
    _copy_table(step, ones, kept)

    each_element(
        step,
        [source.spread(target.shape), kept.spread(target.shape)],
        target,
        lambda values, lanes: [step.code.select(values[1], values[0], constant(0, target.dtype, lanes))],
    )


def _write_from_diagonal(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    fill(step, constant(0, target.dtype), target)
    seen = target.seen(lambda matrix: np.diagonal(matrix, instruction.op.parameters.offset))
    assert seen is not None  # a diagonal is a view
    copy(step, source, seen)


# by name, so that only used families are imported
for _write, _names in {
    write_view: ("reshape", "dimshuffle", "dimension"),
    _write_alloc: ("alloc",),
    _write_vector: ("make_vector",),
    _write_concatenate: ("concatenate",),
    _write_repeat: ("repeat",),
    _write_known: ("arange", "eye"),
    _write_triangle: ("triangle",),
    _write_from_diagonal: ("from_diagonal",),
}.items():
    WRITE.row(*_names)(_write)
