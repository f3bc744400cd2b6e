"""NumPy source of matrix products: ``np.dot`` and ``np.matmul`` with ``out``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow
from scanviz.engine.ops.linalg import DOT, MATMUL, dot_values
from scanviz.engine.program.instructions import Instruction, Program, dtype_of, is_scalar, rank_of

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter


def _dot(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    ranks = [rank_of(emitter.program, number) for number in instruction.inputs]
    plain = ranks[0] < 3 or ranks[1] != 2
    call = emitter.bind(np.dot, "dot") if plain else emitter.bind(dot_values, "dot_of_rows")
    return f"{call}({inputs[0]}, {inputs[1]}{', ' + out if out else ''})"


def _matmul(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    ranks = [rank_of(emitter.program, number) for number in instruction.inputs]
    if max(ranks) <= 2 and min(ranks) >= 1:
        return _dot(emitter, instruction, inputs, out)  # the same product, and faster on small sizes
    call = emitter.bind(np.matmul, "matmul")
    return f"{call}({inputs[0]}, {inputs[1]}{', ' + out if out else ''})"


def _writes(instruction: Instruction, program: Program) -> bool:
    """Return whether ``out`` is possible: np.dot wants it in the very dtype that it computes in."""
    dtypes = {dtype_of(program, number) for number in (*instruction.inputs, *instruction.outputs)}
    return len(dtypes) == 1 and not is_scalar(program, instruction.outputs[0])


EMIT.row(DOT)(EmitRow(_dot, _writes))
EMIT.row(MATMUL)(EmitRow(_matmul, _writes))
