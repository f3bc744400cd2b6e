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
from scanviz.engine.rewrites.inner import rewrite_steps
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import LoopVariable, StepOutput, has_outer_output

NAME = "merge_residuals"


def merge_residuals(outputs: Sequence[Variable]) -> list[Variable]:
    """Return ``outputs`` with loops that are parts of one another merged, in the steps of loops too."""
    current = list(outputs)
    while (mapping := _merged(current)) is not None:
        current = mapping
    return rewrite_steps(current, merge_residuals)


def _merged(outputs: Sequence[Variable]) -> list[Variable] | None:
    """Return the graph with one pair of loops merged, None where there is none."""
    nodes = toposort(outputs)
    loops = [node for node in nodes if isinstance(node.op, Scan)]
    for k, later in enumerate(loops):
        for earlier in loops[:k]:
            if _belong_together(earlier, later) and not _follows(earlier, later):
                first, second = sorted(
                    (earlier, later), key=lambda each: each.birth
                )  # the user's own loop first
                return _replaced(outputs, first, second)
    return None


def _belong_together(first: Apply, second: Apply) -> bool:
    """Return whether two loops share loop variables, over the same inputs and for the same steps."""
    a, b = ScanView(first), ScanView(second)
    if a.n_steps is not b.n_steps or a.op.until is not b.op.until:
        return False
    shared = set(a.op.variables) & set(b.op.variables)
    return bool(shared) and all(a.outer_input(each) is b.outer_input(each) for each in shared)


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
