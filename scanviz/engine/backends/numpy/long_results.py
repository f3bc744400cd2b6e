"""Allocate long results outside of loops from the buffer pool of loops' rows (:mod:`scanviz.engine.runtime.buffer_pool`).

NumPy would take each from the system's allocator and give it back there, which then keeps as much beside the memory that waits
for rows.  Only an operation's own test of a size stands between a short result and NumPy.

Limits: ufuncs, casts, products of matrices and joined arrays, whose operands lie in C order; other results are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, writes
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, Program, dtype_of, rank_of
from scanviz.engine.program.joined_rows import LONG, JoinedRows, joined_rows
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.buffer_pool import lent_array

if TYPE_CHECKING:
    from scanviz.engine.graph.declaration import Declaration
    from scanviz.engine.graph.nodes import Array

Shape = tuple[int, ...]


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
    rows = _joined_rows(emitter).get(result)
    behind = rows.behind if rows is not None and rows.made == result else 0
    room = emitter.bind(_Room(dtype_of(program, result), shape_of, _axis(instruction), behind), "room")
    is_long, lent = f"{emitter.name(deciding)}.nbytes > {LONG}", f"{room}({tuple_text(inputs)})"
    short = row.expression(emitter, instruction, inputs, None)
    if declaration is CAST:
        copied = emitter.bind(_cast_into, "cast_into")
        dtype = emitter.bind(np.dtype(dtype_of(program, result)), "dtype")
        long = f"{copied}({inputs[0]}, {dtype}, {lent})"
    else:
        long = row.expression(emitter, instruction, inputs, lent)
    if rows is not None and rows.joined == result:
        long = f"{emitter.bind(_beside, 'beside')}({', '.join(inputs)}, {room})"
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


def _joined_rows(emitter: Emitter) -> Mapping[int, JoinedRows]:
    if "joined rows" not in emitter.notes:
        emitter.notes["joined rows"] = joined_rows(emitter.program)
    found: Mapping[int, JoinedRows] = emitter.notes["joined rows"]
    return found


class _Room:
    """Gives memory for a result; None where NumPy is to make it, or to say what is wrong.

    Rows that are to be joined with some behind them lie the last one first, with room for these.
    """

    __slots__ = ("_axis", "_behind", "_dtype", "_shape_of")

    def __init__(
        self, dtype: str, shape_of: Callable[[Sequence[Array], int], Shape], axis: int, behind: int
    ) -> None:
        self._dtype, self._shape_of, self._axis, self._behind = np.dtype(dtype), shape_of, axis, behind

    def __call__(self, operands: Sequence[Any]) -> Array | None:
        try:
            shape = self._shape_of(operands, self._axis)
        except ValueError:  # they do not fit
            return None
        size = prod(shape) * self._dtype.itemsize
        if size <= LONG:
            return None
        if not self._behind:
            return lent_array(shape, self._dtype, size)
        whole = (shape[0] + self._behind, *shape[1:])
        memory = lent_array(whole, self._dtype, prod(whole) * self._dtype.itemsize)
        return memory[: shape[0]][::-1]


def _beside(rows: Array, more: Array, room: _Room) -> Array:
    """Return rows with more behind them: where they lie, if they have room there, and elsewhere as any arrays that are joined."""
    memory, start, length = rows.base, address(rows), len(rows) + len(more)
    size = length * prod(rows.shape[1:]) * rows.itemsize
    fits = (
        isinstance(memory, np.ndarray)
        and rows.flags.c_contiguous
        and memory.flags.c_contiguous
        and address(memory) <= start
        and start + size <= address(memory) + memory.nbytes
    )
    if not fits or rows.shape[1:] != more.shape[1:] or rows.dtype != more.dtype:
        return np.concatenate((rows, more), 0, room((rows, more)))
    whole = np.ndarray((length, *rows.shape[1:]), rows.dtype, memory, start - address(memory))  # type: ignore[arg-type]
    whole[len(rows) :] = more
    return whole


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
