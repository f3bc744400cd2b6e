"""What of a graph does something beside giving a value: ``Print`` and ``Assert``, in the steps of loops too.

A graph's effects are how often each stands in it, by the depth of the loops around it and its node's id.  A rewrite that changes
them would print or check something else than was written; two copies of one node may become one again, as when a gradient runs the
loop that is there already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, nodes_of

Effects = Mapping[tuple[int, int], int]  # (loops around it, node id) → how often


def effects_among(nodes: Iterable[Apply]) -> Effects:
    """Return the effects of nodes and of the steps of loops among them."""
    found: Counter[tuple[int, int]] = Counter()
    for node in nodes:
        op = node.op
        if isinstance(op, Scan):
            for (depth, node_id), count in effects_of(op).items():
                found[depth + 1, node_id] += count
        elif op.facts.effect:
            found[0, node.node_id] += 1
        elif type(op) is not Op:  # it may hold a graph
            for _, results in op.subgraphs():
                found.update(effects_among(toposort(results)))
    return found


def effects_of(op: Scan) -> Effects:
    """Return the effects of a loop's step."""
    return op.once(_effects_of_step)


def _effects_of_step(op: Scan) -> Effects:
    return effects_among(op.once(nodes_of))


def has_effect(node: Apply) -> bool:
    """Return whether a node prints or checks something, in its steps if it is a loop."""
    op = node.op
    return op.facts.effect if type(op) is Op else bool(effects_among([node]))


def same_effects(before: Effects, outputs: Sequence[Variable]) -> bool:
    """Return whether a graph has the effects that another had, or fewer copies of one node."""
    after = effects_among(toposort(outputs))
    return after.keys() == before.keys() and all(after[effect] <= count for effect, count in before.items())
