"""Lifetimes of registers, and the memory that they may share.

A register's memory is needed until the last instruction that reads it or anything that may be a view of it.  Views come from
ops with views by declaration, from branches, whose results may be one of their inputs, and from loops that work in an array
they were given.

A loop may take over the buffer of a mitmot that was made for it and that nothing else needs.  A backward loop starts from such
a buffer, made of the cotangent of rows just before it.  A copy would double the memory and cost as much as many steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace as with_fields

from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    StateSlot,
    is_scalar,
    with_programs,
)

_NOTHING: frozenset[int] = frozenset()


def aliases(program: Program) -> dict[int, frozenset[int]]:
    """Map each register that may be a view to the registers whose memory it may share, directly or through others."""
    found: dict[int, frozenset[int]] = {}
    for instruction in program.instructions:
        for outputs, viewed in _viewed(instruction, program):
            shared = _NOTHING.union(*({number, *found.get(number, _NOTHING)} for number in viewed))
            if shared:
                found.update(dict.fromkeys(outputs, shared))
    return found


def _viewed(instruction: AnyInstruction, program: Program) -> Sequence[tuple[Sequence[int], Sequence[int]]]:
    """Return results that may be views, paired with the inputs that they may look into.

    A number is a value on every tier, never a view.
    """
    if isinstance(instruction, BranchInstruction):
        return [(instruction.outputs, instruction.inputs)]
    # a loop gives arrays of its own, but for those it was allowed to take over
    if isinstance(instruction, LoopInstruction):
        return [(results, (outer,)) for results, outer in _taken(instruction)]
    views = instruction.op.declaration.views
    if views is None or instruction.op.facts.never_view or is_scalar(program, instruction.outputs[0]):
        return ()
    return [(instruction.outputs, (instruction.inputs[views],))]


def _taken(loop: LoopInstruction) -> Iterator[tuple[list[int], int]]:
    """Iterate over results of a loop that lie in an array that it received, with that array."""
    for state in loop.states:
        if state.in_place:
            yield [number for number in (state.result, state.history) if number is not None], state.outer
    for output in loop.step_outputs:
        if output.over is not None and output.result is not None:
            yield [output.result], loop.sequences[output.over].outer


def gives_own(program: Program) -> bool:
    """Return whether each output is a new array that shares no memory with inputs, constants or other outputs."""
    made: dict[int, tuple[int, ...]] = {}  # by register the memory that it is made in
    for index, instruction in enumerate(program.instructions):
        if isinstance(instruction, LoopInstruction):
            rows = {slot.history: slot.result for slot in instruction.states}  # one is a part of the other
            made.update((number, (index, rows.get(number) or number)) for number in instruction.outputs)
        elif not isinstance(instruction, BranchInstruction):  # a side may give a constant of its own
            apart = instruction.op.declaration.family == "random"  # the state and what was drawn
            made.update((number, (index, number) if apart else (index,)) for number in instruction.outputs)
    shared, seen = aliases(program), set[tuple[int, ...]]()
    for number in program.outputs:
        reached = {number, *shared.get(number, _NOTHING)}
        if not reached <= made.keys():
            return False
        memory = {made[other] for other in reached}
        if memory & seen:
            return False
        seen |= memory
    return True


def last_uses(
    program: Program,
    shared: dict[int, frozenset[int]] | None = None,
    time: Sequence[int] | None = None,
) -> dict[int, int]:
    """Return when each register's memory is last needed; outputs are never released.

    Parameters
    ----------
    program : Program
        The program of the registers.
    shared : dict, optional
        The result of :func:`aliases`.
    time : sequence of int, optional
        Position of each instruction in time, its index by default: outputs are needed one after the last of them.
    """
    shared = aliases(program) if shared is None else shared
    time = range(len(program.instructions)) if time is None else time
    last: dict[int, int] = {}

    def need(number: int, when: int) -> None:
        for alias in (number, *shared.get(number, _NOTHING)):
            last[alias] = max(last.get(alias, 0), when)

    for when, instruction in zip(time, program.instructions, strict=True):
        for number in (*instruction.inputs, *instruction.outputs):
            need(number, when)
    end = max(time, default=-1) + 1
    for number in program.outputs:
        need(number, end)
    return last


def with_frees(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int], inputs: Sequence[int]
) -> list[AnyInstruction]:
    """Return the instructions with the registers that each is the last to read."""
    alive = {*outputs, *inputs}
    fresh: list[AnyInstruction] = []
    for instruction in reversed(instructions):
        used = dict.fromkeys((*instruction.inputs, *instruction.outputs))
        frees = tuple(number for number in used if number not in alive)
        alive.update(frees)
        if isinstance(instruction, Instruction):  # by far the most
            op, read, given = instruction.op, instruction.inputs, instruction.outputs
            fresh.append(Instruction(op, read, given, instruction.provenance, instruction.node_id, frees))
        else:
            fresh.append(with_fields(instruction, frees=frees))
    return fresh[::-1]


def with_frees_inside(program: Program) -> Program:
    """Recompute the registers that each instruction is the last to read, in a program and those inside it."""
    inside = [with_programs(instruction, with_frees_inside) for instruction in program.instructions]
    fresh = with_frees(inside, program.outputs, program.inputs)
    return with_fields(program, instructions=tuple(fresh))


def owned_registers(
    instructions: Sequence[AnyInstruction], outputs: Sequence[int], inputs: Sequence[int]
) -> set[int]:
    """Return the registers whose only reader may change their arrays.

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
    """Mark the mitmots that may work in the array they receive."""
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
