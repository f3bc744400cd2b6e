"""Checking a Program and a memory plan: registers are filled before they are read, no live buffer is written over."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.errors import InternalError
from scanviz.engine.program.instructions import LoopInstruction, Program, programs_in
from scanviz.engine.program.lifetimes import aliases
from scanviz.engine.program.plan.location import Buffer, Group, Location, Plan, Row, StoreKind, View
from scanviz.engine.program.slots import passed, written


def wrong(program: Program, what: str, found: object = None) -> InternalError:
    """Return the error of a program that cannot be run as it is."""
    return InternalError(f"`{program.name}`: {what}", found=found)


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
                raise wrong(
                    program, f"instruction {index}, {instruction.op}, reads register {number}, not yet filled"
                )
        for number in instruction.outputs:
            if number in filled:
                raise wrong(program, f"instruction {index}, {instruction.op}, fills register {number} again")
        filled.update(instruction.outputs)
        if isinstance(instruction, LoopInstruction):
            _verify_slots(instruction)
        for inside in programs_in(instruction):
            verify_program(inside)
    for number in program.outputs:
        if number not in filled:
            raise wrong(program, f"output register {number} is never filled")


def _verify_slots(loop: LoopInstruction) -> None:
    expected = len(passed(loop)), len(written(loop))
    found = len(loop.body.inputs), len(loop.body.outputs)
    if expected != found:
        raise InternalError(f"loop `{loop.name}` and its body disagree", expected=expected, found=found)


def verify_plan(program: Program, plan: Plan) -> None:
    """Check the order of groups, that what an instruction reads is still where it was put, and that outputs are at the end.

    Raises
    ------
    InternalError
        Naming the instruction.
    """
    _verify_groups(program, plan.groups)
    shared = aliases(program)
    holder: dict[object, int] = {}  # memory → the register whose value lies there
    for number, place in enumerate(plan.places):
        if place.made < 0 and isinstance(place.location, Row):
            holder[_memory(plan, place.location)] = number
    for time, group in enumerate(plan.groups):
        written = [number for index in group for number in program.instructions[index].outputs]
        read = [
            (index, number)
            for index in group
            if index not in plan.idle  # of what it asks for nothing but the shape, which is known
            for number in program.instructions[index].inputs
            if number not in written  # what the group gives is in memory when it is done
        ]
        for index, number in read:
            _verify_read(
                program, plan, holder, f"instruction {index}, {program.instructions[index].op}", number
            )
        inputs = {number for _, number in read}
        viewed = {
            alias
            for index in group
            if index not in plan.idle
            for k, number in enumerate(program.instructions[index].inputs)
            if number not in written
            for alias in shared.get(number, ())
            if k != program.instructions[index].op.facts.overlaps
            or alias not in program.instructions[index].inputs
        }
        for number in written:
            memory = _written(plan, number)
            if memory is not None:
                _verify_write(program, plan, time, number, holder.get(memory), inputs, viewed)
                holder[memory] = number
    for number in program.outputs:
        _verify_read(program, plan, holder, "what is given", number)


def _verify_groups(program: Program, groups: Sequence[Group]) -> None:
    """Check that every instruction is done once, after those that make what it reads."""
    done: set[int] = set()
    made = {*program.inputs, *program.constants}
    for group in groups:
        for index in group:
            instruction = program.instructions[index]
            if index in done or not made.issuperset(instruction.inputs):
                raise wrong(
                    program,
                    f"instruction {index}, {instruction.op}, is done twice or too early",
                    found=f"groups {groups}",
                )
            done.add(index)
            made.update(instruction.outputs)
    if len(done) != len(program.instructions):
        raise wrong(program, "instructions are in no group", found=f"groups {groups}")


def _memory(plan: Plan, location: Location) -> object:
    """Return what tells the memory of a location from all other."""
    if isinstance(location, Row) and location.slot in plan.stores:
        store = plan.stores[location.slot]
        if store.over is not None:
            return "sequence", store.over
        return location.slot if store.kind is StoreKind.SINGLE else location
    return location.slot if isinstance(location, Row) and location.slot[0] == "sequence" else location


def _written(plan: Plan, number: int) -> object:
    """Return the memory that a result is written into, None where it is no buffer and no row."""
    location = plan.places[number].location
    return _memory(plan, location) if isinstance(location, Buffer | Row) else None


def _root(plan: Plan, number: int) -> int:
    location = plan.places[number].location
    return location.base if isinstance(location, View) else number


def _verify_read(program: Program, plan: Plan, holder: dict[object, int], who: str, number: int) -> None:
    root = _root(plan, number)
    location = plan.places[root].location
    if isinstance(location, Buffer | Row) and holder.get(_memory(plan, location)) != root:
        raise wrong(
            program,
            f"{who}, reads register {number}, whose memory was written over",
            found=f"register {holder.get(_memory(plan, location))}",
        )


def _verify_write(
    program: Program, plan: Plan, time: int, number: int, before: int | None, read: set[int], viewed: set[int]
) -> None:
    """Check that a result may go where ``before`` was: nothing needs that later, and the group reads it only to write over it."""
    if before is None:
        return
    if plan.places[before].needed > time:
        raise wrong(program, f"register {number} is written over register {before}, still read")
    if before in viewed or (before in read and plan.places[number].over != before):
        raise wrong(program, f"register {before} is lost before the group is done that reads it")
