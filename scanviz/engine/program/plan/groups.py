"""Groups of instructions that run as one: single instructions in NumPy, fused elementwise chains in compiled code.

Time in a plan is the number of a group: what a group reads lives until all of it is done, and its results are stored together at
its end.  A register that only its own group reads is never in memory.

A chain is made of elementwise instructions whose results have one shape and which a register connects, wherever they stand, as long
as no other has to be done between them.  What comes from outside a group may be smaller: it is broadcast as it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.plan.location import Fusion, Group, Grouped, is_unchanged
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.rewrites.rule import Refusal


def single(program: Program, shapes: Sequence[ConcreteShape]) -> Grouped:
    """Return each instruction as a group of its own."""
    return Grouped(tuple((index,) for index in range(len(program.instructions))))


def chains(program: Program, shapes: Sequence[ConcreteShape]) -> Grouped:
    """Group connected elementwise instructions of one shape, and each other instruction alone.

    Where the rule ``fuse_elementwise`` is not used, each is alone.

    Parameters
    ----------
    program : Program
        The program of the instructions.
    shapes : sequence
        The shape of each register, None where it is not known.
    """
    if not program.fuse:
        return single(program, shapes)
    from scanviz.engine.program.plan.merging import Merging  # on NumPy no two instructions are one

    merging, fusions = Merging(program, shapes), []
    for first, second, register in _made_and_read(program, shapes):
        refusal = _why_apart(program, shapes, first, second)
        if refusal is None and (between := merging.merge(first, second)) is not None:
            op = program.instructions[between].op
            refusal = Refusal(f"`{op.name}` has to be done between them", 3)
        fusions.append(Fusion(first, second, register, refusal))
    for first, second, register in _read_by_both(program, shapes):
        apart = not merging.together(first, second) and _why_apart(program, shapes, first, second) is None
        if apart and merging.merge(first, second) is None:
            fusions.append(Fusion(first, second, register, None))
    return Grouped(merging.groups(), tuple(fusions))


def _made_and_read(program: Program, shapes: Sequence[ConcreteShape]) -> Iterator[tuple[int, int, int]]:
    """Iterate over makers, readers and the arrays between them, where one of the two is elementwise."""
    makers: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        for number in dict.fromkeys(instruction.inputs):
            maker = makers.get(number)
            pair = (instruction,) if maker is None else (instruction, program.instructions[maker])
            if (
                maker is not None
                and shapes[number] != ()
                and any(is_elementwise(one, shapes) for one in pair)
            ):
                yield maker, index, number
        makers.update(dict.fromkeys(instruction.outputs, index))


def _read_by_both(program: Program, shapes: Sequence[ConcreteShape]) -> Iterator[tuple[int, int, int]]:
    """Iterate over elementwise instructions, the next that reads the same register, and that register."""
    readers: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        if is_elementwise(instruction, shapes):
            for number in dict.fromkeys(instruction.inputs):
                if number in readers and shapes[number] != () and number not in program.constants:
                    yield readers[number], index, number
                readers[number] = index


def _why_apart(program: Program, shapes: Sequence[ConcreteShape], first: int, second: int) -> Refusal | None:
    """Return why two instructions cannot be in one group wherever they stand, or None if they can."""
    one, other = program.instructions[first], program.instructions[second]
    for instruction, role in ((one, "gives"), (other, "reads")):
        if not is_elementwise(instruction, shapes):
            return Refusal(f"{_called(instruction)} {role} it", 0)
    mine, its = shapes[one.outputs[0]], shapes[other.outputs[0]]
    if mine is None or its is None:
        return Refusal("a shape that depends on values", 1)
    return None if mine == its else Refusal(f"another shape: {mine} and {its}", 2)


def _called(instruction: AnyInstruction) -> str:
    match instruction:
        case LoopInstruction():
            return f"the loop `{instruction.name}`"
        case BranchInstruction():
            return "a branch"
    from scanviz.engine.ops.reduce import ReductionDeclaration  # for words alone

    name = instruction.op.name
    reduces = isinstance(instruction.op.declaration, ReductionDeclaration)
    return f"a reduction, `{name}`," if reduces else f"`{name}`, which is not elementwise,"


def is_elementwise(instruction: AnyInstruction, shapes: Sequence[ConcreteShape]) -> bool:
    """Return whether an instruction gives each element of its one result from one element of each operand."""
    if not isinstance(instruction, Instruction):
        return False
    declaration = instruction.op.declaration
    known = isinstance(declaration, ElementwiseDeclaration) or declaration is CAST
    return known or is_unchanged(instruction, shapes)


def local_registers(program: Program, groups: tuple[Group, ...]) -> frozenset[int]:
    """Return the registers that only the group which makes them reads."""
    if len(groups) == len(program.instructions):
        return frozenset()
    group_of = {index: k for k, group in enumerate(groups) for index in group}
    maker = {
        n: group_of[k] for k, instruction in enumerate(program.instructions) for n in instruction.outputs
    }
    read_elsewhere = set(program.outputs)
    for index, instruction in enumerate(program.instructions):
        read_elsewhere.update(n for n in instruction.inputs if maker.get(n, -1) != group_of[index])
    read = {n for instruction in program.instructions for n in instruction.inputs}
    return frozenset(n for n in maker if n in read and n not in read_elsewhere)
