"""NumPy source of shape ops: sizes and permuted axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, Emitter, never, nowhere
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.shape import DIMENSION, DIMSHUFFLE
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


EMIT.row(DIMENSION)(EmitRow(_dimension, never, nowhere))
EMIT.row(DIMSHUFFLE)(EmitRow(_dimshuffle, never, nowhere))
