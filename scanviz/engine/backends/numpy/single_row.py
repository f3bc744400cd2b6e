"""States that need one row: the operation that makes the new row writes it over the old one, which nothing reads any more.

This is what someone writes by hand as ``multiply(p, a, p)``.  It holds for a state of which only the last row is kept, whose
new row comes from an operation that may write over its input, where that input is the old row and this its last use, in
the step and as a result of it.
"""

from __future__ import annotations

from scanviz.engine.backends.numpy.emit import overwrites
from scanviz.engine.program.instructions import Instruction, LoopInstruction, StateSlot
from scanviz.engine.program.lifetimes import aliases, last_uses
from scanviz.engine.program.specialise import MemoryPlan, Row


def written_over(loop: LoopInstruction, plan: MemoryPlan, states: set[int]) -> set[int]:
    """Return those of ``states`` whose new row may be written over the old one.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    plan : MemoryPlan
        Where the body's registers live.
    states : set of int
        Numbers of states of which only the last row is kept.
    """
    last, shared = last_uses(loop.body), aliases(loop.body)
    return {k for k in states if _over_old(loop, plan, k, loop.states[k], last, shared)}


def _over_old(
    loop: LoopInstruction,
    plan: MemoryPlan,
    k: int,
    slot: StateSlot,
    last: dict[int, int],
    shared: dict[int, frozenset[int]],
) -> bool:
    old, new = slot.reads[0][1], slot.writes[0][1]
    if plan.places.get(new) != Row(("state", k)):
        return False
    for index, instruction in enumerate(loop.body.instructions):
        if new in instruction.outputs and isinstance(instruction, Instruction):
            places = [each for each in overwrites(instruction, loop.body) if instruction.inputs[each] == old]
            viewed = any(old in shared.get(each, ()) for each in instruction.inputs)
            return bool(places) and last[old] == index and not viewed
    return False
