"""Which loop of a program is the back-propagation of which, and what of the forward loop it reads.

A backward loop knows the node id of its forward loop's node.  What it reads may come to it through views, such as rows in
reversed order; they are followed back to the loop that filled the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from scanviz.engine.ops.index import STATE_HISTORY
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program
from scanviz.engine.scan.loop import Scan


def _is_gradient_of(backward: LoopInstruction, forward: LoopInstruction) -> bool:
    assert isinstance(backward.op, Scan)
    known = backward.op.settings.gradient_of
    return known is not None and known.node_id == forward.node_id and backward is not forward


def forward_loop(loop: LoopInstruction, program: Program) -> int | None:
    """Return the key of the loop of the same program that a loop is the gradient of, None if there is none."""
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction) and _is_gradient_of(loop, instruction):
            return instruction.key
    return None


def read_backwards(forward: LoopInstruction, program: Program) -> set[int]:
    """Return the registers of a loop's results that loops of its gradient read."""
    maker = {number: instruction for instruction in program.instructions for number in instruction.outputs}
    found: set[int] = set()
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction) and _is_gradient_of(instruction, forward):
            found.update(_root(slot.outer, maker) for slot in instruction.sequences)
    return found & set(forward.outputs)


def _root(number: int, maker: Mapping[int, object]) -> int:
    """Return the register whose memory, or whose rows, a register shows."""
    made = maker.get(number)
    while isinstance(made, Instruction):
        views = made.op.declaration.views
        place = 0 if made.op.declaration is STATE_HISTORY else views
        if place is None:
            break
        number = made.inputs[place]
        made = maker.get(number)
    return number


__all__ = ["forward_loop", "read_backwards"]
