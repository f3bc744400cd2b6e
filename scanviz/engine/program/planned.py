"""Plans in words: effects of the memory rules for the shapes met, and where registers live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops
from scanviz.engine.program.plan import Buffer, Fusion, Place, Plan, Row, Size, StoreKind, View, Where
from scanviz.engine.program.plan.location import Group
from scanviz.engine.program.printer import Notes, instruction_text
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.rewrites.level import Refused
from scanviz.engine.rewrites.pipeline import Application
from scanviz.engine.rewrites.rule import RULES

Plans = Mapping[int, Plan]  # of the loops that were run, by their keys
FUSE, REUSE = "fuse_elementwise", "reuse_buffers"


def planned_applications(program: Program, plans: Plans) -> list[Application]:
    """Return the applications of ``fuse_elementwise`` and ``reuse_buffers`` in the plans of a program's loops."""
    found: list[Application] = []
    for rule, effect_of in ((FUSE, _fused), (REUSE, _reused)):
        for loop, _ in all_loops(program):
            count, effect = effect_of(plans[loop.key]) if loop.key in plans else (0, "")
            if count:
                text = f"`{loop.name}`: {effect}"
                where = RULES[rule].where
                found.append(Application(len(found), "memory", rule, where, text, count, ((loop.name,),), 0))
    return found


def _fused(plan: Plan) -> tuple[int, str]:
    together = [group for group in plan.groups if len(group) > 1]
    local = sum(place.location is Where.LOCAL for place in plan.places)
    matches = sum(fusion.refusal is None for fusion in plan.fusions)
    groups = "1 group" if len(together) == 1 else f"{len(together)} groups"
    return (
        matches,
        f"{sum(map(len, together))} operations done in {groups}, {local} results never in memory",
    )


def _reused(plan: Plan) -> tuple[int, str]:
    temporaries, buffers = len(plan.placed(Buffer)), len(plan.buffers)
    shared = int(temporaries > buffers)
    room = "1 buffer" if buffers == 1 else f"{buffers} buffers"
    return shared, f"{temporaries} temporaries in {room}, {plan.in_place} written over an input"


def planned_refusals(program: Program, plans: Plans) -> list[Refused]:
    """Return why neighbouring instructions in steps are not fused, for backends with groups."""
    paths: dict[int, tuple[str, ...]] = {}
    found: list[Refused] = []
    for loop, parent in all_loops(program):
        paths[loop.key] = (*(paths[parent.key] if parent is not None else ()), loop.name)
        if loop.key in plans:
            found += _refusals(loop, paths[loop.key], plans[loop.key].fusions)
    return found


def _refusals(loop: LoopInstruction, path: tuple[str, ...], fusions: tuple[Fusion, ...]) -> Iterator[Refused]:
    for fusion in fusions:
        if fusion.refusal is not None:
            first, second = (loop.body.instructions[k] for k in (fusion.first, fusion.second))
            texts = (instruction_text(loop.body, k) for k in (fusion.first, fusion.second))
            source = str(second.provenance.source or first.provenance.source or "")
            node = " and ".join(f"`{text}`" for text in texts)
            yield Refused(
                FUSE, path, node, second.node_id, source, fusion.refusal.why, fusion.refusal.preconditions_met
            )


_KINDS = {StoreKind.RING: ", in a ring", StoreKind.PAIR: ", one of two", StoreKind.SINGLE: ", its only one"}


def notes_of(program: Program, plans: Mapping[int, Plan]) -> Notes:
    """Return notes for the printer from the plans of a program's loops, by loop key."""
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
    """Return where a register of a step lives, in words; empty for inputs and constants."""
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
