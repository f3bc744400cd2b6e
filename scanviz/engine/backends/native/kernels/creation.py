"""Native code of arrays that are made: what follows from sizes is a table of the code; triangles and diagonals are copied."""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.emit.elements import for_each, lanes_of
from scanviz.engine.backends.native.emit.errors import NotWrittenError
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    fill,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.graph.nodes import Array
from scanviz.engine.ops.creation import ARANGE, EYE, FROM_DIAGONAL, TRIANGLE
from scanviz.engine.program.instructions import Instruction

LARGEST = 1 << 16  # bytes of a table


def _write_known(step: Step, instruction: Instruction) -> None:
    """Write what is known when code is written."""
    given = [step.places.number(number) for number in instruction.inputs]
    if any(number is None for number in given):
        raise NotWrittenError(
            f"`{instruction.op.name}` of numbers that are found in a step has no native code"
        )
    target = target_of(step, instruction)
    _copy_table(step, np.asarray(instruction.op.perform(given)[0]), target)


def _copy_table(step: Step, values: Array, target: ArrayPlace) -> None:
    if values.nbytes > LARGEST or values.dtype.name == "float16":
        raise NotWrittenError("a large table has no native code")
    place = step.places.temporary(values.shape, values.dtype.name)
    address = step.code.table(np.ascontiguousarray(values).tobytes())
    operand = step.operand(target)

    def same(found: list[Value], lanes: int) -> list[Value]:
        return found

    lanes = lanes_of([target.dtype], step.vector_bytes)
    for_each(step.code, target.shape, [step.operand(place)._replace(address=address)], [operand], same, lanes)


def _write_triangle(step: Step, instruction: Instruction) -> None:
    """Write a triangle of matrices: a table says which elements stay."""
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    lower, offset = instruction.op.parameters.lower, instruction.op.parameters.offset
    ones = (np.tril if lower else np.triu)(np.ones(target.shape[-2:], bool), offset)
    kept = step.places.temporary(target.shape[-2:], "bool")
    _copy_table(step, ones, kept)

    def chosen(values: list[Value], lanes: int) -> list[Value]:
        return [step.code.select(values[1], values[0], constant(0, target.dtype, lanes))]

    reads = [step.operand(source.spread(target.shape)), step.operand(kept.spread(target.shape))]
    lanes = lanes_of([target.dtype], step.vector_bytes)
    for_each(step.code, target.shape, reads, [step.operand(target)], chosen, lanes)


def _write_from_diagonal(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    fill(step, constant(0, target.dtype), target)
    seen = target.seen(lambda matrix: np.diagonal(matrix, instruction.op.parameters.offset))
    assert seen is not None  # a diagonal is a view
    copy(step, source, seen)


for _declaration, _write in (
    (ARANGE, _write_known),
    (EYE, _write_known),
    (TRIANGLE, _write_triangle),
    (FROM_DIAGONAL, _write_from_diagonal),
):
    WRITE.row(_declaration)(_write)
