"""Checking a Program and a memory plan: registers are filled before they are read, no live buffer is written over."""

from __future__ import annotations

from scanviz.engine.errors import InternalError
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction, Program
from scanviz.engine.program.lifetimes import aliases, last_uses
from scanviz.engine.program.specialise import Buffer, MemoryPlan


def verify_program(program: Program) -> None:
    """Check a program and those inside it.

    Raises
    ------
    InternalError
        Naming the first instruction or register that does not hold.
    """
    filled = {*program.inputs, *program.constants}
    for index, instruction in enumerate(program.instructions):
        for number in instruction.inputs:
            if number not in filled:
                raise InternalError(
                    f"`{program.name}`: instruction {index}, {instruction.op}, reads register {number}, not yet filled"
                )
        for number in instruction.outputs:
            if number in filled:
                raise InternalError(
                    f"`{program.name}`: instruction {index}, {instruction.op}, fills register {number} again"
                )
        filled.update(instruction.outputs)
        if isinstance(instruction, LoopInstruction):
            _verify_loop(instruction)
        elif isinstance(instruction, BranchInstruction):
            verify_program(instruction.then_program)
            verify_program(instruction.else_program)
    for number in program.outputs:
        if number not in filled:
            raise InternalError(f"`{program.name}`: output register {number} is never filled")


def _verify_loop(loop: LoopInstruction) -> None:
    reads = sum(len(slot.reads) for slot in loop.states)
    inputs = len(loop.sequences) + reads + len(loop.carries) + len(loop.non_sequences)
    writes = sum(len(slot.writes) for slot in loop.states)
    outputs = writes + len(loop.step_outputs) + len(loop.carries) + (loop.until is not None)
    if (inputs, outputs) != (len(loop.body.inputs), len(loop.body.outputs)):
        raise InternalError(
            f"loop `{loop.name}` and its body disagree",
            expected=(inputs, outputs),
            found=(len(loop.body.inputs), len(loop.body.outputs)),
        )
    verify_program(loop.body)


def verify_plan(program: Program, plan: MemoryPlan) -> None:
    """Check that no instruction writes over a buffer whose value is still needed.

    Raises
    ------
    InternalError
        Naming the instruction.
    """
    last, shared = last_uses(program), aliases(program)
    holder: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        for number in instruction.outputs:
            place = plan.places.get(number)
            if not isinstance(place, Buffer):
                continue
            before = holder.get(place.number)
            if before is not None and last[before] > index:
                raise InternalError(
                    f"`{program.name}`: instruction {index}, {instruction.op}, writes over register {before}, still read"
                )
            if before is not None and last[before] == index and before not in instruction.inputs:
                raise InternalError(
                    f"`{program.name}`: register {before} is lost before instruction {index} reads a view of it"
                )
            holder[place.number] = number
    if any(number in shared and isinstance(place, Buffer) for number, place in plan.places.items()):
        raise InternalError(f"`{program.name}`: a view was given a buffer of its own")
