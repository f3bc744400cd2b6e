"""NumPy source of elementwise ops: the ufunc with ``out``; Python operators on scalars, which are several times faster.

A number that stays the same over all steps is given to ufuncs of arrays as a 0-d array, which NumPy takes almost twice
as quickly as one of its scalars.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, Emitter, as_declared, dtype_of, nowhere
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import scalar_functions
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, Program, is_scalar

# They look whether memory is shared, and then take longer than in an array of their own.
_LOOKING = (scalar_functions.where, scalar_functions.clip)


def _call(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    declaration = instruction.op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    if emitter.scalars((*instruction.inputs, *instruction.outputs)):
        quick = _of_numbers(emitter, instruction, inputs)
        if quick is not None:
            return quick
    else:
        inputs = [emitter.operand(number) for number in instruction.inputs]
        if declaration is e.sigmoid and out is not None and _one_dtype(emitter.program, instruction):
            return _sigmoid(emitter, instruction, inputs[0], out)
    call = emitter.bind(declaration.function, declaration.name)
    # NumPy deprecates a third positional argument of these two; of the others it is quicker than the keyword.
    written = f"out={out}" if declaration in (e.maximum, e.minimum) else out
    text = f"{call}({', '.join([*inputs, *([written] if out and written else [])])})"
    by_ufunc = isinstance(declaration.function, np.ufunc)  # others give 0-d arrays
    return text if by_ufunc or not emitter.scalars(instruction.outputs) else f"{text}[()]"


def _of_numbers(emitter: Emitter, instruction: Instruction, inputs: Sequence[str]) -> str | None:
    """Return what gives the same as the op's function for single numbers, several times faster; None if nothing does."""
    declaration = instruction.op.declaration
    dtypes = [dtype_of(emitter.program, number) for number in instruction.inputs]
    # Operators on NumPy scalars of one dtype give what the ufuncs give; those that are not cheap take other paths.
    if declaration.symbol is not None and instruction.op.facts.cheap and dtypes[0] == dtypes[1] != "bool":
        return f"{inputs[0]} {declaration.symbol} {inputs[1]}"
    if declaration is e.multiply_no_nan and dtypes[0] == dtypes[1] and np.dtype(dtypes[0]).kind == "f":
        return f"{inputs[0]} * {inputs[1]} if {inputs[1]} else abs({inputs[1]})"
    if declaration is e.negative:
        return f"-{inputs[0]}"
    if declaration is e.where and dtypes[1] == dtypes[2]:
        return f"{inputs[1]} if {inputs[0]} else {inputs[2]}"
    if declaration is e.sigmoid and np.dtype(dtypes[0]).kind == "f":
        return f"1 / ({emitter.bind(np.exp, 'exp')}(-{inputs[0]}) + 1)"
    return None


def _one_dtype(program: Program, instruction: Instruction) -> bool:
    return len({dtype_of(program, number) for number in (*instruction.inputs, *instruction.outputs)}) == 1


def _sigmoid(emitter: Emitter, instruction: Instruction, given: str, out: str) -> str:
    """Return the four ufuncs of ``scalar_functions.sigmoid``, without the call around them."""
    one = emitter.bind_number(1, dtype_of(emitter.program, instruction.outputs[0]))
    ufuncs = (np.negative, np.exp, np.add, np.divide)
    negative, exp, add, divide = (emitter.bind(each, each.__name__) for each in ufuncs)
    return f"{negative}({given}, {out})\n{exp}({out}, {out})\n{add}({out}, {one}, {out})\n{divide}({one}, {out}, {out})"


def _writes(instruction: Instruction, program: Program) -> bool:
    return not is_scalar(program, instruction.outputs[0])


def _overwrites(instruction: Instruction, program: Program) -> Sequence[int]:
    declaration = instruction.op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    return () if declaration.function in _LOOKING else as_declared(instruction, program)


EMIT.kind(ElementwiseDeclaration)(EmitRow(_call, _writes, _overwrites))


def _cast(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is not None:
        return f"{emitter.bind(np.copyto, 'copyto')}({out}, {inputs[0]}, 'unsafe')"
    dtype = dtype_of(emitter.program, instruction.outputs[0])
    if not emitter.scalars(instruction.outputs):
        return f"{inputs[0]}.astype({dtype!r})"
    if np.dtype(dtype).kind == "f":
        return f"{emitter.bind(np.dtype(dtype).type, dtype)}({inputs[0]})"
    return f"{emitter.bind(np.asarray, 'asarray')}({inputs[0]}).astype({dtype!r})[()]"


EMIT.row(e.CAST)(EmitRow(_cast, _writes, nowhere))
