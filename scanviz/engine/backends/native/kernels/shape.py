"""Native code of shape operations: views cost nothing, filled arrays and vectors of numbers are written."""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.emit.errors import NotWrittenError
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    fill,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.places import must_fit
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.ops.shape import ALLOC, DIMENSION, DIMSHUFFLE, MAKE_VECTOR, RESHAPE
from scanviz.engine.program.instructions import Instruction, is_scalar
from scanviz.engine.program.plan.location import packed


def write_view(step: Step, instruction: Instruction) -> None:
    """Write what may be a view: nothing where it is one, else a copy."""
    (number,) = instruction.outputs
    source, body = instruction.inputs[0], step.body
    if is_scalar(body, number):
        if is_scalar(body, source):
            step.give(number, step.value(source))
            return
        seen = step.places.view(instruction) or step.places.of(
            source
        )  # the one element of an array, or one of several
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
    """Write an operation that gives a part of what it reads, or all of it, and may look at sizes.

    Raises
    ------
    NotWrittenError
        If which part follows from values.
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


for _declaration in (RESHAPE, DIMSHUFFLE, DIMENSION):
    WRITE.row(_declaration)(write_view)
WRITE.row(ALLOC)(_write_alloc)
WRITE.row(MAKE_VECTOR)(_write_vector)
