"""Two versions of a graph as one picture, with changes marked.

Both pictures are laid over each other by their ids, which are made of loops and of the keys that stay.  A loop that a rule built
anew is recognized by its name, an operation in another loop by its key.  A moved operation is drawn at both places, each with a
reference to the other: drawn at one of them, its lines of before or after would run back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.render.diagram.build import whole_picture
from scanviz.render.diagram.folding import close_loops, with_nodes
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.diagram.model import Change, Cluster, Diagram, Edge, Node

_CHANGES: tuple[Change, ...] = ("added", "removed", "moved")
_MOST_MOVES = 4  # in the notes
HOPS = 2
_FEW = 24  # nodes, which are drawn whole
Part = TypeVar("Part", Node, Cluster)


def difference(before: GraphSnapshot, after: GraphSnapshot, *, plumbing: bool = True) -> Diagram:
    """Return two graphs in one picture, with changes marked on nodes, edges and loops.

    Parameters
    ----------
    before, after : GraphSnapshot
        Two versions of one function, such as ``rewrites.snapshot(3)`` and ``rewrites.snapshot(4)``.
    plumbing : bool
        Whether sizes, broadcasts and other plumbing are drawn; they are in any case where nothing else changed.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.record.snapshot import snapshot
    >>> x = T.scalar("x")
    >>> [(node.label, node.change) for node in difference(snapshot(T.exp(x)), snapshot(x)).nodes if node.change]
    [('exp', 'removed')]
    """
    nothing = HeatMap(None, None)
    new = whole_picture(after, nothing, folded=not plumbing)
    old = _ports_apart(with_loops_of(whole_picture(before, nothing, folded=not plumbing), new), new)
    clusters = overlaid(old.clusters, new.clusters)
    moves = _moves(old, new)
    boxes = {cluster.id: cluster.label for cluster in (*old.clusters, *new.clusters)}
    nodes = _with_moves(overlaid(old.nodes, new.nodes), moves, boxes)
    changed = {node.id: node.change for node in nodes} | {cluster.id: cluster.change for cluster in clusters}
    ports = {node.id for node in nodes if node.kind == "port"}
    edges = _edges(_placeless(old.edges, ports), _placeless(new.edges, ports))
    if not plumbing and not any((*changed.values(), *(edge.change for edge in edges))):
        return difference(before, after)
    notes = _notes(nodes, clusters, moves, boxes)
    return Diagram(
        f"{before.title}: what changed" if before.title else "what changed",
        tuple(nodes),
        parents_first(clusters),
        edges,
        notes,
    )


def with_loops_of(old: Diagram, new: Diagram) -> Diagram:
    """Return a picture with the loop ids of another picture, for loops of the same name."""
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

    return with_names(old, renamed)


def _ports_apart(old: Diagram, new: Diagram) -> Diagram:
    """Return a picture with new ids for ports that another picture labels differently: `h` is not `h (last row)`."""
    labels = {node.id: node.label for node in new.nodes if node.kind == "port"}
    others = {node.id for node in old.nodes if labels.get(node.id, node.label) != node.label}
    return with_names(old, lambda name: f"{name} before" if name in others else name)


def _moves(old: Diagram, new: Diagram) -> list[tuple[Node, Node]]:
    """Return the operations that moved to another loop, as they are in both pictures."""
    there = {node.id for node in new.nodes}
    here = {node.id for node in old.nodes}
    left: dict[str, list[Node]] = {}
    for node in new.nodes:
        if node.kind == "operation" and node.key and node.id not in here:
            left.setdefault(node.key, []).append(node)
    return [
        (node, left[node.key].pop(0))
        for node in old.nodes
        if node.kind == "operation" and node.id not in there and left.get(node.key)
    ]


def _with_moves(
    nodes: list[Node], moves: Sequence[tuple[Node, Node]], boxes: Mapping[str, str]
) -> list[Node]:
    """Return nodes with notes about the previous place of those that moved."""
    notes = {before.id: f"now {_where(after.cluster, boxes)}" for before, after in moves}
    notes |= {after.id: f"was {_where(before.cluster, boxes)}" for before, after in moves}
    return [
        replace(node, change="moved", note=notes[node.id]) if node.id in notes else node for node in nodes
    ]


def with_names(picture: Diagram, renamed: Callable[[str], str]) -> Diagram:
    """Return a picture with renamed ids."""
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


def overlaid(old: Sequence[Part], new: Sequence[Part]) -> list[Part]:
    """Return the parts of two pictures, each once; a removed part follows the kept part that it used to follow."""
    before = {node.id for node in old}
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
        found.append(replace(node, change="" if node.id in before else "added"))
        found += gone.get(node.id, [])
    return found


def parents_first(clusters: list[Cluster]) -> tuple[Cluster, ...]:
    """Return boxes ordered so that each stands after its parent."""
    parent = {cluster.id: cluster.parent for cluster in clusters}

    def depth(name: str | None) -> int:
        count = 0
        while name is not None and count <= len(parent):
            name, count = parent.get(name), count + 1
        return count

    return tuple(sorted(clusters, key=lambda cluster: depth(cluster.id)))


def _edges(old: Sequence[Edge], new: Sequence[Edge]) -> tuple[Edge, ...]:
    """Return the edges of both pictures, each as often as in the picture that has more of it."""
    left = Counter(_same(edge) for edge in old)
    found = []
    for edge in new:
        known = left[_same(edge)] > 0
        left[_same(edge)] -= known
        found.append(replace(edge, change="" if known else "added"))
    for edge in reversed(old):
        if left[_same(edge)]:
            left[_same(edge)] -= 1
            found.append(replace(edge, change="removed"))
    return tuple(found)


def _placeless(edges: Sequence[Edge], ports: Container[str]) -> list[Edge]:
    """Return edges without their places at a loop, which shift when loop variables come or go."""
    return [replace(edge, place=None) if edge.target in ports else edge for edge in edges]


def _same(edge: Edge) -> tuple[str, str, str, str, int | None]:
    return edge.source, edge.target, edge.role, edge.label, edge.place


def _notes(
    nodes: list[Node], clusters: list[Cluster], moves: Sequence[tuple[Node, Node]], boxes: Mapping[str, str]
) -> tuple[str, ...]:
    came = {after.id for _, after in moves}  # a moved node stands at two places, and counts once
    counts = Counter(
        node.change for node in nodes if node.kind in ("operation", "loop") and node.id not in came
    )
    counts.update(cluster.change for cluster in clusters)
    changed, ports = _counted(counts), _counted(Counter(node.change for node in nodes if node.kind == "port"))
    moved = [
        f"{after.label} moved: {_where(before.cluster, boxes)} → {_where(after.cluster, boxes)}"
        for before, after in moves
    ]
    more = [f"{len(moved) - _MOST_MOVES} more moved"] if len(moved) > _MOST_MOVES else []
    first = [f"operations and loops: {changed}" if changed else "no operation changed"]
    return (*first, *([f"ports of loops: {ports}"] if ports else []), *moved[:_MOST_MOVES], *more)


def _counted(counts: Counter[Change]) -> str:
    return ", ".join(f"{counts[change]} {change}" for change in _CHANGES if counts[change])


def _where(cluster: str | None, boxes: Mapping[str, str]) -> str:
    return f"in {boxes.get(cluster, cluster)}" if cluster is not None else "outside of loops"


# changes and their neighbours


def near_changes(diagram: Diagram, hops: int = HOPS) -> Diagram:
    """Return the part of a picture within k edges of a change.

    Parameters
    ----------
    diagram : Diagram
        A picture with changes; one without any, or of a few nodes, comes back as it is.
    hops : int
        Most edges between a change and a drawn node.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Edge, Node
    >>> nodes = [Node(f"n{k}", "operation", "exp", change="added" if k == 0 else "") for k in range(100)]
    >>> edges = [Edge(f"n{k}", f"n{k + 1}") for k in range(99)]
    >>> small = near_changes(Diagram("f", tuple(nodes), (), tuple(edges)))
    >>> [node.id for node in small.nodes], small.notes
    (['n0', 'n1', 'n2'], ('not drawn: 97 nodes further than 2 lines from any change',))
    """
    changed = _changed(diagram)
    if len(diagram.nodes) <= _FEW or not changed:
        return diagram
    near, boxes = _beside(diagram, changed, hops), _boxes_of(diagram, changed)
    closed = close_loops(diagram, [cluster.id for cluster in diagram.clusters if cluster.id not in boxes])
    kept = [node for node in closed.nodes if node.id in near or any(port.id in near for port in node.ports)]
    count = len(closed.nodes) - len(kept)
    nodes = f"{count} node{'' if count == 1 else 's'}"
    note = (f"not drawn: {nodes} further than {hops} lines from any change",) if count else ()
    return replace(with_nodes(closed, kept), notes=(*diagram.notes, *note))


def _changed(diagram: Diagram) -> set[str]:
    """Return the ids of changed nodes, and of the ends of changed edges."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    found = _changed_nodes(diagram)
    for edge in diagram.edges:
        if edge.change:
            found |= {owner.get(end, end) for end in (edge.source, edge.target)}
    return found


