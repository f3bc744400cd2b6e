"""Which Programs do something beside giving results, and which hold branches, in loops and branches inside them too."""

from __future__ import annotations

from scanviz.engine.program.instructions import BranchInstruction, Instruction, Program, programs_in


def has_branches(program: Program) -> bool:
    """Return whether a program holds a branch."""
    return any(
        isinstance(instruction, BranchInstruction) or any(map(has_branches, programs_in(instruction)))
        for instruction in program.instructions
    )


def has_effects(program: Program) -> bool:
    """Return whether running a program prints or checks something."""
    return any(
        any(map(has_effects, programs_in(instruction)))
        or (isinstance(instruction, Instruction) and instruction.op.facts.effect)
        for instruction in program.instructions
    )
