"""Rewriting the steps of loops: the same rewrite, one level further in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import Carry, LoopVariable, State, StepOutput, Until, inner_outputs

Rewrite = Callable[[Sequence[Variable]], list[Variable]]


def rewrite_steps(outputs: Sequence[Variable], rewrite: Rewrite) -> list[Variable]:
    """Return ``outputs`` with the step of each loop rewritten; loops whose step stays the same stay themselves."""
    mapping: dict[Variable, Variable] = {}
    for node in toposort(outputs):
        inputs = [mapping.get(each, each) for each in node.inputs]
        fresh = _rewritten(node, inputs, rewrite) if isinstance(node.op, Scan) else None
        if fresh is None and any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
            fresh = rebuild(node, inputs)
        if fresh is not None:
            mapping.update(zip(node.outputs, fresh.outputs, strict=True))
    return [mapping.get(each, each) for each in outputs]


def _rewritten(node: Apply, inputs: Sequence[Variable], rewrite: Rewrite) -> Apply | None:
    """Return a loop with its step rewritten, None where that changes nothing."""
    assert isinstance(node.op, Scan)
    results = node.op.inner_outputs
    fresh = rewrite(results)
    if all(new is old for new, old in zip(fresh, results, strict=True)):
        return None
    return rebuild(node, inputs, with_results(node.op, fresh))


def with_results(op: Scan, results: Sequence[Variable]) -> Scan:
    """Return a loop whose step gives other variables, in the order of its ``inner_outputs``."""
    given = iter(results)
    variables: list[LoopVariable] = []
    for each in op.variables:
        own = [next(given) for _ in inner_outputs(each)]
        match each:
            case State():
                writes = dict(zip(each.writes, own, strict=True))
                variables.append(State(each.name, each.reads, writes, each.keep, each.shared))
            case StepOutput():
                variables.append(StepOutput(each.name, own[0], each.keep))
            case Carry():
                variables.append(Carry(each.name, each.read, own[0], each.shared))
            case _:
                variables.append(each)
    return op.with_variables(variables, Until(next(given)) if op.until is not None else None)
