"""NumPy source of long results outside of loops: reused memory, and sums without copies.

A long result of a ufunc or a cast comes from the buffer pool of loops' rows (:mod:`scanviz.engine.runtime.buffer_pool`) instead of
the system's allocator.  A short result costs one test of an operand's size.

A gradient of a sequence is a loop's result added to zeros.  If the result covers all of them, it replaces them, which is known
only in a call; the zeros are never written, so they take no memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, writes
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.shape import ALLOC
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    dtype_of,
    rank_of,
)
from scanviz.engine.program.lifetimes import last_uses
from scanviz.engine.rewrites.arithmetic.identities import is_positive_zero
from scanviz.engine.runtime.buffer_pool import lent_array

LONG = 1 << 20  # least bytes of operands with long results


def long_statements(emitter: Emitter, instruction: Instruction, over: str | None) -> list[str] | None:
    """Return the lines of an instruction with a possibly long result, None for any other.

    ``over`` is the name of the array that is changed in place, if any.
    """
    program, declaration = emitter.program, instruction.op.declaration
    if over is not None:
        return _added_statements(emitter, instruction, over) if declaration.name == "assign" else None
    row, deciding = EMIT.get(declaration), _deciding(program, instruction)
    if row is None or deciding is None or not writes(instruction, program):
        return None
    is_ufunc = isinstance(declaration, ElementwiseDeclaration) and isinstance(declaration.function, np.ufunc)
    if not is_ufunc and declaration is not CAST:
        return None
    result, inputs = instruction.outputs[0], [emitter.name(number) for number in instruction.inputs]
    dtype = emitter.bind(np.dtype(dtype_of(program, result)), "dtype")
    lent = f"{emitter.bind(_room, 'room')}({tuple_text(inputs)}, {dtype})"
    if declaration is CAST:
        long = f"{emitter.bind(_cast_into, 'cast_into')}({inputs[0]}, {dtype}, {lent})"
    else:
        long = row.expression(emitter, instruction, inputs, lent)
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


def _added_statements(emitter: Emitter, instruction: Instruction, zeros: str) -> list[str] | None:
    """Return the lines that add rows to new zeros, None unless the rows may replace them."""
    program = emitter.program
    source, value, *numbers = instruction.inputs
    parameters = instruction.op.parameters
    if not parameters.increment or not all(_counts_up(entry) for entry in parameters.pattern.entries):
        return None
    found = _found(emitter)
    if not _is_zeros(found.makers.get(source), program) or not _is_unshared(found, instruction, value):
        return None
    place = parameters.pattern.written([emitter.name(number) for number in numbers])
    added = emitter.bind(_added, "added_to_zeros")
    return [f"{zeros} = {added}({zeros}, {zeros}{place}, {emitter.name(value)})"]


def _added(zeros: Array, place: Array, value: Any) -> Array:
    """Add a value to a part of zeros; return the value itself if it covers them all."""
    whole = zeros.shape == place.shape == np.shape(value)
    if whole and value.dtype == zeros.dtype and value.flags.c_contiguous and value.flags.writeable:
        value += zeros.dtype.type(0)  # this makes -0.0 positive
        return value  # type: ignore[no-any-return]  # an array
    place += value
    return zeros


def _counts_up(entry: Any) -> bool:
    """Return whether a part of an index is a slice with step 1."""
    return entry.kind == "slice" and entry.step in (None, 1)


def _is_zeros(maker: Any, program: Program) -> bool:
    """Return whether an instruction makes an array of zeros."""
    if not isinstance(maker, Instruction) or maker.op.declaration is not ALLOC:
        return False
    value = program.constants.get(maker.inputs[0])
    return value is not None and value.dtype.kind in "fiuc" and value.shape == () and is_positive_zero(value)


def _is_unshared(found: _Found, instruction: Instruction, value: int) -> bool:
    """Return whether a register views a loop's output that nothing needs after an instruction."""
    reached = [value]
    while isinstance(maker := found.makers.get(reached[-1]), Instruction):
        viewed = maker.op.declaration.views
        if viewed is None:
            return False
        reached.append(maker.inputs[viewed])
    if not isinstance(maker, LoopInstruction) or all(
        slot.result != reached[-1] for slot in maker.step_outputs
    ):
        return False
    at = found.at[instruction.outputs[0]]
    return all(found.last[number] <= at for number in reached)


class _Found(NamedTuple):
    """By register: its maker, the maker's index, and the index of the last instruction that needs its memory."""

    makers: Mapping[int, AnyInstruction]
    at: Mapping[int, int]
    last: Mapping[int, int]


def _found(emitter: Emitter) -> _Found:
    """Return the makers and last uses of a program's registers."""
    if "registers" not in emitter.notes:
        program = emitter.program
        made = [(number, k) for k, one in enumerate(program.instructions) for number in one.outputs]
        makers = {number: program.instructions[k] for number, k in made}
        emitter.notes["registers"] = _Found(makers, dict(made), last_uses(program))
    found: _Found = emitter.notes["registers"]
    return found
