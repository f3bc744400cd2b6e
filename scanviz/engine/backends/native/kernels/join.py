"""Native code of joined arrays, each copied to its part, and of repeated elements."""

from __future__ import annotations

from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.places import must_fit
from scanviz.engine.ops.join import CONCATENATE, REPEAT
from scanviz.engine.program.instructions import Instruction


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


WRITE.row(CONCATENATE)(_write_concatenate)
WRITE.row(REPEAT)(_write_repeat)
