"""One loop instead of two: a forward loop, and the same loop with residuals for its gradient.

A gradient needs values of the forward loop's steps and asks for them by a loop with more results
(:mod:`scanviz.engine.gradient.residuals`); a tangent asks for a loop that carries tangents along.  Both hold the loop
variables of the user's loop themselves, the same objects, over the same inputs.  So two loops that share loop variables
over the same inputs are one loop that has the variables of both.
"""

from __future__ import annotations

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Rewritten, graph_rule
from scanviz.engine.rewrites.settle import rebuilt

NAME = "merge_residuals"


@graph_rule(name=NAME, phase="gradient", outermost_first=True, tags=("scan",))
def merge_residuals(level: Level) -> Rewritten | None:
    """Make one loop of a loop and the same loop with residuals or tangents for its derivative."""
    if len(level.loops) < 2:
        return None
    from scanviz.engine.rewrites.loops_of_derivatives import joined, pairs_of

    merged: list[str] = []
    while pairs := pairs_of(level):
        mapping: dict[Variable, Variable] = {}
        for first, second in pairs:
            mapping.update(joined(first, second, NAME))
            merged.append(f"`{first.op.scan_name}`")
        fresh = rebuilt(level.outputs, mapping, {})
        level = Level(fresh, level.path, level.loop, fresh.nodes, level.target)
    if not merged:
        return None
    return Rewritten(
        level.outputs, f"{', '.join(dict.fromkeys(merged))} gives the values of its steps to its derivative"
    )
