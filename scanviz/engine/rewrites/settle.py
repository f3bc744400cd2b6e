"""Rebuilding one graph with variables replaced and loops given other steps, in one walk.

A replacement is built over the graph as it was; what it reads may be replaced too.  So the walk goes from what is wanted to
what it needs, through replacements where there are some, and settles each node once all it reads is settled: however many
replacements there are, each node is visited once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.scan.loop import Scan


def rebuilt(
    outputs: Sequence[Variable], mapping: Mapping[Variable, Variable], ops: Mapping[Apply, Scan]
) -> list[Variable]:
    """Return a graph with variables replaced and loops given other steps.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    mapping : mapping of Variable to Variable
        Old variable → what stands in its place, built over the graph as it was.
    ops : mapping of Apply to Scan
        Loop → the same loop with another step.

    Returns
    -------
    list of Variable
        The new outputs; nodes above all that changed are those of the old graph, and rebuilt ones keep their ids.
    """
    new_of: dict[Variable, Variable] = {}  # of what does not stay as it is
    begun: set[Apply] = set()
    settled: set[Apply] = set()
    changing = {*ops, *[variable.owner for variable in mapping]}
    for output in outputs:
        stack = [output.owner] if output.owner is not None else []
        while stack:
            node = stack[-1]
            if node not in begun:
                begun.add(node)
                above = len(stack)
                for needed in _needed(node, mapping) if node in changing else node.makers:
                    if needed not in begun:
                        stack.append(needed)
                if len(stack) > above:
                    continue
            stack.pop()
            if node not in settled:
                settled.add(node)
                if node in changing or not new_of.keys().isdisjoint(node.inputs):
                    _settle(node, mapping, ops, new_of)
    return [new_of.get(output, output) for output in outputs]


def _needed(node: Apply, mapping: Mapping[Variable, Variable]) -> Sequence[Apply]:
    """Return what must be settled before a node, the first last: what computes its replacements, else what it reads."""
    if mapping.keys().isdisjoint(node.outputs):
        return node.makers
    given = [mapping[output] for output in node.outputs if output in mapping]
    makers = [variable.owner for variable in reversed(given) if variable.owner is not None]
    return [*node.makers, *makers] if len(given) < len(node.outputs) else makers


def _settle(
    node: Apply,
    mapping: Mapping[Variable, Variable],
    ops: Mapping[Apply, Scan],
    new_of: dict[Variable, Variable],
) -> None:
    """Say what the outputs of a node have become, when all they need is settled."""
    if not mapping.keys().isdisjoint(node.outputs):
        replaced = {output: mapping[output] for output in node.outputs if output in mapping}
        for output, given in replaced.items():
            new_of[output] = new_of.get(given, given)
        if len(replaced) == len(node.outputs):
            return
    op = ops.get(node)
    if op is None and new_of.keys().isdisjoint(node.inputs):
        return
    fresh = rebuild(node, [new_of.get(variable, variable) for variable in node.inputs], op)
    for old, new in zip(node.outputs, fresh.outputs, strict=True):
        new_of.setdefault(old, new)
