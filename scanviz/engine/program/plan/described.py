"""Where registers live, in words: what stands beside them where a Program is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops
from scanviz.engine.program.plan.location import Buffer, Group, Place, Plan, Row, Size, StoreKind, View, Where
from scanviz.engine.program.printer import Notes
from scanviz.engine.program.shapes import ConcreteShape

_KINDS = {StoreKind.RING: ", in a ring", StoreKind.PAIR: ", one of two", StoreKind.SINGLE: ", its only one"}


def notes_of(program: Program, plans: Mapping[int, Plan]) -> Notes:
    """Return what plans say of the steps of a program's loops; plans are given by the key of the loop."""
    known = {id(loop.body): (loop, plans[loop.key]) for loop, _ in all_loops(program) if loop.key in plans}

    def place(inside: Program, number: int) -> str:
        found = known.get(id(inside))
        return "" if found is None else place_text(*found, number)

    def groups(inside: Program) -> Sequence[Group]:
        found = known.get(id(inside))
        return () if found is None else found[1].groups

    def shapes(loop: LoopInstruction) -> Sequence[ConcreteShape] | None:
        found = known.get(id(loop.body))
        given = None if found is None else [found[1].places[number].shape for number in loop.body.inputs]
        return None if given is None or None in given else given

    return Notes(place, groups, shapes)


def place_text(loop: LoopInstruction, plan: Plan, number: int) -> str:
    """Return where a register of a loop's step lives, in words; empty for what comes from outside."""
    place = plan.places[number]
    if place.made < 0:
        return ""
    once = any(number in loop.body.instructions[k].outputs for k in plan.invariant)
    over = f", over %{place.over}" if place.over is not None else ""
    return f"{_location(loop, plan, place)}{over}{', once before the steps' if once else ''}"


def _location(loop: LoopInstruction, plan: Plan, place: Place) -> str:
    match place.location:
        case Buffer(number):
            return f"buffer {number}"
        case Row(slot, _):
            named = loop.states[slot[1]].name if slot[0] == "state" else loop.step_outputs[slot[1]].name
            return f"row of {named}{_KINDS.get(plan.stores[slot].kind, '')}"
        case View(base, offset):
            return f"view of %{base}{'' if offset is None else f' from byte {offset}'}"
        case Size(value):
            return f"size {value}"
        case Where.NUMBER:
            return "a number"
        case Where.FRESH:
            return "a new array every step"
        case Where.LOCAL:
            return "never in memory"
        case Where.GIVEN | Where.CONSTANT:
            return str(place.location.value)
