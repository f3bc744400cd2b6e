"""Groups: instructions that are done as one.  NumPy does each alone; code that is compiled fuses elementwise chains.

Time in a plan is the number of a group: what a group reads lives until all of it is done, and its results are stored together at
its end.  A register that only its own group reads is never in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program
from scanviz.engine.program.plan.location import Group
from scanviz.engine.program.shapes import ConcreteShape


def single(program: Program, shapes: Sequence[ConcreteShape]) -> tuple[Group, ...]:
    """Return each instruction as a group of its own."""
    return tuple((index,) for index in range(len(program.instructions)))


def chains(program: Program, shapes: Sequence[ConcreteShape]) -> tuple[Group, ...]:
    """Return runs of neighbouring elementwise instructions whose results have one shape as groups, each other one alone."""
    groups: list[list[int]] = []
    shape: ConcreteShape = None
    for index, instruction in enumerate(program.instructions):
        found = shapes[instruction.outputs[0]] if _is_elementwise(instruction) else None
        if found and found == shape:
            groups[-1].append(index)
        else:
            groups.append([index])
        shape = found
    return tuple(map(tuple, groups))


def _is_elementwise(instruction: AnyInstruction) -> bool:
    if not isinstance(instruction, Instruction):
        return False
    declaration = instruction.op.declaration
    return isinstance(declaration, ElementwiseDeclaration) or declaration is CAST


def local_registers(program: Program, groups: tuple[Group, ...]) -> frozenset[int]:
    """Return the registers that only the group which makes them reads."""
    if len(groups) == len(program.instructions):
        return frozenset()
    group_of = {index: k for k, group in enumerate(groups) for index in group}
    maker = {n: group_of[k] for k, each in enumerate(program.instructions) for n in each.outputs}
    read_elsewhere = set(program.outputs)
    for index, instruction in enumerate(program.instructions):
        read_elsewhere.update(n for n in instruction.inputs if maker.get(n, -1) != group_of[index])
    read = {n for each in program.instructions for n in each.inputs}
    return frozenset(n for n in maker if n in read and n not in read_elsewhere)


__all__ = ["chains", "local_registers", "single"]
