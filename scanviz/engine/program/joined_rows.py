"""Rows that are computed for one thing alone: to be joined with a few more rows behind them.

So a gradient through time begins: the cotangents of all rows, turned round, and a row of zeros for what arrives before the first
step.  The rows may as well be computed where they are to lie, in the joined array: they are written once then, and take memory
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index_pattern import FROM_THE_LAST
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program

LONG = 1 << 20  # bytes of an operand from which on the result may be long


class JoinedRows(NamedTuple):
    """Rows that are computed to be joined.

    Attributes
    ----------
    made, read, joined : int
        Registers: the rows, the rows turned round, and the array that begins with these.
    behind : int
        How many rows follow.
    """

    made: int
    read: int
    joined: int
    behind: int


def joined_rows(program: Program) -> Mapping[int, JoinedRows]:
    """Return the rows of a program that are computed to be joined, by the registers of the rows and of the joined arrays."""
    joins = [one for one in program.instructions if _joins_rows(one)]
    if not joins:
        return {}
    makers: dict[int, AnyInstruction] = {}
    readers: dict[int, list[AnyInstruction]] = {number: [] for number in program.outputs}
    for instruction in program.instructions:
        makers.update(dict.fromkeys(instruction.outputs, instruction))
        for number in instruction.inputs:
            readers.setdefault(number, []).append(instruction)
    found: dict[int, JoinedRows] = {}
    for join in joins:
        read, behind = join.inputs
        index, kind = makers.get(read), program.registers[behind].type
        if not isinstance(kind, TensorType) or not kind.shape[0] or not _turns_round(index):
            continue
        made = index.inputs[0]  # type: ignore[union-attr]  # it is an instruction
        maker = makers.get(made)
        alone = readers[read] == [join] and readers[made] == [index] and not {made, read} & {*program.outputs}
        if alone and _is_elementwise(maker):
            rows = JoinedRows(made, read, join.outputs[0], kind.shape[0])
            found |= {made: rows, join.outputs[0]: rows}
    return found


def _joins_rows(instruction: AnyInstruction) -> bool:
    """Return whether an instruction joins two arrays along their first axis."""
    if not isinstance(instruction, Instruction) or instruction.op.declaration.name != "concatenate":
        return False
    return instruction.op.parameters.axis == 0 and len(instruction.inputs) == 2


def _is_elementwise(instruction: AnyInstruction | None) -> bool:
    """Return whether NumPy computes rows in memory that it is given."""
    declaration = instruction.op.declaration if isinstance(instruction, Instruction) else None
    return isinstance(declaration, ElementwiseDeclaration) and isinstance(declaration.function, np.ufunc)


def _turns_round(instruction: AnyInstruction | None) -> bool:
    """Return whether an instruction gives all rows of an array, the last one first."""
    if not isinstance(instruction, Instruction) or instruction.op.declaration.name != "index":
        return False
    first, *others = (
        entry.numbers() if entry.kind == "slice" else None for entry in instruction.op.parameters.entries
    )
    return first == FROM_THE_LAST and all(numbers == (None, None, None) for numbers in others)
