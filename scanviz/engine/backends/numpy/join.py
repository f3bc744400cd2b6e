"""NumPy source of joining arrays: ``np.concatenate`` with ``out``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, always
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.ops.join import CONCATENATE

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import Instruction


def _concatenate(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    call = emitter.bind(np.concatenate, "concatenate")
    axis = instruction.op.parameters.axis
    if not axis and not out:
        return f"{call}({tuple_text(inputs)})"  # a call that says no more is quicker
    return f"{call}({tuple_text(inputs)}, {axis}{', ' + out if out else ''})"


EMIT.row(CONCATENATE)(EmitRow(_concatenate, always))
