"""NumPy source of shape ops: sizes, permuted axes, other shapes, filled arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, arrays
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.shape import ALLOC, DIMENSION, DIMSHUFFLE, MAKE_VECTOR, RESHAPE
from scanviz.engine.program.instructions import Instruction


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
    if out is None:
        number = "[()]" if emitter.scalars(instruction.outputs) else ""
        return f"{emitter.plain_call(instruction)}[0]{number}"
    return f"{emitter.bind(np.copyto, 'copyto')}({out}, {emitter.operand(instruction.inputs[0])})"


def _make_vector(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is None:
        return f"{emitter.plain_call(instruction)}[0]"
    return "\n".join(f"{out}[{k}] = {text}" for k, text in enumerate(inputs)) or "pass"


EMIT.row(RESHAPE)(EmitRow(_reshape))
EMIT.row(ALLOC)(EmitRow(_alloc, arrays))
EMIT.row(MAKE_VECTOR)(EmitRow(_make_vector, arrays))
EMIT.row(DIMENSION)(EmitRow(_dimension))
EMIT.row(DIMSHUFFLE)(EmitRow(_dimshuffle))
