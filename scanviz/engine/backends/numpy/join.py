"""NumPy source of joining arrays: ``np.concatenate`` with ``out``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, Emitter, nowhere
from scanviz.engine.ops.join import CONCATENATE
from scanviz.engine.program.instructions import Instruction, Program


def _concatenate(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    call = emitter.bind(np.concatenate, "concatenate")
    parts = f"({', '.join(inputs)}{',' if len(inputs) == 1 else ''})"
    return f"{call}({parts}, {instruction.op.parameters.axis}{', ' + out if out else ''})"


def _always(instruction: Instruction, program: Program) -> bool:
    return True


EMIT.row(CONCATENATE)(EmitRow(_concatenate, _always, nowhere))
