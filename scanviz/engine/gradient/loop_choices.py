"""What the draws in a loop's step choose, over all steps: a parameter of one step, a value that a later step gives.

The parameter depends on an outer input with a derivative (the closure over differentiable pairs); the value flows on through states
of any dtype (the closure over pairs of values).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scanviz.engine.gradient.choices import CHOICES, FLOWS, Choice, choices_of, flow
from scanviz.engine.gradient.loop_connection import Pairs, closure, differentiable_sources, downstream
from scanviz.engine.gradient.table import Undefined
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import SCAN, Scan, ScanView
from scanviz.engine.scan.variables import LoopVariable, State, has_outer_output, inner_inputs, inner_outputs


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
    known: Pairs | None = op.derived.get("value pairs")
    if known is None:
        flows = _flows(op, toposort(op.inner_outputs))
        pairs = {
            (variable, target)
            for variable in op.variables
            for inner in inner_inputs(variable)
            for target in flows.get(inner, ())
        }
        pairs |= {
            (variable, variable)
            for variable in op.variables
            if isinstance(variable, State) and variable.kind == "mitmot"
        }
        known = op.derived["value pairs"] = frozenset(pairs)
    return known


def _choices(op: Scan) -> tuple[StepChoice, ...]:
    """Return the choices of one step."""
    known: tuple[StepChoice, ...] | None = op.derived.get("choices")
    if known is None:
        known = op.derived["choices"] = tuple(_found_choices(op))
    return known


def _found_choices(op: Scan) -> Iterator[StepChoice]:
    nodes = toposort(op.inner_outputs)
    made = [(node, choice) for node in nodes for choice in choices_of(node)]
    if not made:
        return
    sources, flows = differentiable_sources(op), _flows(op, nodes)
    for node, choice in made:
        mine, targets = sources.get(node.inputs[choice.input]), flows.get(node.outputs[choice.output])
        if mine and targets:
            yield StepChoice(mine, targets, choice.why)


@FLOWS.row(SCAN)
def _flow(node: Apply) -> list[list[bool]]:
    op, view = node.op, ScanView(node)
    assert isinstance(op, Scan)
    pairs = _pairs(op)
    result_variables = [variable for variable in op.variables if has_outer_output(variable)]
    rows = [[False] * len(result_variables)]
    for variable in op.variables:
        if view.outer_input(variable) is not None:
            first = {target for source, target in pairs if source is variable}
            reached = closure(first, pairs)
            rows.append([variable in reached for variable in result_variables])
    return rows


@CHOICES.row(SCAN)
def _chosen(node: Apply) -> list[Choice]:
    op, view = node.op, ScanView(node)
    assert isinstance(op, Scan)
    choices = _choices(op)
    if not choices:
        return []
    pairs = _pairs(op)
    result_variables = [variable for variable in op.variables if has_outer_output(variable)]
    readers = [variable for variable in op.variables if view.outer_input(variable) is not None]
    found: list[Choice] = []
    for k, reader in enumerate(readers, 1):  # the first input is the number of steps
        moved = downstream(op, [reader])
        for choice in choices:
            if moved & choice.sources:
                reached = closure(choice.targets, pairs)
                found += [
                    Choice(k, j, choice.why)
                    for j, variable in enumerate(result_variables)
                    if variable in reached
                ]
    return found
