"""Operations that have native code: importing it fills the table of what writes them, but for families that it has when asked."""

from __future__ import annotations

from scanviz.engine.backends.native import shape, whole_powers  # noqa: F401  # index of native code
from scanviz.engine.backends.native.instructions import WRITE, why_not
from scanviz.engine.backends.native.program import INSIDE, ProgramWriter
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction


def _write_inner_loop(writer: ProgramWriter, index: int, loop: LoopInstruction) -> None:
    from scanviz.engine.backends.native.inside import write_inner_loop  # few loops have one inside

    write_inner_loop(writer, index, loop)


def _write_branch(writer: ProgramWriter, index: int, branch: BranchInstruction) -> None:
    from scanviz.engine.backends.native.branch import write_branch  # few have one

    write_branch(writer, index, branch)


INSIDE.update({LoopInstruction: _write_inner_loop, BranchInstruction: _write_branch})

__all__ = ["WRITE", "why_not"]
