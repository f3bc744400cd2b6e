"""NumPy source of reductions: the ufunc's ``reduce`` with ``out``, which skips NumPy's Python wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, arrays
from scanviz.engine.ops.reduce import ReduceParameters, ReductionDeclaration

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter
    from scanviz.engine.program.instructions import Instruction

_MEANT_ANYWAY = ReduceParameters((0,), False, None)  # the default, which is quicker


def _reduce(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    declaration, parameters = instruction.op.declaration, instruction.op.parameters
    assert isinstance(declaration, ReductionDeclaration)
    call = emitter.bind(declaration.function, f"{declaration.name}_reduce")
    given = f"({inputs[0]}, {parameters.axes}, {parameters.dtype!r}, {out}, {parameters.keepdims})"
    some = f"{call}({inputs[0]})" if parameters == _MEANT_ANYWAY and out is None else f"{call}{given}"
    if declaration.identity or not parameters.axes:
        return some
    nothing = emitter.bind(declaration.of_nothing, f"{declaration.name}_of_nothing")
    return f"{some} if {inputs[0]}.size else {nothing}{given}"


EMIT.kind(ReductionDeclaration)(EmitRow(_reduce, arrays))
