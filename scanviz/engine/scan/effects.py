"""What of a graph does something beside giving a value: ``Print`` and ``Assert``, in the steps of loops too.

A graph's effects are how often each stands in it, by the depth of the loops around it and its node's id.  A rewrite that changes
them would print or check something else than was written; two copies of one node may become one again, as when a gradient runs the
loop that is there already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, nodes_of, of_step

Effects = Mapping[tuple[int, int], int]  # (loops around it, node id) → how often


def effects_among(nodes: Iterable[Apply]) -> Effects:
    """Return the effects of nodes and of the steps of loops among them."""
    found: dict[tuple[int, int], int] = {}
    for node in nodes:
        op = node.op
        plain = type(op) is Op
        if plain and not op.declaration.may_have_effect:  # by far the most
            continue
        if isinstance(op, Scan):
            for (depth, node_id), count in effects_of(op).items():
                found[depth + 1, node_id] = found.get((depth + 1, node_id), 0) + count
        elif op.facts.effect:
            found[0, node.node_id] = found.get((0, node.node_id), 0) + 1
        elif not plain:  # it may hold a graph
            for _, results in op.subgraphs():
                for effect, count in effects_among(toposort(results)).items():
                    found[effect] = found.get(effect, 0) + count
    return found


def effects_of(op: Scan) -> Effects:
    """Return the effects of a loop's step."""
    return op.once(_effects_of_step)


@of_step
def _effects_of_step(op: Scan) -> Effects:
    return effects_among(op.once(nodes_of))


def has_effect(node: Apply) -> bool:
    """Return whether a node prints or checks something, in its steps if it is a loop."""
    op = node.op
    if type(op) is not Op:
        return bool(effects_among([node]))
    return op.declaration.may_have_effect and op.facts.effect


def same_effects(before: Effects, outputs: Sequence[Variable]) -> bool:
    """Return whether a graph has the effects that another had, or fewer copies of one node."""
    after = effects_among(toposort(outputs))
    return after.keys() == before.keys() and all(after[effect] <= count for effect, count in before.items())
