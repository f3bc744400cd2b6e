"""What the draws in a loop's step choose, over all steps: a parameter of one step, a value that a later step gives.

The parameter depends on an outer input with a derivative (the closure over differentiable pairs); the value flows on through states
of any dtype (the closure over pairs of values).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scanviz.engine.gradient.loops.connection import (
    Edges,
    Pairs,
    closure,
    differentiable_sources,
    downstream,
    edges_of,
    own_pairs,
)
from scanviz.engine.gradient.sweeps.choices import CHOICES, FLOWS, Choice, choices_of, flow
from scanviz.engine.gradient.table import Undefined
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.scan.loop import SCAN, Scan, loop_of, nodes_of
from scanviz.engine.scan.variables import LoopVariable, inner_inputs, inner_outputs


class StepChoice(NamedTuple):
    """A choice in one step: the loop variables that its parameter depends on, those that its value goes into, and why."""

    sources: frozenset[LoopVariable]
    targets: frozenset[LoopVariable]
    why: Undefined


def _flows(op: Scan, nodes: Sequence[Apply]) -> dict[Variable, frozenset[LoopVariable]]:
    """Return for each variable of the step the loop variables that its value goes into, in this step."""
    found: dict[Variable, set[LoopVariable]] = {}
    for variable in op.variables:
        for result in inner_outputs(variable):
            found.setdefault(result, set()).add(variable)
    for node in reversed(nodes):
        reached = [found.get(output, set()) for output in node.outputs]
        if any(reached):
            pattern = flow(node)
            for k, given in enumerate(node.inputs):
                for j, targets in enumerate(reached):
                    if pattern[k][j]:
                        found.setdefault(given, set()).update(targets)
    return {inner: frozenset(targets) for inner, targets in found.items()}


def _pairs(op: Scan) -> Pairs:
    """Return which loop variable's value goes into which in one step."""
    flows = _flows(op, op.once(nodes_of))
    return own_pairs(op) | {
        (variable, target)
        for variable in op.variables
        for inner in inner_inputs(variable)
        for target in flows.get(inner, ())
    }


def _edges(op: Scan) -> Edges:
    return edges_of(op.once(_pairs))


def _step_choices(op: Scan) -> Sequence[StepChoice]:
    """Return the choices of one step."""
    nodes = op.once(nodes_of)
    made = [(node, choice) for node in nodes for choice in choices_of(node)]
    if not made:
        return ()
    found: list[StepChoice] = []
    sources, flows = differentiable_sources(op), _flows(op, nodes)
    for node, choice in made:
        mine, targets = sources.get(node.inputs[choice.input]), flows.get(node.outputs[choice.output])
        if mine and targets:
            found.append(StepChoice(mine, targets, choice.why))
    return found


@FLOWS.row(SCAN)
def _flow(node: Apply) -> list[list[bool]]:
    op = loop_of(node)
    pairs, edges, result_variables = op.once(_pairs), op.once(_edges), op.result_variables
    rows = [[False] * len(result_variables)]
    for reader in op.readers:
        reached = closure({target for source, target in pairs if source is reader}, edges)
        rows.append([variable in reached for variable in result_variables])
    return rows


@CHOICES.row(SCAN)
def _chosen(node: Apply) -> list[Choice]:
    op = loop_of(node)
    choices = op.once(_step_choices)
    if not choices:
        return []
    edges, result_variables = op.once(_edges), op.result_variables
    found: list[Choice] = []
    for k, reader in enumerate(op.readers, 1):  # the first input is the number of steps
        moved = downstream(op, [reader])
        for choice in choices:
            if moved & choice.sources:
                reached = closure(choice.targets, edges)
                found += [
                    Choice(k, j, choice.why)
                    for j, variable in enumerate(result_variables)
                    if variable in reached
                ]
    return found
