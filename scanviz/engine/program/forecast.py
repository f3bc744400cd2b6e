"""How much memory a call of a Program will hold at most, from the shapes of its inputs alone: nothing is run.

The Program is planned for the shapes, and gone through as it will be run: an array is there from the instruction that makes it
until nothing reads it or anything that looks into it; a loop holds its rows, its buffers, what a step makes anew and the loops
inside, one at a time, while it runs.  What is counted is what :mod:`scanviz.engine.runtime.ledger` counts in a call.

Limits: a loop that ends by a condition is taken to do all its steps; of the sides of a branch the larger one counts; arrays whose
shape depends on values are named, and not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    LoopInstruction,
    Program,
    StateSlot,
    dtype_of,
    is_scalar,
)
from scanviz.engine.program.memory import fresh_bytes
from scanviz.engine.program.plan import Emits, Plan, Size, View, Where, plan, single, wraps
from scanviz.engine.program.plan.arena import inner_steps, ring_size
from scanviz.engine.program.plan.location import packed
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.slotted import dataclass


@dataclass(frozen=True, slots=True)
class ProgramForecast:
    """What a call of a Program will hold.

    Attributes
    ----------
    peak_bytes : int
        The most at once.
    instruction : int
        The instruction that runs then; their number where it is while results are copied, -1 where nothing is held.
    held : mapping of int to int
        Bytes held at most while each instruction runs, by its index, and at last while results are copied.
    loops : mapping of int to int
        Bytes of the rows, buffers and new arrays of each loop, those inside included, by its key: of one run.
    kept : mapping of int to int
        Bytes of the rows of each loop, by its key.
    unknown : tuple of int
        Registers whose size depends on values.
    """

    peak_bytes: int
    instruction: int
    held: Mapping[int, int]
    loops: Mapping[int, int]
    kept: Mapping[int, int]
    unknown: tuple[int, ...]


def forecast(
    program: Program, shapes: Sequence[ConcreteShape], values: Mapping[int, Array], emits: Emits
) -> ProgramForecast:
    """Return what a call of a Program will hold at most.

    Parameters
    ----------
    program : Program
        A function's.
    shapes : sequence of tuple of int
        Of its inputs; None for one that is not known.
    values : mapping
        Input registers whose values are known, such as a number of steps.
    emits : Emits
        What the tier can do with memory.
    """
    found = _Walk()
    known, planned = planned_call(program, shapes, values, emits)
    held = found.program(known, planned, is_whole=True)
    peak = max(held.values(), default=0)
    at = next((index for index, size in held.items() if size == peak), -1)
    return ProgramForecast(peak, at if peak else -1, held, found.loops, found.kept, tuple(found.unknown))


def planned_call(
    program: Program, shapes: Sequence[ConcreteShape], values: Mapping[int, Array], emits: Emits
) -> tuple[Program, Plan]:
    """Return a Program with the values that are known for constants, and its plan for arrays of these shapes in C order."""
    known = replace(program, constants={**program.constants, **values})
    strides = [_strides(known, number, shape) for number, shape in zip(program.inputs, shapes, strict=True)]
    return known, plan(known, shapes, single, emits, strides)


def _strides(program: Program, number: int, shape: ConcreteShape) -> tuple[int, ...] | None:
    return None if shape is None else packed(shape, _itemsize(program, number))


def _itemsize(program: Program, number: int) -> int:
    return np.dtype(dtype_of(program, number)).itemsize


class _Walk:
    """Goes through programs as they will be run, and notes loops and what has no known size."""

    def __init__(self) -> None:
        self.loops: dict[int, int] = {}
        self.kept: dict[int, int] = {}
        self.unknown: list[int] = []

    def program(self, program: Program, planned: Plan, is_whole: bool = False) -> dict[int, int]:
        """Return what is held of what a program makes while each instruction runs; with ``is_whole``, at last, of results."""
        # arrays that are there, by the register that they were made for, with their bytes
        alive: dict[int, int] = {}
        users: dict[int, int] = {}  # registers that are needed, with the array that they look into
        most: dict[int, int] = {}
        for index, instruction in enumerate(program.instructions):
            before = sum(alive.values())
            inside, made = self._instruction(program, planned, index, instruction)
            for number, size in made.items():
                base = _base(planned, instruction, number, users)
                if base is not None:
                    users[number] = base
                    alive.setdefault(base, size)
            most[index] = max(before + inside, sum(alive.values()))
            for number in instruction.frees:
                users.pop(number, None)
            needed = set(users.values())
            alive = {base: size for base, size in alive.items() if base in needed}
        if is_whole:
            most[len(program.instructions)] = sum(alive.values()) + self._copies(program, planned, users)
        return most

    def _copies(self, program: Program, planned: Plan, users: Mapping[int, int]) -> int:
        """Return the bytes of results that are copied: they look into what was given, or into one another."""
        seen: set[int | None] = {None}
        total = 0
        for number in program.outputs:
            base = users.get(number)
            total += self._bytes(program, planned, number) if base in seen else 0
            seen.add(base)
        return total

    def _instruction(
        self, program: Program, planned: Plan, index: int, instruction: AnyInstruction
    ) -> tuple[int, dict[int, int]]:
        """Return what is held beside everything before while an instruction runs, and the bytes of what it makes."""
        if isinstance(instruction, LoopInstruction):
            return self._loop(program, planned, index, instruction)
        made = {number: self._bytes(program, planned, number) for number in instruction.outputs}
        if isinstance(instruction, BranchInstruction):
            sides = zip(instruction.sides, planned.inner.get(index, ()), strict=False)
            held = [max(self.program(side, inner).values(), default=0) for (side, _), inner in sides]
            return max(held, default=0), made
        return 0, made

    def _bytes(self, program: Program, planned: Plan, number: int) -> int:
        place = planned.places[number]
        if isinstance(place.location, Size) or is_scalar(program, number):
            return 0
        if place.shape is None:
            self.unknown.append(number)
            return 0
        return prod(place.shape) * _itemsize(program, number)

    def _loop(
        self, program: Program, planned: Plan, index: int, loop: LoopInstruction
    ) -> tuple[int, dict[int, int]]:
        steps, plans = inner_steps(program, planned, loop), planned.inner.get(index)
        if steps is None or plans is None:
            self.unknown += loop.outputs
            return 0, {}
        (inner,) = plans
        rows, made = _rows(
            loop, inner, max(steps, 0), [planned.places[slot.outer].shape for slot in loop.states]
        )
        inside = max(self.program_in_step(loop.body, inner), default=0)
        whole = rows + inner.arena + fresh_bytes(loop.body, inner) + inside
        self.loops[loop.key] = max(self.loops.get(loop.key, 0), whole)
        self.kept[loop.key] = max(self.kept.get(loop.key, 0), rows)
        made |= {slot.result: 0 for slot in loop.carries if slot.result is not None}
        return whole, made

    def program_in_step(self, body: Program, planned: Plan) -> list[int]:
        """Return what each loop and branch inside of a step holds while it runs."""
        return [
            self._instruction(body, planned, index, instruction)[0]
            for index, instruction in enumerate(body.instructions)
            if isinstance(instruction, LoopInstruction | BranchInstruction)
        ]


def _base(planned: Plan, instruction: AnyInstruction, number: int, users: Mapping[int, int]) -> int | None:
    """Return the array that a register looks into, by the register it was made for; None where that is no array of the call's."""
    place = planned.places[number]
    if place.over is not None:
        return users.get(place.over, number)
    if isinstance(place.location, View):
        return users.get(place.location.base)
    if not isinstance(instruction, LoopInstruction | BranchInstruction):
        viewed = instruction.op.declaration.views
        source = None if viewed is None else instruction.inputs[viewed]
        if source is not None and (
            instruction.op.facts.always_view or place.shape == planned.places[source].shape is not None
        ):
            return users.get(source)  # a view of it, wherever its elements lie
    return None if place.location in (Where.GIVEN, Where.CONSTANT) else number


def _rows(
    loop: LoopInstruction, planned: Plan, steps: int, initial: Sequence[ConcreteShape]
) -> tuple[int, dict[int, int]]:
    """Return the bytes of a loop's rows, and of the arrays that its results look into."""
    total, made = 0, dict[int, int]()
    for k, slot in enumerate(loop.states):
        store, given = planned.stores["state", k], initial[k]
        size = _rows_of(slot, steps, given) * store.row_bytes
        total += 0 if slot.in_place else size
        made.update({number: size for number in (slot.result, slot.history) if number is not None})
    for k, output in enumerate(loop.step_outputs):
        if output.result is not None:
            count = steps if output.keep_last is None else min(steps, output.keep_last)
            made[output.result] = count * planned.stores["output", k].row_bytes
            total += made[output.result]
    return total, made


def _rows_of(slot: StateSlot, steps: int, given: ConcreteShape) -> int:
    if slot.kind == "mitmot":
        return 0 if given is None else given[0]
    return ring_size(slot, steps) if wraps(slot) else slot.offset + steps
