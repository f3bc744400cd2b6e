"""Which loop of a program is the back-propagation of which, and what of the forward loop it reads.

A backward loop knows the node id of its forward loop's node, and a loop that rewrites made of several knows the ids of these, so
the two are found again after merging.  What the backward loop reads may come to it through views, such as rows in reversed order;
they are followed back to the loop that filled the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.ops.index import STATE_HISTORY
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.settings import Member


def _members(loop: LoopInstruction) -> tuple[Member, ...]:
    assert isinstance(loop.op, Scan)
    return loop.op.settings.members(loop.node_id)


def _forward_ids(loop: LoopInstruction) -> set[int]:
    return {one.gradient_of.node_id for one in _members(loop) if one.gradient_of is not None}


def _is_gradient_of(backward: LoopInstruction, forward: LoopInstruction) -> bool:
    wanted = _forward_ids(backward)
    return backward is not forward and any(one.node_id in wanted for one in _members(forward))


def forward_loop(loop: LoopInstruction, program: Program) -> int | None:
    """Return the key of the first loop of the same program that a loop is the gradient of, None if there is none."""
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction) and _is_gradient_of(loop, instruction):
            return instruction.key
    return None


def forward_loops(
    loop: LoopInstruction, around: Program, everywhere: Sequence[LoopInstruction]
) -> tuple[tuple[int, ...], bool]:
    """Return the loops that a loop is the gradient of, of its own program, else of those in other loops' steps.

    With their keys it returns whether they and the loop do nothing else: merged loops may do what the other side knows nothing of.

    Parameters
    ----------
    loop : LoopInstruction
        The backward loop.
    around : Program
        The program it is in.
    everywhere : sequence of LoopInstruction
        All loops of the function: the gradient of a loop in a step stands in another step.
    """
    beside = [one for one in around.instructions if isinstance(one, LoopInstruction)]
    found = [one for one in beside if _is_gradient_of(loop, one)]
    found = found or [one for one in everywhere if _is_gradient_of(loop, one)]
    wanted = _forward_ids(loop)
    alone = len(wanted) > 0 and all(one.gradient_of is not None for one in _members(loop))
    alone = alone and all(one.node_id in wanted for forward in found for one in _members(forward))
    return tuple(one.key for one in found), alone or not found


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
