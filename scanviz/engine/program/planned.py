"""What memory rules did that work when shapes are met, read of the plans that a backend made: for the history of rewrites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops
from scanviz.engine.program.plan import Buffer, Fusion, Plan, Where
from scanviz.engine.rewrites.level import Refused
from scanviz.engine.rewrites.pipeline import Application
from scanviz.engine.rewrites.rule import RULES

Plans = Mapping[int, Plan]  # of the loops that were run, by their keys
FUSE, REUSE = "fuse_elementwise", "reuse_buffers"


def planned_applications(program: Program, plans: Plans) -> list[Application]:
    """Return the applications of ``fuse_elementwise`` and ``reuse_buffers`` in the plans of a program's loops."""
    found: list[Application] = []
    for rule, say in ((FUSE, _fused), (REUSE, _reused)):
        for loop, _ in all_loops(program):
            count, says = say(plans[loop.key]) if loop.key in plans else (0, "")
            if count:
                text = f"`{loop.name}`: {says}"
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
    """Return why neighbours in the steps of a program's loops are not done as one, where a backend asked for groups."""
    paths: dict[int, tuple[str, ...]] = {}
    found: list[Refused] = []
    for loop, parent in all_loops(program):
        paths[loop.key] = (*(paths[parent.key] if parent is not None else ()), loop.name)
        if loop.key in plans:
            found += _refusals(loop, paths[loop.key], plans[loop.key].fusions)
    return found


def _refusals(loop: LoopInstruction, path: tuple[str, ...], fusions: tuple[Fusion, ...]) -> Iterator[Refused]:
    from scanviz.engine.program.printer import instruction_text

    for fusion in fusions:
        if fusion.refusal is not None:
            first, second = (loop.body.instructions[k] for k in (fusion.first, fusion.second))
            texts = (instruction_text(loop.body, k) for k in (fusion.first, fusion.second))
            source = str(second.provenance.source or first.provenance.source or "")
            node = " and ".join(f"`{text}`" for text in texts)
            yield Refused(
                FUSE, path, node, second.node_id, source, fusion.refusal.why, fusion.refusal.preconditions_met
            )