def _changed_nodes(diagram: Diagram) -> set[str]:
    """Return the ids of nodes that changed, or stand in a changed loop."""
    boxes = {cluster.id for cluster in diagram.clusters if cluster.change}
    return {node.id for node in diagram.nodes if node.change or node.cluster in boxes}


def _beside(diagram: Diagram, changed: set[str], hops: int) -> set[str]:
    """Return the ids of nodes within k edges above or below a change.

    Lines are followed up or down, never first one and then the other: other results of the same input are not near.
    """
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    above: dict[str, set[str]] = defaultdict(set)
    below: dict[str, set[str]] = defaultdict(set)
    own = _changed_nodes(diagram)
    up, down = set(own), set(own)
    for edge in diagram.edges:
        source, target = owner.get(edge.source, edge.source), owner.get(edge.target, edge.target)
        below[source].add(target)
        above[target].add(source)
        if edge.change:
            up.add(source)
            down.add(target)
    found = set(changed)
    for near, last in ((above, up), (below, down)):
        for _ in range(hops):
            last = {other for name in last for other in near[name]}
            found |= last
    return found


def _boxes_of(diagram: Diagram, kept: set[str]) -> set[str]:
    """Return the loops around kept nodes."""
    parent = {cluster.id: cluster.parent for cluster in diagram.clusters}
    found: set[str] = set()
    for node in diagram.nodes:
        box = node.cluster if node.id in kept else None
        while box is not None and box not in found:
            found.add(box)
            box = parent.get(box)
    return found | {cluster.id for cluster in diagram.clusters if cluster.change}
