"""NumPy source of reductions: the ufunc's ``reduce`` with ``out``, which skips NumPy's Python wrappers."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, arrays
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.ops.reduce import ReductionDeclaration
from scanviz.engine.program.instructions import Instruction


def _reduce(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    declaration, parameters = instruction.op.declaration, instruction.op.parameters
    assert isinstance(declaration, ReductionDeclaration)
    call = emitter.bind(declaration.function, f"{declaration.name}_reduce")
    return f"{call}({inputs[0]}, {parameters.axes}, {parameters.dtype!r}, {out}, {parameters.keepdims})"


EMIT.kind(ReductionDeclaration)(EmitRow(_reduce, arrays))
