"""One loop instead of two: a forward loop, and the same loop with residuals for its gradient.

A gradient needs values of the forward loop's steps and asks for them by a loop with more results
(:mod:`scanviz.engine.gradient.residuals`); a tangent asks for a loop that carries tangents along.  Both hold the loop
variables of the user's loop themselves, the same objects, over the same inputs.  So two loops that share loop variables
over the same inputs are one loop that has the variables of both.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Rewritten, graph_rule
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import LoopVariable, StepOutput, has_outer_output, inner_inputs

NAME = "merge_residuals"


@graph_rule(name=NAME, phase="gradient", outermost_first=True, tags=("scan",))
def merge_residuals(level: Level) -> Rewritten | None:
    """Make one loop of a loop and the same loop with residuals or tangents for its derivative."""
    current, merged = level.outputs, list[str]()
    while len(level.loops) > 1 and (found := _merged(current)) is not None:
        current, name = found
        merged.append(f"`{name}`")
    if not merged:
        return None
    return Rewritten(
        current, f"{', '.join(dict.fromkeys(merged))} gives the values of its steps to its derivative"
    )


def _merged(outputs: Sequence[Variable]) -> tuple[list[Variable], str] | None:
    """Return the graph with one pair of loops merged, and their name; None where there is none."""
    loops = [node for node in toposort(outputs) if isinstance(node.op, Scan)]
    for k, later in enumerate(loops):
        for earlier in loops[:k]:
            if _belong_together(earlier, later) and not _follows(earlier, later):
                first, second = sorted(
                    (earlier, later), key=lambda each: each.birth
                )  # the user's own loop first
                return _replaced(outputs, first, second), ScanView(first).op.scan_name
    return None


def _belong_together(first: Apply, second: Apply) -> bool:
    """Return whether two loops share loop variables, over the same inputs and for the same steps."""
    a, b = ScanView(first), ScanView(second)
    if a.n_steps is not b.n_steps or a.op.until is not b.op.until:
        return False
    shared = set(a.op.variables) & set(b.op.variables)
    if not shared or any(a.outer_input(each) is not b.outer_input(each) for each in shared):
        return False
    mine, theirs = (
        {read for each in op.variables if each not in shared for read in inner_inputs(each)}
        for op in (a.op, b.op)
    )
    return not mine & theirs  # one variable of the step cannot have two values


def _follows(first: Apply, second: Apply) -> bool:
    """Return whether the later of two loops needs a result of the earlier one."""
    results = set(first.outputs)
    return any(each in results for node in toposort(second.inputs) for each in node.inputs) or any(
        each in results for each in second.inputs
    )


def _replaced(outputs: Sequence[Variable], first: Apply, second: Apply) -> list[Variable]:
    """Return the graph with both loops replaced by one that has the variables of both."""
    a, b = ScanView(first), ScanView(second)
    own = set(a.op.variables)
    known = {(each.value, each.keep): each for each in a.op.variables if isinstance(each, StepOutput)}
    twins: dict[LoopVariable, LoopVariable] = {
        each: known[each.value, each.keep]
        for each in b.op.variables
        if isinstance(each, StepOutput) and each not in own and (each.value, each.keep) in known
    }
    added = [each for each in b.op.variables if each not in own and each not in twins]
    variables: list[LoopVariable] = [*a.op.variables, *added]
    more = [given for each in added if (given := b.outer_input(each)) is not None]
    op = a.op.with_variables(variables, a.op.until)
    inputs = [*first.inputs, *more]
    names = [
        each.name for each in (*first.outputs, *(b.outer_output(each) for each in added)) if each is not None
    ]
    with made_by(NAME, first.provenance, (first.birth, second.birth)):
        merged = Apply(op, inputs, op.infer(inputs), birth=first.birth, names=names)
    view = ScanView(merged)
    mapping: dict[Variable, Variable] = {}
    for old in (a, b):
        for each in old.op.variables:
            result, new = old.outer_output(each), view.outer_output(twins.get(each, each))
            if has_outer_output(each) and result is not None and new is not None:
                mapping[result] = new
    return replace(outputs, mapping, check=False)
