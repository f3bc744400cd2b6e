"""Two versions of a graph as one picture: what is new, what is gone, what stands in another loop.

Both pictures are laid over each other by their ids, which are made of loops and of the keys that stay.  A loop that a rule built
anew is told by its name, an operation that is in another loop by its key.  What moved is drawn at its new place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TypeVar

from scanviz.record.graph import GraphSnapshot
from scanviz.render.diagram.build import whole_picture
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.diagram.model import Change, Cluster, Diagram, Edge, Node

_CHANGES: tuple[Change, ...] = ("added", "removed", "moved")
Part = TypeVar("Part", Node, Cluster)


def difference(before: GraphSnapshot, after: GraphSnapshot, *, plumbing: bool = True) -> Diagram:
    """Return both graphs in one picture, with what changed marked on nodes, edges and loops.

    Parameters
    ----------
    before, after : GraphSnapshot
        Two versions of one function, such as ``rewrites.snapshot(3)`` and ``rewrites.snapshot(4)``.
    plumbing : bool
        Whether sizes, broadcasts and other plumbing are drawn; they are in any case where nothing else changed.

    Examples
    --------
    >>> from scanviz.record.graph import NodeSnapshot, VariableSnapshot
    >>> x, y = (VariableSnapshot("", "", "float64[]", role, key) for role, key in (("input", "x"), ("computed", "y")))
    >>> graphs = [
    ...     GraphSnapshot("f", (x, y), (NodeSnapshot("exp", (0,), (1,), "", "", key="y"),), (), (1,), ("",)),
    ...     GraphSnapshot("f", (x,), (), (), (0,), ("",)),
    ... ]
    >>> [(node.id, node.change) for node in difference(*graphs).nodes if node.change]
    [('y', 'removed')]
    """
    nothing = HeatMap(None, None)
    new = whole_picture(after, nothing, folded=not plumbing)
    old = _moved(with_loops_of(whole_picture(before, nothing, folded=not plumbing), new), new)
    clusters = _overlaid(old.clusters, new.clusters, lambda cluster: cluster.parent)
    nodes = _overlaid(old.nodes, new.nodes, lambda node: node.cluster)
    changed = {node.id: node.change for node in nodes} | {cluster.id: cluster.change for cluster in clusters}
    ports = {node.id for node in nodes if node.kind == "port"}
    edges = _edges(_placeless(old.edges, ports), _placeless(new.edges, ports), changed)
    if not plumbing and not any((*changed.values(), *(edge.change for edge in edges))):
        return difference(before, after)
    notes = _notes(old, nodes, clusters)
    return Diagram(
        f"{before.title}: what changed" if before.title else "what changed",
        tuple(nodes),
        parents_first(clusters),
        edges,
        notes,
    )


def with_loops_of(old: Diagram, new: Diagram) -> Diagram:
    """Return a picture with loops called as in another one that has a loop of the same name instead."""
    known, mine = {cluster.id for cluster in new.clusters}, {cluster.id for cluster in old.clusters}
    free = [cluster for cluster in new.clusters if cluster.id not in mine]
    names: dict[str, str] = {}
    for cluster in old.clusters:
        if cluster.id not in known:
            alike = [f for f in free if (f.label, f.gradient_of) == (cluster.label, cluster.gradient_of)]
            if alike:
                names[cluster.id] = alike[0].id
                free.remove(alike[0])
    if not names:
        return old
    prefixes = sorted(names, key=len, reverse=True)

    def renamed(name: str) -> str:
        for prefix in prefixes:
            if name == prefix or name.startswith((f"{prefix}/", f"{prefix}|")):
                return names[prefix] + name[len(prefix) :]
        return name

    return _with_names(old, renamed)


def _moved(old: Diagram, new: Diagram) -> Diagram:
    """Return a picture in which an operation that the other one has in another loop is called as there."""
    there = {node.id for node in new.nodes}
    here = {node.id for node in old.nodes}
    left: dict[str, list[str]] = {}
    for node in new.nodes:
        if node.kind == "operation" and node.key and node.id not in here:
            left.setdefault(node.key, []).append(node.id)
    names: dict[str, str] = {}
    for node in old.nodes:
        if node.kind == "operation" and node.id not in there and left.get(node.key):
            names[node.id] = left[node.key].pop(0)
    return _with_names(old, lambda name: names.get(name, name)) if names else old


def _with_names(picture: Diagram, renamed: Callable[[str], str]) -> Diagram:
    return replace(
        picture,
        nodes=tuple(
            replace(node, id=renamed(node.id), cluster=renamed(node.cluster) if node.cluster else None)
            for node in picture.nodes
        ),
        clusters=tuple(
            replace(
                cluster, id=renamed(cluster.id), parent=renamed(cluster.parent) if cluster.parent else None
            )
            for cluster in picture.clusters
        ),
        edges=tuple(
            replace(edge, source=renamed(edge.source), target=renamed(edge.target)) for edge in picture.edges
        ),
    )


def _overlaid(old: Sequence[Part], new: Sequence[Part], around: Callable[[Part], str | None]) -> list[Part]:
    """Return the parts of two pictures, each once: one that is gone stands behind the one that it stood behind."""
    places = {node.id: node for node in old}
    known = {node.id for node in new}
    gone: dict[str | None, list[Part]] = {}
    last: str | None = None
    for node in old:
        if node.id in known:
            last = node.id
        else:
            gone.setdefault(last, []).append(replace(node, change="removed"))
    found = list(gone.get(None, []))
    for node in new:
        earlier = places.get(node.id)
        change: Change = ""
        if earlier is None:
            change = "added"
        elif around(earlier) != around(node):
            change = "moved"
        found.append(replace(node, change=change))
        found += gone.get(node.id, [])
    return found


def parents_first(clusters: list[Cluster]) -> tuple[Cluster, ...]:
    """Return boxes in an order in which each stands after the one around it."""
    parent = {cluster.id: cluster.parent for cluster in clusters}

    def depth(name: str | None) -> int:
        count = 0
        while name is not None and count <= len(parent):
            name, count = parent.get(name), count + 1
        return count

    return tuple(sorted(clusters, key=lambda cluster: depth(cluster.id)))


def _edges(old: Sequence[Edge], new: Sequence[Edge], changed: dict[str, Change]) -> tuple[Edge, ...]:
    """Return the edges of both, each as often as in the picture that has more of it."""
    left = Counter(_same(edge) for edge in old)
    found = []
    for edge in new:
        change: Change = "added"
        if left[_same(edge)]:
            left[_same(edge)] -= 1
            ends = (changed.get(edge.source), changed.get(edge.target))
            change = "moved" if "moved" in ends else ""
        found.append(replace(edge, change=change))
    for edge in reversed(old):
        if left[_same(edge)]:
            left[_same(edge)] -= 1
            found.append(replace(edge, change="removed"))
    return tuple(found)


def _placeless(edges: Sequence[Edge], ports: Container[str]) -> list[Edge]:
    """Return edges without their places at a loop: these shift when a loop variable comes or goes."""
    return [replace(edge, place=None) if edge.target in ports else edge for edge in edges]


def _same(edge: Edge) -> tuple[str, str, str, str, int | None]:
    return edge.source, edge.target, edge.role, edge.label, edge.place


def _notes(old: Diagram, nodes: list[Node], clusters: list[Cluster]) -> tuple[str, ...]:
    counts = Counter(node.change for node in nodes if node.kind in ("operation", "loop"))
    counts.update(cluster.change for cluster in clusters)
    said, ports = _said(counts), _said(Counter(node.change for node in nodes if node.kind == "port"))
    boxes = {cluster.id: cluster.label for cluster in (*old.clusters, *clusters)}
    places = {node.id: node.cluster for node in old.nodes}
    moves = [
        f"{node.label} moved: {_place(places[node.id], boxes)} → {_place(node.cluster, boxes)}"
        for node in nodes
        if node.change == "moved" and node.kind == "operation"
    ]
    first = [f"operations and loops: {said}" if said else "no operation changed"]
    return (*first, *([f"ports of loops: {ports}"] if ports else []), *moves)


def _said(counts: Counter[Change]) -> str:
    return ", ".join(f"{counts[change]} {change}" for change in _CHANGES if counts[change])


def _place(cluster: str | None, boxes: dict[str, str]) -> str:
    return f"in {boxes.get(cluster, cluster)}" if cluster is not None else "outside of loops"


__all__ = ["difference", "parents_first", "with_loops_of"]
