"""One loop instead of two: a forward loop, and the same loop with residuals for its gradient.

A gradient needs values of the forward loop's steps and asks for them by a loop with more results
(:mod:`scanviz.engine.gradient.loops.residuals`); a tangent asks for a loop that carries tangents along.  Both hold the loop
variables of the user's loop themselves, the same objects, over the same inputs.  So two loops that share loop variables
over the same inputs are one loop that has the variables of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.levels import rebuilt
from scanviz.engine.rewrites.loops.scan_merge import MergeSet, grouped, positions
from scanviz.engine.rewrites.rule import Rewritten, graph_rule
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import LoopVariable, StepOutput, has_outer_output, inner_inputs

NAME = "merge_residuals"


@graph_rule(name=NAME, phase="gradient", outermost_first=True, tags=("scan",))
def merge_residuals(level: Level) -> Rewritten | None:
    """Make one loop of a loop and the same loop with residuals or tangents for its derivative."""
    if len(level.loops) < 2:
        return None

    merged: list[str] = []
    while pairs := pairs_of(level):
        mapping: dict[Variable, Variable] = {}
        for first, second in pairs:
            mapping.update(joined(first, second, NAME))
            merged.append(f"`{first.op.scan_name}`")
        level = level.rebuilt(rebuilt(level.outputs, mapping, {}))
    if not merged:
        return None
    return Rewritten(
        level.outputs, f"{', '.join(dict.fromkeys(merged))} gives the values of its steps to its derivative"
    )


def pairs_of(level: Level) -> list[tuple[ScanView, ScanView]]:
    """Return pairs of loops that become one, the user's own loop first; no loop is in two of them."""
    holding: dict[LoopVariable, int] = {}  # the groups of loops that have a loop variable, as bits

    def join(view: ScanView, needs: int, groups: Sequence[MergeSet]) -> MergeSet | None:
        candidates = 0
        for variable in view.op.variables:
            candidates |= holding.get(variable, 0)
        alone = (groups[k] for k in positions(candidates & ~needs) if len(groups[k].members) == 1)
        group = next((one for one in alone if _belong_together(one.members[0], view)), None)
        bit = 1 << len(groups) if group is None else group.bit
        holding.update({variable: holding.get(variable, 0) | bit for variable in view.op.variables})
        return group

    found = [group.members for group in grouped(level, join) if len(group.members) > 1]
    return [(a, b) if a.node.node_id <= b.node.node_id else (b, a) for a, b in found]


def _belong_together(a: ScanView, b: ScanView) -> bool:
    """Return whether two loops share loop variables, over the same inputs and for the same steps."""
    if a.n_steps is not b.n_steps or a.op.until is not b.op.until:
        return False
    shared = set(a.op.variables) & set(b.op.variables)
    if not shared or any(a.outer_input(variable) is not b.outer_input(variable) for variable in shared):
        return False
    mine, theirs = (
        {read for variable in op.variables if variable not in shared for read in inner_inputs(variable)}
        for op in (a.op, b.op)
    )
    return not mine & theirs  # one variable of the step cannot have two values


def joined(a: ScanView, b: ScanView, rule: str) -> dict[Variable, Variable]:
    """Return the results of one loop that has the variables of two, in place of theirs."""
    own = set(a.op.variables)
    known = {(output.value, output.keep): output for output in a.op.of_type(StepOutput)}
    counterpart: dict[LoopVariable, LoopVariable] = {
        output: known[output.value, output.keep]
        for output in b.op.of_type(StepOutput)
        if output not in own and (output.value, output.keep) in known
    }
    added = [variable for variable in b.op.variables if variable not in own and variable not in counterpart]
    variables: list[LoopVariable] = [*a.op.variables, *added]
    more = [given for variable in added if (given := b.outer_input(variable)) is not None]
    op = a.op.with_variables(variables, a.op.until)
    inputs = [*a.node.inputs, *more]
    names = [
        variable.name
        for variable in (*a.node.outputs, *(b.outer_output(variable) for variable in added))
        if variable is not None
    ]
    with made_by(rule, a.node.provenance, (a.node.node_id, b.node.node_id)):
        merged = Apply(op, inputs, node_id=a.node.node_id, names=names)
    view = ScanView(merged)
    mapping: dict[Variable, Variable] = {}
    for old in (a, b):
        for variable in old.op.variables:
            result, new = old.outer_output(variable), view.outer_output(counterpart.get(variable, variable))
            if has_outer_output(variable) and result is not None and new is not None:
                mapping[result] = new
    return mapping
