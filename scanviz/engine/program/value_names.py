"""Names of values of a Program, for people: the user's name, a constant number, or a short expression.

Casts that lowering added have no name: who is shown an operation wants to see what it was given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from scanviz.engine.graph.declaration import Op, fitted
from scanviz.engine.graph.notation import LONGEST, operation
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.program.instructions import (
    NO_NODE,
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)


class ValueNames:
    """Names of a program's values and operations.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x = T.vector("x")
    >>> program = lower([x], [T.exp(2 * x) + 1.0], "f")
    >>> ValueNames(program).of(program.outputs[0])
    'exp(2 * x) + 1'
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._makers = {
            number: instruction for instruction in program.instructions for number in instruction.outputs
        }

    def labels(self) -> list[str]:
        """Return each operation with the names of its inputs; equal labels are written out further."""
        instructions = self.program.instructions
        found = [self.label(instruction) for instruction in instructions]
        for longer in (2 * LONGEST, 4 * LONGEST):
            count = Counter(found)
            for k, instruction in enumerate(instructions):
                if count[found[k]] > 1:
                    found[k] = self.label(instruction, longer)
        return found

    def label(self, instruction: AnyInstruction, longest: int = LONGEST) -> str:
        """Return an operation with the names of its inputs."""
        match instruction:
            case LoopInstruction():
                return self.loop(instruction)
            case BranchInstruction():
                return f"ifelse({self.of(instruction.condition)})"
            case Instruction():
                return operation(
                    instruction.op, instruction.inputs, self._parts, self.of, self._rank, longest
                )

    def loop(self, loop: LoopInstruction) -> str:
        """Return a loop in words."""
        return loop.name if loop.name.startswith("scan ") else f"scan {loop.name}"

    def of(self, number: int) -> str:
        """Return the user's name of a value, a constant number, or a short expression."""
        name = name_of(self.program, number)
        if name:
            return name
        maker = self._makers.get(number)
        if maker is None:
            inputs = self.program.inputs
            return f"input{inputs.index(number) + 1}" if number in inputs else "constant"
        if isinstance(maker, Instruction):
            if maker.op.declaration.notation is fitted and maker.op.facts.weight == "free":
                return self.of(maker.inputs[0])  # another look at it, such as at its first rows
            return operation(maker.op, maker.inputs, self._parts, self.of, self._rank)
        return self.label(maker)

    def _rank(self, number: int) -> int | None:
        kind = self.program.registers[number].type
        return kind.ndim if isinstance(kind, TensorType) else None

    def _parts(self, number: int) -> tuple[Op, Sequence[int]] | None:
        """Return the operation and inputs of a nameless value, whose expression is written in its place."""
        maker = self._makers.get(number)
        if not isinstance(maker, Instruction) or len(maker.outputs) > 1:
            return None
        return None if name_of(self.program, number) else (maker.op, maker.inputs)


def name_of(program: Program, number: int) -> str:
    """Return the name of a register: the user's, or the value of a constant number; empty without either."""
    name = program.registers[number].name
    if name:
        return name
    constant = program.constants.get(number)
    if isinstance(constant, np.ndarray | np.generic) and constant.ndim == 0 and constant.dtype.kind in "biuf":
        return f"{constant.item():.4g}" if constant.dtype.kind == "f" else str(constant.item())
    return ""


def is_added_cast(instruction: AnyInstruction) -> bool:
    """Return whether an instruction is a cast that no node of a graph stands for."""
    plain = isinstance(instruction, Instruction) and instruction.node_id == NO_NODE
    return plain and instruction.op.declaration is CAST


def as_written(program: Program, instruction: AnyInstruction) -> tuple[int, ...]:
    """Return the registers that an instruction reads, as they are before casts that lowering added.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> k, x = T.ivector("k"), T.vector("x")
    >>> program = lower([k, x], [k * x], "f")
    >>> cast, product = program.instructions
    >>> product.inputs == (cast.outputs[0], 1), as_written(program, product)
    (True, (0, 1))
    """
    added = {cast.outputs[0]: cast.inputs[0] for cast in program.instructions if is_added_cast(cast)}
    return tuple(added.get(number, number) for number in instruction.inputs)
