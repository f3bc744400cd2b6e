"""Derivatives between loop variables, in one step and over all, and random choices in a step.

The value pattern of :mod:`scanviz.engine.scan.layout` has the pairs of values where one can change the other.  The
differentiable pairs are those with a derivative: no integers, shapes, indices, conditions, random states.  A draw is a choice
under two conditions.  Its parameter depends on an outer input through differentiable pairs, and its value reaches a result
through pairs of values, by states of any dtype.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from scanviz.engine.gradient.sweeps.choices import CHOICES, FLOWS, Choice, choices_of, flow
from scanviz.engine.gradient.table import CONNECTIONS, Undefined, connection
from scanviz.engine.graph.nodes import Apply, Variable, is_floating
from scanviz.engine.scan.loop import SCAN, Scan, loop_of, nodes_of
from scanviz.engine.scan.variables import LoopVariable, State, inner_inputs, inner_outputs

Pairs = frozenset[tuple[LoopVariable, LoopVariable]]
Edges = Mapping[LoopVariable, Collection[LoopVariable]]


def differentiable_sources(op: Scan) -> Mapping[Variable, frozenset[LoopVariable]]:
    """Map each variable of the step to the loop variables whose reads it has a derivative with respect to."""
    return op.once(_sources)


def _sources(op: Scan) -> Mapping[Variable, frozenset[LoopVariable]]:
    sources: dict[Variable, frozenset[LoopVariable]] = {
        inner: frozenset((variable,))
        for variable in op.variables
        for inner in inner_inputs(variable)
        if is_floating(inner)
    }
    for node in op.once(nodes_of):
        found = [sources.get(variable) for variable in node.inputs]
        if not any(found):
            continue
        pattern = connection(node)
        for index, output in enumerate(node.outputs):
            if is_floating(output):
                mine = [source for k, source in enumerate(found) if source and pattern[k][index]]
                if mine:
                    sources[output] = frozenset().union(*mine)
    return sources


def _pairs(op: Scan) -> Pairs:
    sources = differentiable_sources(op)
    return own_pairs(op) | {
        (source, target)
        for target in op.variables
        for result in inner_outputs(target)
        for source in sources.get(result, ())
    }


def own_pairs(op: Scan) -> Pairs:
    """Pair each mitmot with itself: unwritten rows of its buffer are its result unchanged."""
    return frozenset((variable, variable) for variable in op.of_kind("mitmot"))


def downstream(op: Scan, sources: Collection[LoopVariable]) -> set[LoopVariable]:
    """Return ``sources`` and all states and outputs with a derivative with respect to one, over any number of steps."""
    return closure(sources, op.once(_onwards))


def upstream(op: Scan, targets: Collection[LoopVariable]) -> set[LoopVariable]:
    """Return ``targets`` and all loop variables that one of them has a derivative with respect to."""
    return closure(targets, op.once(_back))


def _onwards(op: Scan) -> Edges:
    """Return the edges of one step, from loop variable to loop variable."""
    return edges_of(op.once(_pairs))


def _back(op: Scan) -> Edges:
    return edges_of([(b, a) for a, b in op.once(_pairs)])


def edges_of(pairs: Iterable[tuple[LoopVariable, LoopVariable]]) -> Edges:
    """Return for each first of some pairs the others."""
    following: dict[LoopVariable, list[LoopVariable]] = {}
    for a, b in pairs:
        following.setdefault(a, []).append(b)
    return following


def closure(start: Collection[LoopVariable], following: Edges) -> set[LoopVariable]:
    """Return the loop variables reachable by edges, ``start`` included; only states pass on to the next step."""
    reached, stack = set(start), list(start)
    while stack:
        for variable in following.get(stack.pop(), ()):
            if variable not in reached:
                reached.add(variable)
                stack.append(variable)
    return reached


@CONNECTIONS.row(SCAN)
def _connection(node: Apply) -> list[list[bool]]:
    return loop_of(node).once(_pattern)


def _pattern(op: Scan) -> list[list[bool]]:
    result_variables = op.result_variables
    rows = [[False] * len(result_variables)]
    for variable in op.readers:
        reached = downstream(op, [variable]) - ({variable} if not _own(op, variable) else set())
        rows.append([result in reached for result in result_variables])
    return rows


def _own(op: Scan, variable: LoopVariable) -> bool:
    """Return whether a state's rows have a derivative with respect to its own initial rows."""
    return isinstance(variable, State) and variable in downstream(op, op.once(_onwards).get(variable, ()))


class StepChoice(NamedTuple):
    """A random choice in one step: the loop variables of its parameter, those that its value goes into, and the reason."""

    sources: frozenset[LoopVariable]
    targets: frozenset[LoopVariable]
    why: Undefined


def _flows(op: Scan, nodes: Sequence[Apply]) -> dict[Variable, frozenset[LoopVariable]]:
    """Map each variable of the step to the loop variables that its value goes into in this step."""
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


def _flow_pairs(op: Scan) -> Pairs:
    """Return which loop variable's value goes into which in one step."""
    flows = _flows(op, op.once(nodes_of))
    return own_pairs(op) | {
        (variable, target)
        for variable in op.variables
        for inner in inner_inputs(variable)
        for target in flows.get(inner, ())
    }


def _flow_edges(op: Scan) -> Edges:
    return edges_of(op.once(_flow_pairs))


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
    pairs, edges, result_variables = op.once(_flow_pairs), op.once(_flow_edges), op.result_variables
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
    edges, result_variables = op.once(_flow_edges), op.result_variables
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
