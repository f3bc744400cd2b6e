"""The table of NumPy source by operation.

A row of :data:`EMIT` gives an expression; with ``out`` the expression writes its result there.  Ops without a row are called by
their NumPy meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.program.instructions import Instruction, Program, is_scalar
from scanviz.engine.program.plan import Emits

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter

Expression = Callable[["Emitter", Instruction, Sequence[str], "str | None"], str]


def never(instruction: Instruction, program: Program) -> bool:
    """Return False, for ops that cannot write into a given array."""
    return False


def always(instruction: Instruction, program: Program) -> bool:
    """Return True, for ops that can always write into a given array."""
    return True


def arrays(instruction: Instruction, program: Program) -> bool:
    """Return whether the result is an array, for ops that can write into any array."""
    return not is_scalar(program, instruction.outputs[0])


def nowhere(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return no positions, for ops that may not write over an input."""
    return ()


class EmitRow(NamedTuple):
    """The NumPy source of an operation.

    Attributes
    ----------
    expression : callable
        ``expression(emitter, instruction, inputs, out)`` returns source; with ``out`` it may have several lines.
    writes : callable
        ``writes(instruction, program)``: whether it can write into a given array.
    overwrites : callable
        ``overwrites(instruction, program)``: positions of the inputs that this array may be.
    """

    expression: Expression
    writes: Callable[[Instruction, Program], bool] = never
    overwrites: Callable[[Instruction, Program], Sequence[int]] = nowhere


EMIT: MeaningTable[EmitRow] = MeaningTable(
    "NumPy source", "engine/backends/numpy/{family}.py", "engine/backends/numpy/arrays.py"
)


def writes(instruction: Instruction, program: Program) -> bool:
    """Return whether an instruction can write its result into a given array."""
    row = EMIT.get(instruction.op.declaration)
    return row is not None and row.writes(instruction, program)


def overwrites(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return the positions of the inputs that an instruction can write its result over."""
    row = EMIT.get(instruction.op.declaration)
    return () if row is None else row.overwrites(instruction, program)


EMITS = Emits(writes, overwrites, over_sequences=True)


def statements(emitter: Emitter, instruction: Instruction, out: str | None) -> list[str]:
    """Return the lines of an instruction; ``out`` names the array that its result goes to."""
    row = EMIT.get(instruction.op.declaration)
    inputs = [emitter.name(number) for number in instruction.inputs]
    if out is not None and row is not None:
        return row.expression(emitter, instruction, inputs, out).split("\n")
    targets = ", ".join(emitter.name(number) for number in instruction.outputs)
    if row is not None:
        return [f"{targets} = {row.expression(emitter, instruction, inputs, None)}"]
    targets += "," if len(instruction.outputs) == 1 else ""
    return [f"{targets} = {emitter.plain_call(instruction)}", *_numbers_of(emitter, instruction)]


def _numbers_of(emitter: Emitter, instruction: Instruction) -> list[str]:
    """Return lines that turn scalar results of ops without a row into NumPy scalars."""
    asarray = emitter.bind(np.asarray, "asarray")
    names = [emitter.name(number) for number in instruction.outputs if is_scalar(emitter.program, number)]
    return [f"{name} = {asarray}({name})[()]" for name in names]
