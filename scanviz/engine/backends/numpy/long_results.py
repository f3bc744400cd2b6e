"""NumPy source of long results outside of loops, in memory that is used again.

The system takes back the memory of each long array and gives it anew, page by page.  So a long result of a ufunc or a cast comes
from the buffer pool of loops' rows (:mod:`scanviz.engine.runtime.buffer_pool`).  The squared error of a loop's rows of 4 MB takes
thirteen times as long without it.  A short result costs one test of an operand's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, writes
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, Program, dtype_of, rank_of
from scanviz.engine.runtime.buffer_pool import lent_array

LONG = 1 << 20  # least bytes of operands with long results


def long_result(emitter: Emitter, instruction: Instruction) -> list[str] | None:
    """Return the line of an instruction with a possibly long result, None for any other."""
    program, declaration = emitter.program, instruction.op.declaration
    is_ufunc = isinstance(declaration, ElementwiseDeclaration) and isinstance(declaration.function, np.ufunc)
    if not (is_ufunc or declaration is CAST) or not writes(instruction, program):
        return None
    row, deciding = EMIT.get(declaration), _deciding(program, instruction)
    if row is None or deciding is None:
        return None
    result, inputs = instruction.outputs[0], [emitter.name(number) for number in instruction.inputs]
    dtype = emitter.bind(np.dtype(dtype_of(program, result)), "dtype")
    room = f"{emitter.bind(_room, 'room')}({tuple_text(inputs)}, {dtype})"
    if declaration is CAST:
        long = f"{emitter.bind(_cast_into, 'cast_into')}({inputs[0]}, {dtype}, {room})"
    else:
        long = row.expression(emitter, instruction, inputs, room)
    short = row.expression(emitter, instruction, inputs, None)
    return [f"{emitter.name(result)} = {long} if {emitter.name(deciding)}.nbytes > {LONG} else {short}"]


def _deciding(program: Program, instruction: Instruction) -> int | None:
    """Return the operand whose size is tested: of the result's rank, with the fewest axes of one element."""
    rank = rank_of(program, instruction.outputs[0])
    found = [number for number in instruction.inputs if rank_of(program, number) == rank > 0]
    return min(found, key=lambda number: _single_axes(program, number), default=None)


def _single_axes(program: Program, number: int) -> int:
    kind = program.registers[number].type
    return kind.shape.count(1) if isinstance(kind, TensorType) else 0


def _room(operands: Sequence[Any], dtype: np.dtype[Any]) -> Array | None:
    """Return memory for a result; None for short results, other orders than C, and shapes that do not fit."""
    if not all(map(_in_order, operands)):
        return None
    try:
        shape = np.broadcast_shapes(*map(np.shape, operands))
    except ValueError:  # NumPy raises the error
        return None
    size = prod(shape) * dtype.itemsize
    return None if size <= LONG else lent_array(shape, dtype, size)


def _in_order(operand: Any) -> bool:
    """Return whether the axes of an array lie in C order, in whatever direction."""
    steps = [abs(step) for step, size in zip(operand.strides, operand.shape, strict=True) if size != 1]
    return steps == sorted(steps, reverse=True) and 0 not in steps


def _cast_into(values: Array, dtype: np.dtype[Any], room: Array | None) -> Array:
    """Cast values, into the given memory if there is any."""
    if room is None:
        return values.astype(dtype)
    np.copyto(room, values, "unsafe")
    return room
