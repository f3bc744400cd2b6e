"""NumPy source of shapes, indices, joined arrays and products, as a Python programmer would write it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, always, arrays
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.index_pattern import is_basic, numpy_index
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.program.instructions import (
    Instruction,
    Program,
    dtype_of,
    is_scalar,
    rank_of,
)
from scanviz.engine.program.plan import overwritable

# shapes


def _dimension(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    return f"{emitter.bind(np.int64, 'int64')}({inputs[0]}.shape[{instruction.op.parameters.axis}])"


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
    if out is None and is_zeros(emitter.program, instruction):
        dtype = emitter.bind(np.dtype(dtype_of(emitter.program, instruction.outputs[0])), "dtype")
        return f"{emitter.bind(np.zeros, 'zeros')}({tuple_text(inputs[1:])}, {dtype})"
    if out is None:
        number = "[()]" if emitter.scalars(instruction.outputs) else ""
        return f"{emitter.plain_call(instruction)}[0]{number}"
    return f"{emitter.bind(np.copyto, 'copyto')}({out}, {emitter.operand(instruction.inputs[0])})"


def is_zeros(program: Program, instruction: Instruction) -> bool:
    """Return whether a new array is filled with zeros, in sizes of other arrays."""
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


# indices


def _index(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    return f"{inputs[0]}{instruction.op.parameters.written(inputs[1:])}"


def _last(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    rows, initial = inputs
    return f"{rows}[-1] if len({rows}) else {initial}.copy()"


def _assign(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is None:
        return emitter.plain_call(instruction) + "[0]"
    source, value, *numbers = inputs
    pattern = instruction.op.parameters.pattern
    place = pattern.written(numbers)
    copied = [] if out == source else [f"{emitter.bind(np.copyto, 'copyto')}({out}, {source})"]
    if not instruction.op.parameters.increment:
        written = f"{out}{place} = {value}"
    elif is_basic(pattern):
        written = f"{out}{place} += {value}"
    else:
        from scanviz.engine.ops.assign import add_at

        # slice literals are not allowed in a call
        index = emitter.bind(partial(numpy_index, pattern), "places")
        written = f"{emitter.bind(add_at, 'add_at')}({out}, {index}({tuple_text(numbers)}), {value})"
    return "\n".join([*copied, written])


# joined arrays and products


def _concatenate(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    call = emitter.bind(np.concatenate, "concatenate")
    return f"{call}({tuple_text(inputs)}, {instruction.op.parameters.axis}{', ' + out if out else ''})"


def _dot(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    ranks = [rank_of(emitter.program, number) for number in instruction.inputs]
    plain = ranks[0] < 3 or ranks[1] != 2
    if plain:
        call = emitter.bind(np.dot, "dot")
    else:
        from scanviz.engine.ops.linalg import dot_values  # always found

        call = emitter.bind(dot_values, "dot_of_rows")
    return f"{call}({inputs[0]}, {inputs[1]}{', ' + out if out else ''})"


def _matmul(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    ranks = [rank_of(emitter.program, number) for number in instruction.inputs]
    if max(ranks) <= 2 and min(ranks) >= 1:
        return _dot(emitter, instruction, inputs, out)  # the same product, and faster on small sizes
    call = emitter.bind(np.matmul, "matmul")
    return f"{call}({inputs[0]}, {inputs[1]}{', ' + out if out else ''})"


def _writes(instruction: Instruction, program: Program) -> bool:
    """Return whether ``out`` is possible: np.dot needs it in the dtype of the computation."""
    dtypes = {dtype_of(program, number) for number in (*instruction.inputs, *instruction.outputs)}
    return len(dtypes) == 1 and not is_scalar(program, instruction.outputs[0])


# by name, so that only used families are imported
for _name, _row in {
    "reshape": EmitRow(_reshape),
    "alloc": EmitRow(_alloc, arrays),
    "make_vector": EmitRow(_make_vector, arrays),
    "dimension": EmitRow(_dimension),
    "dimshuffle": EmitRow(_dimshuffle),
    "index": EmitRow(_index),
    "last_row": EmitRow(_last),
    "assign": EmitRow(_assign, always, overwritable),
    "concatenate": EmitRow(_concatenate, always),
    "dot": EmitRow(_dot, _writes),
    "matmul": EmitRow(_matmul, _writes),
}.items():
    EMIT.row(_name)(_row)
