"""Arrays that a loop may take over: the buffer of a mitmot that was made for it and that nothing else needs.

The buffer that a backward loop starts from is made of the cotangent of rows just before it.  Copying it once more would
double the memory and cost as much as many steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields

from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.join import CONCATENATE
from scanviz.engine.ops.shape import ALLOC
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction

# operations whose result is a new array every time
_FRESH = frozenset((ALLOC, ASSIGN, CONCATENATE))


def taken_over(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int], inputs: Sequence[int]
) -> list[AnyInstruction]:
    """Return instructions with the mitmots marked that may work in the array they are given.

    Parameters
    ----------
    instructions : sequence
        Of one program, with the registers that each is the last to read.
    outputs, inputs : sequence of int
        The program's: never taken over.
    """
    maker = {number: each for each in instructions for number in each.outputs}
    readers: dict[int, int] = {}
    for each in instructions:
        for number in each.inputs:
            readers[number] = readers.get(number, 0) + 1
    kept = {*outputs, *inputs}

    def is_ours(number: int) -> bool:
        made = maker.get(number)
        fresh = isinstance(made, Instruction) and made.op.declaration in _FRESH
        return fresh and readers[number] == 1 and number not in kept  # read here alone, so by no view of it

    found: list[AnyInstruction] = []
    for each in instructions:
        if isinstance(each, LoopInstruction) and any(
            slot.kind == "mitmot" and is_ours(slot.outer) for slot in each.states
        ):
            states = tuple(
                with_fields(slot, in_place=slot.kind == "mitmot" and is_ours(slot.outer))
                for slot in each.states
            )
            each = with_fields(each, states=states)
        found.append(each)
    return found
