"""Native code of joined arrays: each is copied to its part."""

from __future__ import annotations

from scanviz.engine.backends.native.instructions import (
    WRITE,
    Step,
    Writing,
    always,
    copy,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.places import must_fit
from scanviz.engine.ops.join import CONCATENATE
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


WRITE.row(CONCATENATE)(Writing(always, _write_concatenate))
