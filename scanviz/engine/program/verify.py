"""Checks of Programs and memory plans.

:func:`verify_program` and :func:`verify_plan` are for all: registers are filled before they are read, no live buffer is written
over. :func:`verify_types` is for a Program that was read from a file: numbers are in range, types, slots and bodies fit together.
Nothing is left then that a backend could stumble over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from scanviz.engine.errors import InternalError, ScanvizError
from scanviz.engine.graph.nodes import Constant, Variable
from scanviz.engine.graph.types import TensorType, Type, fits
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import (
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    StateSlot,
    all_loops,
    dtype_of,
    programs_in,
)
from scanviz.engine.program.lifetimes import aliases
from scanviz.engine.program.plan.location import Buffer, Group, Location, Plan, Row, StoreKind, View
from scanviz.engine.program.slots import kept, passed, written


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
    """Check the order of groups, and that no value is overwritten before it is read or given out.

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
    """Check that every instruction is done once, after the makers of its inputs."""
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
    """Return a key for the memory of a location."""
    if isinstance(location, Row) and location.slot in plan.stores:
        store = plan.stores[location.slot]
        if store.over is not None:
            return "sequence", store.over
        return location.slot if store.kind is StoreKind.SINGLE else location
    return location.slot if isinstance(location, Row) and location.slot[0] == "sequence" else location


def _written(plan: Plan, number: int) -> object:
    """Return the memory that a result is written into, or None if it is no buffer and no row."""
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


def verify_types(program: Program) -> None:
    """Check the numbers and types of a program and of those inside it.

    Raises
    ------
    InternalError
        Naming the first that does not fit.
    """
    for number, register in enumerate(program.registers):
        if register.number != number:
            raise wrong(program, f"register {number} is numbered {register.number}")
    _in_range(program, (*program.inputs, *program.outputs, *program.constants))
    if len({*program.inputs, *program.constants}) != len(program.inputs) + len(program.constants):
        raise wrong(program, "an input is there twice, or a constant")
    for number, value in program.constants.items():
        kind = program.registers[number].type
        known = isinstance(kind, TensorType) and fits(TensorType(str(value.dtype), value.shape), kind)
        if not known:
            raise wrong(program, f"constant {number} is no {kind}")
    for index, instruction in enumerate(program.instructions):
        _in_range(program, (*instruction.inputs, *instruction.outputs))
        match instruction:
            case Instruction():
                _verify_operation(program, index, instruction)
            case LoopInstruction():
                _verify_loop(program, instruction)
            case BranchInstruction():
                _verify_branch(program, instruction)


def _in_range(program: Program, numbers: Iterable[int]) -> None:
    for number in numbers:
        if not 0 <= number < len(program.registers):
            raise wrong(program, f"there is no register {number}")


def alike(one: Type, other: Type, dropped: int = 0) -> bool:
    """Return whether two types have one dtype, and one rank when ``dropped`` axes are taken from the first."""
    if not isinstance(one, TensorType) or not isinstance(other, TensorType):
        return one == other and not dropped
    return one.dtype == other.dtype and one.ndim - dropped == other.ndim


