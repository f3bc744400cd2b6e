"""Allocate long results outside of loops from the buffer pool of loops' rows (:mod:`scanviz.engine.runtime.buffer_pool`).

NumPy would take each from the system's allocator and give it back there, which then keeps as much beside the memory that waits
for rows.  Only an operation's own test of a size stands between a short result and NumPy.

Limits: ufuncs, casts, products of matrices and joined arrays, whose operands lie in C order; other results are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, writes
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, Program, dtype_of, rank_of
from scanviz.engine.runtime.buffer_pool import lent_array

if TYPE_CHECKING:
    from scanviz.engine.graph.declaration import Declaration
    from scanviz.engine.graph.nodes import Array

Shape = tuple[int, ...]
LONG = 1 << 20  # bytes of an operand from which on the result may be long


def long_statements(emitter: Emitter, instruction: Instruction, over: str | None) -> list[str] | None:
    """Return the lines of an instruction whose result may be long, None where it is made as any other."""
    program, declaration = emitter.program, instruction.op.declaration
    if over is not None:
        if declaration.name != "assign":
            return None
        from scanviz.engine.backends.numpy.added_to_zeros import added_statements  # few functions assign

        return added_statements(emitter, instruction, over)
    row = EMIT.get(declaration)
    if row is None or len(instruction.outputs) > 1 or not writes(instruction, program):
        return None
    shape_of = _shape_of(declaration)
    deciding = _deciding(program, instruction)
    if shape_of is None or deciding is None:
        return None
    result, inputs = instruction.outputs[0], [emitter.name(number) for number in instruction.inputs]
    room = emitter.bind(_Room(dtype_of(program, result), shape_of, _axis(instruction)), "room")
    is_long, lent = f"{emitter.name(deciding)}.nbytes > {LONG}", f"{room}({tuple_text(inputs)})"
    short = row.expression(emitter, instruction, inputs, None)
    if declaration is CAST:
        copied = emitter.bind(_cast_into, "cast_into")
        dtype = emitter.bind(np.dtype(dtype_of(program, result)), "dtype")
        long = f"{copied}({inputs[0]}, {dtype}, {lent})"
    else:
        long = row.expression(emitter, instruction, inputs, lent)
    return [f"{emitter.name(result)} = {long} if {is_long} else {short}"]


def _deciding(program: Program, instruction: Instruction) -> int | None:
    """Return the operand whose size is asked for: of as many dimensions as the result has, and rather no row or column."""
    rank = rank_of(program, instruction.outputs[0])
    found = [number for number in instruction.inputs if rank_of(program, number) == rank > 0]
    return min(found, key=lambda number: _single_axes(program, number), default=None)


def _single_axes(program: Program, number: int) -> int:
    kind = program.registers[number].type
    return kind.shape.count(1) if isinstance(kind, TensorType) else 0


def _axis(instruction: Instruction) -> int:
    return instruction.op.parameters.axis if _shape_of(instruction.op.declaration) is _joined else 0


def _shape_of(declaration: Declaration) -> Callable[[Sequence[Array], int], Shape] | None:
    if declaration.family == "join":
        from scanviz.engine.ops.join import CONCATENATE  # it is there: there is one of its operations

        return _joined if declaration is CONCATENATE else None
    if declaration.family == "linalg":
        from scanviz.engine.ops.linalg import DOT, MATMUL

        return _product if declaration in (DOT, MATMUL) else None
    if declaration is CAST or (
        isinstance(declaration, ElementwiseDeclaration) and isinstance(declaration.function, np.ufunc)
    ):
        return _together
    return None


class _Room:
    """Gives memory for a result; None where NumPy is to make it, or to say what is wrong."""

    __slots__ = ("_axis", "_dtype", "_shape_of")

    def __init__(self, dtype: str, shape_of: Callable[[Sequence[Array], int], Shape], axis: int) -> None:
        self._dtype, self._shape_of, self._axis = np.dtype(dtype), shape_of, axis

    def __call__(self, operands: Sequence[Any]) -> Array | None:
        try:
            shape = self._shape_of(operands, self._axis)
        except ValueError:  # they do not fit
            return None
        size = prod(shape) * self._dtype.itemsize
        return lent_array(shape, self._dtype, size) if size > LONG else None


def _together(operands: Sequence[Any], axis: int) -> Shape:
    if not all(map(_in_order, operands)):
        raise ValueError("NumPy chooses another order")
    return np.broadcast_shapes(*map(np.shape, operands))


def _joined(operands: Sequence[Array], axis: int) -> Shape:
    if not all(map(_in_order, operands)):
        raise ValueError("NumPy chooses another order")
    first = operands[0].shape
    return (*first[:axis], sum(array.shape[axis] for array in operands), *first[axis + 1 :])


def _product(operands: Sequence[Array], axis: int) -> Shape:
    first, second = operands
    if first.ndim < 2 or second.ndim != 2:
        raise ValueError("not rows times a matrix")
    return (*first.shape[:-1], second.shape[1])


def _in_order(operand: Any) -> bool:
    """Return whether the axes of an array lie in C order, in whatever direction."""
    steps = [abs(step) for step, size in zip(operand.strides, operand.shape, strict=True) if size != 1]
    return steps == sorted(steps, reverse=True) and 0 not in steps


def _cast_into(values: Array, dtype: np.dtype[Any], room: Array | None) -> Array:
    """Return values with a dtype, in the room where there is one."""
    if room is None:
        return values.astype(dtype)
    np.copyto(room, values, "unsafe")
    return room
