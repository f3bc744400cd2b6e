"""Operations that have native code: importing it fills the table of what writes them, but for families that it has when asked."""

from __future__ import annotations

from scanviz.engine.backends.native.emit.instructions import WRITE, why_not
from scanviz.engine.backends.native.emit.program import INSIDE, ProgramWriter
from scanviz.engine.backends.native.kernels import integer_powers, shape  # noqa: F401  # rows of native code
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction


def _write_inner_loop(writer: ProgramWriter, index: int, loop: LoopInstruction) -> None:
    from scanviz.engine.backends.native.emit.inside import write_inner_loop  # few loops have one inside

    write_inner_loop(writer, index, loop)


def _write_branch(writer: ProgramWriter, index: int, branch: BranchInstruction) -> None:
    from scanviz.engine.backends.native.emit.branch import write_branch  # few have one

    write_branch(writer, index, branch)


INSIDE.update({LoopInstruction: _write_inner_loop, BranchInstruction: _write_branch})

__all__ = ["WRITE", "why_not"]
