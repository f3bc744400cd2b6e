"""Which Programs do something beside giving results, in loops and branches inside them too."""

from __future__ import annotations

from scanviz.engine.program.instructions import BranchInstruction, Instruction, LoopInstruction, Program


def has_effects(program: Program) -> bool:
    """Return whether running a program prints or checks something."""
    for each in program.instructions:
        match each:
            case Instruction():
                found = each.op.facts.effect
            case LoopInstruction():
                found = has_effects(each.body)
            case BranchInstruction():
                found = has_effects(each.then_program) or has_effects(each.else_program)
        if found:
            return True
    return False


__all__ = ["has_effects"]
