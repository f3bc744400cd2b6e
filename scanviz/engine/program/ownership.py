"""Arrays that a loop may take over: the buffer of a mitmot that was made for it and that nothing else needs.

The buffer that a backward loop starts from is made of the cotangent of rows just before it.  Copying it once more would
double the memory and cost as much as many steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as with_fields

from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, StateSlot


def owned_registers(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int], inputs: Sequence[int]
) -> set[int]:
    """Return the registers whose arrays the one instruction that reads them may change.

    Their arrays are new, and nothing else reads them: so there is no view of them either.

    Parameters
    ----------
    instructions : sequence
        Of one program.
    outputs, inputs : sequence of int
        The program's: never among the result.
    """
    readers: dict[int, int] = {}
    for instruction in instructions:
        for number in instruction.inputs:
            readers[number] = readers.get(number, 0) + 1
    kept = {*outputs, *inputs}
    return {
        number
        for instruction in instructions
        if isinstance(instruction, Instruction) and instruction.op.declaration.fresh
        for number in instruction.outputs
        if readers.get(number) == 1 and number not in kept
    }


def taken_over(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int], inputs: Sequence[int]
) -> list[AnyInstruction]:
    """Return instructions with the mitmots marked that may work in the array they are given."""
    ours = owned_registers(instructions, outputs, inputs)

    def taken(slot: StateSlot) -> bool:
        return slot.kind == "mitmot" and slot.outer in ours

    return [
        with_fields(
            instruction, states=tuple(with_fields(slot, in_place=taken(slot)) for slot in instruction.states)
        )
        if isinstance(instruction, LoopInstruction) and any(map(taken, instruction.states))
        else instruction
        for instruction in instructions
    ]
