"""NumPy source of shape ops: sizes, permuted axes, other shapes, filled arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, arrays
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.shape import ALLOC, DIMENSION, DIMSHUFFLE, MAKE_VECTOR, RESHAPE
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program, dtype_of


def _dimension(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    size = f"{inputs[0]}.shape[{instruction.op.parameters.axis}]"
    if _is_size_alone(emitter.program, instruction.outputs[0]):
        return size
    return f"{emitter.bind(np.int64, 'int64')}({size})"


def _reads(loop: LoopInstruction, number: int) -> bool:
    """Return whether a register is given to the steps of a loop, or where its rows begin."""
    return (
        any(slot.outer == number for slot in loop.sequences)
        or any(slot.outer == number for slot in loop.states)
        or any(slot.outer == number for slot in loop.carries)
        or any(slot.outer == number for slot in loop.non_sequences)
    )


def _is_size_alone(program: Program, number: int) -> bool:
    """Return whether a size is read as a number of steps and as the size of new arrays alone: Python's number will do."""
    if number in program.outputs:
        return False
    for reader in program.instructions:
        if number not in reader.inputs:
            continue
        if isinstance(reader, LoopInstruction):
            if reader.n_steps != number or reader.mode is not None or _reads(reader, number):
                return False
        elif (
            not isinstance(reader, Instruction)
            or reader.op.declaration is not ALLOC
            or number == reader.inputs[0]
        ):
            return False
    return True


def _dimshuffle(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    order = instruction.op.parameters.order
    kept = [axis for axis in order if axis is not None]
    kind = emitter.program.registers[instruction.inputs[0]].type
    if not isinstance(kind, TensorType) or len(kept) < kind.ndim or kind.ndim == 0:
        call = emitter.bind(instruction.op.declaration.perform, "dimshuffle")
        number = "[()]" if not order else ""
        return f"{call}({emitter.bind(instruction.op, 'order')}, ({inputs[0]},))[0]{number}"
    turned = inputs[0] if kept == sorted(kept) else f"{inputs[0]}.transpose({', '.join(map(str, kept))})"
    if len(kept) == len(order):
        return turned if turned != inputs[0] else f"{inputs[0]}[...]"
    return f"{turned}[{', '.join('None' if axis is None else ':' for axis in order)}]"


def _reshape(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    source, *sizes = inputs
    if not sizes or emitter.scalars(instruction.inputs[:1]):
        return f"{emitter.plain_call(instruction)}[0]{'' if sizes else '[()]'}"
    return f"{source}.reshape(({', '.join(sizes)},))"


def _alloc(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is None and _is_zeros(emitter.program, instruction):
        dtype = emitter.bind(np.dtype(dtype_of(emitter.program, instruction.outputs[0])), "dtype")
        return f"{emitter.bind(np.zeros, 'zeros')}({tuple_text(inputs[1:])}, {dtype})"
    if out is None:
        number = "[()]" if emitter.scalars(instruction.outputs) else ""
        return f"{emitter.plain_call(instruction)}[0]{number}"
    return f"{emitter.bind(np.copyto, 'copyto')}({out}, {emitter.operand(instruction.inputs[0])})"


def _is_zeros(program: Program, instruction: Instruction) -> bool:
    """Return whether a new array is filled with a zero, and its sizes are those of other arrays: never negative."""
    value, *sizes = instruction.inputs
    known = program.constants.get(value)
    if known is None or known.ndim or known.tobytes().strip(b"\0") or not sizes:
        return False
    measured = {
        made.outputs[0]
        for made in program.instructions
        if isinstance(made, Instruction) and made.op.declaration is DIMENSION
    }
    return all(size in measured for size in sizes)


def _make_vector(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is None:
        return f"{emitter.plain_call(instruction)}[0]"
    return "\n".join(f"{out}[{k}] = {text}" for k, text in enumerate(inputs)) or "pass"


EMIT.row(RESHAPE)(EmitRow(_reshape))
EMIT.row(ALLOC)(EmitRow(_alloc, arrays))
EMIT.row(MAKE_VECTOR)(EmitRow(_make_vector, arrays))
EMIT.row(DIMENSION)(EmitRow(_dimension))
EMIT.row(DIMSHUFFLE)(EmitRow(_dimshuffle))
