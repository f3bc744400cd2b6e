"""Which Programs do something beside giving results, and which hold branches, in loops and branches inside them too.

What prints or checks must be done step by step and in order, so backends that divide a loop's steps, or leave them out, ask here.
"""

from __future__ import annotations

from scanviz.engine.program.instructions import BranchInstruction, Instruction, Program, programs_in


def has_branches(program: Program) -> bool:
    """Return whether a program holds a branch."""
    for instruction in program.instructions:
        if isinstance(instruction, BranchInstruction):
            return True
        if not isinstance(instruction, Instruction) and any(map(has_branches, programs_in(instruction))):
            return True
    return False


def has_effects(program: Program) -> bool:
    """Return whether running a program prints or checks something."""
    for instruction in program.instructions:
        if isinstance(instruction, Instruction):
            if instruction.op.facts.effect:
                return True
        elif any(map(has_effects, programs_in(instruction))):
            return True
    return False