def _verify_operation(program: Program, index: int, instruction: Instruction) -> None:
    op, types = instruction.op, [program.registers[number].type for number in instruction.outputs]
    given = [_stand_in(program, number) for number in instruction.inputs]
    try:
        inferred = list(op.infer(given))
    except (ScanvizError, IndexError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise wrong(program, f"instruction {index}, {op.name}, cannot take what it is given") from error
    if isinstance(op.declaration, ElementwiseDeclaration):
        dtypes = [dtype_of(program, number) for number in instruction.inputs]
        if [dtype.name for dtype in op.declaration.result(*map(np.dtype, dtypes))[: len(dtypes)]] != dtypes:
            raise wrong(
                program, f"instruction {index}, {op.name}, reads {dtypes}, in which it does not compute"
            )
    if len(inferred) != len(types) or not all(map(alike, inferred, types)):
        raise wrong(program, f"instruction {index}, {op.name}, gives {inferred}, not {types}")


def _stand_in(program: Program, number: int) -> Variable:
    value = program.constants.get(number)
    return (
        Variable(program.registers[number].type)
        if value is None
        else Constant(program.registers[number].type, value)
    )


def _verify_loop(program: Program, loop: LoopInstruction) -> None:
    body = loop.body
    verify_types(body)
    for slot in loop.states:
        if not slot.writes:
            raise wrong(program, f"loop `{loop.name}`: state `{slot.name}` is never written")
    given, results = passed(loop), kept(loop)
    around, inner = [*(entry.outer for entry in given), loop.n_steps], [entry.inner for entry in given]
    named = [slot.result for slot in results if slot.result is not None]
    _in_range(program, around)
    _in_range(body, [*inner, *written(loop)])
    if not {*around} <= {*loop.inputs} or sorted(named) != sorted(loop.outputs):
        raise wrong(program, f"loop `{loop.name}` and its slots disagree")
    if sorted(inner) != sorted(body.inputs) or written(loop) != list(body.outputs):
        raise wrong(program, f"loop `{loop.name}` and its body disagree")
    for _, outer, number, _, rows in given:
        if not alike(program.registers[outer].type, body.registers[number].type, rows):
            raise wrong(program, f"loop `{loop.name}`: register {outer} does not fit {number} of its body")
    for slot in loop.states:
        _verify_state(program, loop, slot)
    for _, number, result, rows in results:
        if result is not None and not alike(
            program.registers[result].type, body.registers[number].type, rows
        ):
            raise wrong(program, f"loop `{loop.name}`: register {result} does not hold its result")
    if not _is_number(program, loop.n_steps, "int64") or (
        loop.until is not None and not _is_number(body, loop.until, None)
    ):
        raise wrong(program, f"loop `{loop.name}`: its number of steps or its condition is no number")
    if loop.until is not None and any(slot.backwards for slot in loop.step_outputs):
        raise wrong(program, f"loop `{loop.name}` may end early, and lays rows backwards")
    if any(slot.over is not None for slot in loop.step_outputs):
        from scanviz.engine.program.rows_over import may_be_over

        if not may_be_over(program, loop):
            raise wrong(program, f"loop `{loop.name}` writes over rows that something else needs")
    for inside, _ in all_loops(body):
        if any(slot.over is not None for slot in inside.step_outputs):
            raise wrong(program, f"loop `{inside.name}` writes over rows that other steps need")


def _is_number(program: Program, number: int, dtype: str | None) -> bool:
    kind = program.registers[number].type
    return isinstance(kind, TensorType) and kind.ndim == 0 and dtype in (None, kind.dtype)


def _verify_state(program: Program, loop: LoopInstruction, slot: StateSlot) -> None:
    taps: Sequence[int] = [tap for tap, _ in (*slot.reads, *slot.writes)]
    body = loop.body
    rows = program.registers[slot.outer].type
    numbers = [number for _, number in (*slot.reads, *slot.writes)]
    dropped = int(slot.kind != "sitsot")
    fit = all(alike(rows, body.registers[number].type, dropped) for number in numbers)
    plain = slot.kind == "mitmot" or (
        [tap for tap, _ in slot.writes] == [0]
        and all(tap < 0 for tap, _ in slot.reads)
        and not slot.in_place
        and (slot.kind == "mitsot" or slot.offset == 1)
    )
    if not fit or not plain or slot.offset + min(taps) < 0 or (slot.keep_last or 0) < 0:
        raise wrong(
            program, f"loop `{loop.name}`: state `{slot.name}` has taps or rows that do not go together"
        )


def _verify_branch(program: Program, branch: BranchInstruction) -> None:
    for inside, reads in branch.sides:
        verify_types(inside)
        _in_range(program, reads)
        given = [program.registers[number].type for number in reads]
        wanted = [inside.registers[number].type for number in inside.inputs]
        results = [inside.registers[number].type for number in inside.outputs]
        outer = [program.registers[number].type for number in branch.outputs]
        fit = len(given) == len(wanted) and all(map(alike, given, wanted))
        if not fit or len(results) != len(outer) or not all(map(alike, results, outer)):
            raise wrong(program, f"the sides of ifelse do not fit: `{inside.name}`")
    if not {branch.condition, *branch.then_inputs, *branch.else_inputs} <= {*branch.inputs}:
        raise wrong(program, "ifelse reads registers that are not among its inputs")
