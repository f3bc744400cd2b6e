"""Which Programs do something beside giving results, and which hold branches, in loops and branches inside them too.

What prints or checks must be done step by step and in order, so backends that divide a loop's steps, or leave them out, ask here.
"""

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
