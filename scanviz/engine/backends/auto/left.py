"""Work that rewrites for NumPy took out of a loop: machine code does it inside, so it counts as what the steps cost.

``PushOutShortRows`` makes one call of NumPy for all rows of what would be a call in each step; ``batch_draws`` does so with
draws.  That is no part of the steps any more, but it is saved with them once the function is rewritten for machine code.  How much
it is follows from the shapes that a call met, by the estimate of :mod:`scanviz.engine.backends.estimate`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanviz.engine.backends.estimate import CALL_NS, work_ns
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program
from scanviz.engine.program.shapes import Partial, partial_shapes
from scanviz.engine.program.work import work_by_shapes


def left_ns(program: Program, inputs: Sequence[Partial | None], rules: Collection[str]) -> dict[str, float]:
    """Return by the name of each loop about how many nanoseconds a call takes for what rules moved out of it.

    Parameters
    ----------
    program : Program
        The function's, rewritten for NumPy.
    inputs : sequence of shape
        Of its inputs.
    rules : collection of str
        Rules that are left out for machine code.
    """
    moved = {
        index: instruction
        for index, instruction in enumerate(program.instructions)
        if isinstance(instruction, Instruction) and instruction.provenance.rule in rules
    }
    if not moved:
        return {}
    shapes, found = partial_shapes(program, inputs), dict[str, float]()
    for index, name in _loops_of(program, moved).items():
        work = work_by_shapes(program, moved[index], shapes)
        if work is not None:
            found[name] = found.get(name, 0.0) + CALL_NS + work_ns(work)
    return found


def _loops_of(program: Program, moved: Collection[int]) -> dict[int, str]:
    """Return for instructions by index the loop that they belong to: that which reads their rows, or else made what they read."""
    found: dict[int, str] = {}
    reader: dict[int, str] = {}  # a register that a loop reads by way of other looks and of what was moved
    for index in reversed(range(len(program.instructions))):
        instruction = program.instructions[index]
        if isinstance(instruction, LoopInstruction):
            reader |= dict.fromkeys((slot.outer for slot in instruction.sequences), instruction.name)
        elif isinstance(instruction, Instruction):
            name = next((reader[number] for number in instruction.outputs if number in reader), None)
            if name is not None and index in moved:
                found[index] = name
            if name is not None and (index in moved or instruction.op.declaration.views is not None):
                for number in instruction.inputs:
                    reader.setdefault(number, name)
    maker: dict[int, str] = {}
    for index, instruction in enumerate(program.instructions):
        if isinstance(instruction, LoopInstruction):
            maker |= dict.fromkeys(instruction.outputs, instruction.name)
        elif isinstance(instruction, Instruction):
            name = next((maker[number] for number in instruction.inputs if number in maker), None)
            if name is not None and index in moved:
                found.setdefault(index, name)
            if name is not None and (index in moved or instruction.op.declaration.views is not None):
                maker |= dict.fromkeys(instruction.outputs, name)
    return found


__all__ = ["left_ns"]
