"""A picture of what changed and what stands near it; the rest is folded: what hangs together stands as one node with a number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from scanviz.render.diagram.folding import close_loops, fold
from scanviz.render.diagram.model import Diagram, Node

HOPS = 2
_FEW = 24  # nodes, which are drawn whole


def near_changes(diagram: Diagram, hops: int = HOPS) -> Diagram:
    """Return a picture of what changed in another, and of what so many lines lead to from there.

    Parameters
    ----------
    diagram : Diagram
        A picture with changes; one without any, or of a few nodes, comes back as it is.
    hops : int
        How far from a change things are drawn.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Edge
    >>> nodes = [Node(f"n{k}", "operation", "exp", change="added" if k == 0 else "") for k in range(100)]
    >>> edges = [Edge(f"n{k}", f"n{k + 1}") for k in range(99)]
    >>> small = near_changes(Diagram("f", tuple(nodes), (), tuple(edges)))
    >>> [node.label for node in small.nodes], small.notes
    (['exp', 'exp', 'exp', '97 more'], ('97 nodes further than 2 lines from any change are folded',))
    """
    if len(diagram.nodes) <= _FEW:
        return diagram
    changed = _changed(diagram)
    if not changed:
        return diagram
    boxes = _boxes_of(diagram, changed)  # a loop in which nothing changed is closed, however near it is
    near = _beside(diagram, changed, hops)
    kept = {
        node.id
        for node in diagram.nodes
        if node.id in near and (node.cluster is None or node.cluster in boxes)
    }
    far = [cluster.id for cluster in diagram.clusters if cluster.id not in boxes]
    count = len(diagram.nodes) - len(kept)
    closed = replace(close_loops(diagram, far), notes=diagram.notes)
    groups = [(_more(members), [node.id for node in members]) for members in _groups(closed, kept)]
    note = f"{count} node{'' if count == 1 else 's'} further than {hops} lines from any change are folded"
    return replace(fold(closed, groups), notes=(*diagram.notes, note)) if count else diagram


def _changed(diagram: Diagram) -> set[str]:
    """Return ids of nodes that changed, or that lines lead to which did."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    found = {node.id for node in diagram.nodes if node.change}
    boxes = {cluster.id for cluster in diagram.clusters if cluster.change}
    found |= {node.id for node in diagram.nodes if node.cluster in boxes}
    for edge in diagram.edges:
        if edge.change:
            found |= {owner.get(end, end) for end in (edge.source, edge.target)}
    return found


def _beside(diagram: Diagram, changed: set[str], hops: int) -> set[str]:
    """Return ids of nodes that so many lines lead to."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    beside: dict[str, set[str]] = defaultdict(set)
    for edge in diagram.edges:
        source, target = owner.get(edge.source, edge.source), owner.get(edge.target, edge.target)
        beside[source].add(target)
        beside[target].add(source)
    found, last = set(changed), changed
    for _ in range(hops):
        last = {other for name in last for other in beside[name]} - found
        found |= last
    return found


def _boxes_of(diagram: Diagram, kept: set[str]) -> set[str]:
    """Return loops that something kept is in, and those around them."""
    parent = {cluster.id: cluster.parent for cluster in diagram.clusters}
    found: set[str] = set()
    for node in diagram.nodes:
        box = node.cluster if node.id in kept else None
        while box is not None and box not in found:
            found.add(box)
            box = parent.get(box)
    return found | {cluster.id for cluster in diagram.clusters if cluster.change}


def _groups(diagram: Diagram, kept: set[str]) -> Iterable[list[Node]]:
    """Return what is not kept: in each loop, what hangs together."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    rest = {node.id: node for node in diagram.nodes if node.id not in kept and node.kind != "loop"}
    root = {name: name for name in rest}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for edge in diagram.edges:
        source, target = owner.get(edge.source, edge.source), owner.get(edge.target, edge.target)
        if source in rest and target in rest and rest[source].cluster == rest[target].cluster:
            root[find(target)] = find(source)
    groups: dict[str, list[Node]] = defaultdict(list)
    for name, node in rest.items():
        groups[find(name)].append(node)
    return [members for members in groups.values() if len(members) > 1]


def _more(members: list[Node]) -> Node:
    first = members[0]
    return Node(f"more/{first.id}", "summary", f"{len(members)} more", first.cluster, loop=first.loop)


__all__ = ["HOPS", "near_changes"]
