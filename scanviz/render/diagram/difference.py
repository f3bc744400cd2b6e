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


def difference(before: GraphSnapshot, after: GraphSnapshot) -> Diagram:
    """Return both graphs in one picture, with what changed marked on nodes, edges and loops.

    Parameters
    ----------
    before, after : GraphSnapshot
        Two versions of one function, such as ``rewrites.snapshot(3)`` and ``rewrites.snapshot(4)``.

    Examples
    --------
    >>> from scanviz.record.graph import NodeSnapshot, VariableSnapshot
    >>> x, y = (VariableSnapshot("", "", "float64[]", role, key) for role, key in (("input", "x"), ("computed", "y")))
    >>> graphs = [
    ...     GraphSnapshot("f", (x, y), (NodeSnapshot("exp", (0,), (1,), "", "", key="y"),), (), (1,), ("",)),
    ...     GraphSnapshot("f", (x,), (), (), (0,), ("",)),
    ... ]
    >>> [(each.id, each.change) for each in difference(*graphs).nodes if each.change]
    [('y', 'removed')]
    """
    nothing = HeatMap(None, None)
    new = whole_picture(after, nothing)
    old = _moved(_renamed(whole_picture(before, nothing), new), new)
    clusters = _overlaid(old.clusters, new.clusters, lambda each: each.parent)
    nodes = _overlaid(old.nodes, new.nodes, lambda each: each.cluster)
    changed = {each.id: each.change for each in nodes} | {each.id: each.change for each in clusters}
    ports = {each.id for each in nodes if each.kind == "port"}
    edges = _edges(_placeless(old.edges, ports), _placeless(new.edges, ports), changed)
    notes = _notes(old, nodes, clusters)
    return Diagram(
        f"{before.title}: what changed" if before.title else "what changed",
        tuple(nodes),
        _parents_first(clusters),
        edges,
        notes,
    )


def _renamed(old: Diagram, new: Diagram) -> Diagram:
    """Return a picture with loops called as in another one that has a loop of the same name instead."""
    known, mine = {each.id for each in new.clusters}, {each.id for each in old.clusters}
    free = [each for each in new.clusters if each.id not in mine]
    names: dict[str, str] = {}
    for each in old.clusters:
        if each.id not in known:
            alike = [f for f in free if (f.label, f.gradient_of) == (each.label, each.gradient_of)]
            if alike:
                names[each.id] = alike[0].id
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
    there = {each.id for each in new.nodes}
    here = {each.id for each in old.nodes}
    left: dict[str, list[str]] = {}
    for each in new.nodes:
        if each.kind == "operation" and each.key and each.id not in here:
            left.setdefault(each.key, []).append(each.id)
    names: dict[str, str] = {}
    for each in old.nodes:
        if each.kind == "operation" and each.id not in there and left.get(each.key):
            names[each.id] = left[each.key].pop(0)
    return _with_names(old, lambda name: names.get(name, name)) if names else old


def _with_names(picture: Diagram, renamed: Callable[[str], str]) -> Diagram:
    return replace(
        picture,
        nodes=tuple(
            replace(each, id=renamed(each.id), cluster=renamed(each.cluster) if each.cluster else None)
            for each in picture.nodes
        ),
        clusters=tuple(
            replace(each, id=renamed(each.id), parent=renamed(each.parent) if each.parent else None)
            for each in picture.clusters
        ),
        edges=tuple(
            replace(each, source=renamed(each.source), target=renamed(each.target)) for each in picture.edges
        ),
    )


def _overlaid(old: Sequence[Part], new: Sequence[Part], around: Callable[[Part], str | None]) -> list[Part]:
    """Return the parts of two pictures, each once: one that is gone stands behind the one that it stood behind."""
    places = {each.id: each for each in old}
    known = {each.id for each in new}
    gone: dict[str | None, list[Part]] = {}
    last: str | None = None
    for each in old:
        if each.id in known:
            last = each.id
        else:
            gone.setdefault(last, []).append(replace(each, change="removed"))
    found = list(gone.get(None, []))
    for each in new:
        earlier = places.get(each.id)
        change: Change = ""
        if earlier is None:
            change = "added"
        elif around(earlier) != around(each):
            change = "moved"
        found.append(replace(each, change=change))
        found += gone.get(each.id, [])
    return found


def _parents_first(clusters: list[Cluster]) -> tuple[Cluster, ...]:
    parent = {each.id: each.parent for each in clusters}

    def depth(name: str | None) -> int:
        count = 0
        while name is not None and count <= len(parent):
            name, count = parent.get(name), count + 1
        return count

    return tuple(sorted(clusters, key=lambda each: depth(each.id)))


def _edges(old: Sequence[Edge], new: Sequence[Edge], changed: dict[str, Change]) -> tuple[Edge, ...]:
    """Return the edges of both, each as often as in the picture that has more of it."""
    left = Counter(_same(each) for each in old)
    found = []
    for each in new:
        change: Change = "added"
        if left[_same(each)]:
            left[_same(each)] -= 1
            ends = (changed.get(each.source), changed.get(each.target))
            change = "moved" if "moved" in ends else ""
        found.append(replace(each, change=change))
    for each in reversed(old):
        if left[_same(each)]:
            left[_same(each)] -= 1
            found.append(replace(each, change="removed"))
    return tuple(found)


def _placeless(edges: Sequence[Edge], ports: Container[str]) -> list[Edge]:
    """Return edges without their places at a loop: these shift when a loop variable comes or goes."""
    return [replace(each, place=None) if each.target in ports else each for each in edges]


def _same(edge: Edge) -> tuple[str, str, str, str, int | None]:
    return edge.source, edge.target, edge.role, edge.label, edge.place


def _notes(old: Diagram, nodes: list[Node], clusters: list[Cluster]) -> tuple[str, ...]:
    counts = Counter(each.change for each in nodes if each.kind in ("operation", "loop"))
    counts.update(each.change for each in clusters)
    said, ports = _said(counts), _said(Counter(each.change for each in nodes if each.kind == "port"))
    boxes = {each.id: each.label for each in (*old.clusters, *clusters)}
    places = {each.id: each.cluster for each in old.nodes}
    moves = [
        f"{each.label} moved: {_place(places[each.id], boxes)} → {_place(each.cluster, boxes)}"
        for each in nodes
        if each.change == "moved" and each.kind == "operation"
    ]
    first = [f"operations and loops: {said}" if said else "no operation changed"]
    return (*first, *([f"ports of loops: {ports}"] if ports else []), *moves)


def _said(counts: Counter[Change]) -> str:
    return ", ".join(f"{counts[each]} {each}" for each in _CHANGES if counts[each])


def _place(cluster: str | None, boxes: dict[str, str]) -> str:
    return f"in {boxes.get(cluster, cluster)}" if cluster is not None else "outside of loops"


__all__ = ["difference"]
