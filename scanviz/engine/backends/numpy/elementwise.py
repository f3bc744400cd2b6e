"""NumPy source of elementwise ops: the ufunc with ``out``; Python operators on scalars, which are several times faster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, Emitter, EmitRow, dtype_of
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import scalar_functions
from scanviz.engine.program.instructions import Instruction, Program
from scanviz.engine.program.specialise import is_scalar

# Operators on NumPy scalars give what the ufuncs give, for these and no others (** takes other paths).
_OPERATORS = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
)
_SAFE_IN_PLACE = (scalar_functions.sigmoid, scalar_functions.softplus)


def _call(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    declaration = instruction.op.declaration
    assert isinstance(declaration, e.ElementwiseDeclaration)
    if out is None and declaration.name in _OPERATORS and emitter.scalars(instruction.inputs):
        return f"{inputs[0]} {declaration.symbol} {inputs[1]}"
    if out is None and declaration.name == "negative" and emitter.scalars(instruction.inputs):
        return f"-{inputs[0]}"
    call = emitter.bind(declaration.function, declaration.name)
    # NumPy deprecates a third positional argument of these two; of the others it is quicker than the keyword.
    written = f"out={out}" if declaration.name in ("maximum", "minimum") else out
    return f"{call}({', '.join([*inputs, *([written] if out and written else [])])})"


def _writes(instruction: Instruction, program: Program) -> bool:
    return not is_scalar(program, instruction.outputs[0])


def _overwrites(instruction: Instruction, program: Program) -> bool:
    declaration = instruction.op.declaration
    assert isinstance(declaration, e.ElementwiseDeclaration)
    return isinstance(declaration.function, np.ufunc) or declaration.function in _SAFE_IN_PLACE


for _declaration in declarations():
    if isinstance(_declaration, e.ElementwiseDeclaration):
        EMIT.row(_declaration)(EmitRow(_call, _writes, _overwrites))


def _cast(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is not None:
        return f"{emitter.bind(np.copyto, 'copyto')}({out}, {inputs[0]}, 'unsafe')"
    dtype = dtype_of(emitter.program, instruction.outputs[0])
    call = emitter.bind(np.asarray, "asarray")
    return f"{call}({inputs[0]}).astype({dtype!r}){'[()]' if emitter.scalars(instruction.outputs) else ''}"


EMIT.row(e.CAST)(EmitRow(_cast, _writes, lambda instruction, program: False))
