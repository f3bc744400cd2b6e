"""NumPy source of reductions: the ufunc's ``reduce`` with ``out``, which skips NumPy's Python wrappers."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, arrays
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.ops.reduce import ReduceParameters, ReductionDeclaration
from scanviz.engine.program.instructions import Instruction

_MEANT_ANYWAY = ReduceParameters((0,), False, None)  # by a call that says nothing, which is quicker


def _reduce(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    declaration, parameters = instruction.op.declaration, instruction.op.parameters
    assert isinstance(declaration, ReductionDeclaration)
    call = emitter.bind(declaration.function, f"{declaration.name}_reduce")
    if parameters == _MEANT_ANYWAY and out is None:
        return f"{call}({inputs[0]})"
    return f"{call}({inputs[0]}, {parameters.axes}, {parameters.dtype!r}, {out}, {parameters.keepdims})"


EMIT.kind(ReductionDeclaration)(EmitRow(_reduce, arrays))
