"""Which Programs do something beside giving results, in loops and branches inside them too."""

from __future__ import annotations

from scanviz.engine.program.instructions import BranchInstruction, Instruction, LoopInstruction, Program


def has_effects(program: Program) -> bool:
    """Return whether running a program prints or checks something."""
    for instruction in program.instructions:
        match instruction:
            case Instruction():
                found = instruction.op.facts.effect
            case LoopInstruction():
                found = has_effects(instruction.body)
            case BranchInstruction():
                found = has_effects(instruction.then_program) or has_effects(instruction.else_program)
        if found:
            return True
    return False


__all__ = ["has_effects"]
