"""NumPy source of elementwise ops: ufuncs with ``out``; Python operators on scalars, which are faster.

An invariant scalar is passed to ufuncs of arrays as a 0-d array, which NumPy takes twice as fast as a NumPy scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, arrays
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, Program, dtype_of
from scanviz.engine.program.plan import overwritable

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter


def _call(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    declaration = instruction.op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    if emitter.scalars((*instruction.inputs, *instruction.outputs)):
        quick = _of_numbers(emitter, instruction, inputs)
        if quick is not None:
            return quick
    else:
        inputs = [emitter.operand(number) for number in instruction.inputs]
        if out is not None and not isinstance(declaration.function, np.ufunc):
            from scanviz.engine.backends.numpy.formula_source import written_in_turn  # few loops need it

            in_turn = written_in_turn(emitter, declaration, _dtypes(emitter, instruction), inputs, out)
            if in_turn is not None:
                return in_turn
    call = emitter.bind(declaration.function, declaration.name)
    # NumPy deprecates a third positional argument of these two; of the others it is quicker than the keyword.
    written = f"out={out}" if declaration in (e.maximum, e.minimum) else out
    text = f"{call}({', '.join([*inputs, *([written] if out and written else [])])})"
    by_ufunc = isinstance(declaration.function, np.ufunc)  # the rest give 0-d arrays
    return text if by_ufunc or not emitter.scalars(instruction.outputs) else f"{text}[()]"


def _of_numbers(emitter: Emitter, instruction: Instruction, inputs: Sequence[str]) -> str | None:
    """Return a faster expression of the same op for single numbers, None if there is none."""
    declaration, dtypes = instruction.op.declaration, _dtypes(emitter, instruction)
    assert isinstance(declaration, ElementwiseDeclaration)
    # Operators on NumPy scalars of one dtype give the ufuncs' results; expensive ones take other paths.
    if declaration.symbol is not None and instruction.op.facts.cheap and dtypes[0] == dtypes[1] != "bool":
        return f"{inputs[0]} {declaration.symbol} {inputs[1]}"
    if declaration is e.negative:
        return f"-{inputs[0]}"
    if isinstance(declaration.function, np.ufunc):
        return None
    from scanviz.engine.backends.numpy.formula_source import of_numbers

    return of_numbers(emitter, declaration, dtypes, inputs)


def _dtypes(emitter: Emitter, instruction: Instruction) -> tuple[str, ...]:
    return tuple(dtype_of(emitter.program, number) for number in instruction.inputs)


def _overwrites(instruction: Instruction, program: Program) -> Sequence[int]:
    declaration = instruction.op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    if not isinstance(declaration.function, np.ufunc):
        from scanviz.engine.ops.scalar_functions import LOOKING

        if declaration.function in LOOKING:
            return ()
    return overwritable(instruction, program)


EMIT.kind(ElementwiseDeclaration)(EmitRow(_call, arrays, _overwrites))


def _cast(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is not None:
        return f"{emitter.bind(np.copyto, 'copyto')}({out}, {inputs[0]}, 'unsafe')"
    dtype = dtype_of(emitter.program, instruction.outputs[0])
    if not emitter.scalars(instruction.outputs):
        return f"{inputs[0]}.astype({dtype!r})"
    if np.dtype(dtype).kind == "f":
        return f"{emitter.bind(np.dtype(dtype).type, dtype)}({inputs[0]})"
    return f"{emitter.bind(np.asarray, 'asarray')}({inputs[0]}).astype({dtype!r})[()]"


EMIT.row(e.CAST)(EmitRow(_cast, arrays))
