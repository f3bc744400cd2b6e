"""Rows that a loop lays down from the last to the first, for what reads them does so from the last one on.

A gradient goes back through time: its first row is that of the last step.  What is computed of all its rows with those of the loop
before it, such as one product of matrices, wants both in one order and in one piece: else all rows would be copied first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace as with_fields

from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import FROM_THE_LAST
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction


def laid_backwards(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int]
) -> tuple[list[AnyInstruction], list[tuple[str, str]]]:
    """Return instructions whose loops lay rows backwards that are read from the last one on, with names of the loops and the rows.

    Parameters
    ----------
    instructions : sequence
        Of one program.
    outputs : sequence of int
        The program's: whoever gets one may read it in any order.
    """
    readers: dict[int, list[AnyInstruction]] = {}
    for instruction in instructions:
        for number in instruction.inputs:
            readers.setdefault(number, []).append(instruction)
    kept, fresh, names = {*outputs}, list[AnyInstruction](), list[tuple[str, str]]()
    for instruction in instructions:
        if isinstance(instruction, LoopInstruction) and instruction.until is None:
            slots = tuple(
                with_fields(slot, backwards=True)
                if slot.keep_last is None and _are_turned(slot.result, readers, kept)
                else slot
                for slot in instruction.step_outputs
            )
            turned = [(instruction.name, slot.name) for slot in slots if slot.backwards]
            instruction = with_fields(instruction, step_outputs=slots) if turned else instruction
            names += turned
        fresh.append(instruction)
    return fresh, names


def _are_turned(number: int | None, readers: dict[int, list[AnyInstruction]], kept: set[int]) -> bool:
    """Return whether somebody reads rows, and all who do take them from the last one on."""
    if number is None:
        return False
    found = list(_how_read(number, readers, kept))
    return bool(found) and all(found)


def _how_read(number: int, readers: dict[int, list[AnyInstruction]], kept: set[int]) -> Iterator[bool]:
    """Iterate over whether rows are read from the last one on; who asks for their sizes alone does not count."""
    if number in kept:
        yield False
    for reader in readers.get(number, ()):
        declaration = reader.op.declaration
        if not isinstance(reader, Instruction) or number in reader.inputs[1:]:
            yield False
        elif declaration.name == "sum_to_shape":  # most often of the shape that it is to have: the very array
            yield from _how_read(reader.outputs[0], readers, kept)
        elif declaration is not DIMENSION:
            yield declaration is INDEX and reader.op.parameters.entries[0].numbers() == FROM_THE_LAST
