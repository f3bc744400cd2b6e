"""A picture of what changed and what stands near it; the rest is folded: what hangs together stands as one node with a number.

What is folded keeps the order of computation: of two operations with something drawn between them, no node stands for both.  So no
line leads back.  What a loop takes and gives stands as one port at its edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set

from msgspec.structs import replace

from scanviz.render.diagram.folding import close_loops, fold
from scanviz.render.diagram.model import Diagram, Node, NodeKind
from scanviz.render.layout.ordering import acyclic

HOPS = 2
_AT_EDGES = ("port", "inner_input", "inner_output")  # of a loop
_LEAVES = ("input", "shared", "constant")
_MORE = "more/"  # before ids of what stands for others
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
    closed = fold(closed, [(_more(members), _ids(members)) for members in _at_edges(closed, kept)])
    small = fold(closed, [(_more(members), _ids(members)) for members in _groups(closed, kept)])
    small = _without_far_leaves(small, kept)
    note = f"{count} node{'' if count == 1 else 's'} further than {hops} lines from any change are folded"
    return replace(small, notes=(*diagram.notes, note)) if count else diagram


def _changed(diagram: Diagram) -> set[str]:
    """Return ids of nodes that changed, or that lines lead to which did."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    found = _changed_nodes(diagram)
    for edge in diagram.edges:
        if edge.change:
            found |= {owner.get(end, end) for end in (edge.source, edge.target)}
    return found


def _changed_nodes(diagram: Diagram) -> set[str]:
    """Return ids of nodes that changed, or stand in a loop that did."""
    boxes = {cluster.id for cluster in diagram.clusters if cluster.change}
    return {node.id for node in diagram.nodes if node.change or node.cluster in boxes}


def _beside(diagram: Diagram, changed: set[str], hops: int) -> set[str]:
    """Return ids of what so many lines lead from to a change, and of what so many lead to from one.

    What else is made of the same input is not near: lines are followed up or down, never first one and then the other.
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
    """Return loops that something kept is in, and those around them."""
    parent = {cluster.id: cluster.parent for cluster in diagram.clusters}
    found: set[str] = set()
    for node in diagram.nodes:
        box = node.cluster if node.id in kept else None
        while box is not None and box not in found:
            found.add(box)
            box = parent.get(box)
    return found | {cluster.id for cluster in diagram.clusters if cluster.change}


def _at_edges(diagram: Diagram, kept: set[str]) -> Iterable[list[Node]]:
    """Return what is not kept of what loops take and give, as it stands side by side."""
    groups: dict[tuple[str | None, str, str], list[Node]] = defaultdict(list)
    for node in diagram.nodes:
        if node.id not in kept and node.kind in _AT_EDGES:
            groups[node.cluster, node.kind, node.side].append(node)
    return [members for members in groups.values() if len(members) > 1]


def _groups(diagram: Diagram, kept: set[str]) -> Iterable[list[Node]]:
    """Return what else is not kept: in each loop, what hangs together with nothing drawn between."""
    rest = {
        node.id: node
        for node in diagram.nodes
        if node.id not in kept and node.kind not in (*_AT_EDGES, "loop")
    }
    ends = _ends(diagram)
    stage = _stages(diagram, ends, rest.keys())
    root = {name: name for name in rest}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    def beside(source: str, target: str) -> bool:
        return rest[source].cluster == rest[target].cluster and stage[source] == stage[target]

    for source, target in ends:
        if source in rest and target in rest and beside(source, target):
            root[find(target)] = find(source)
    groups: dict[str, list[Node]] = defaultdict(list)
    for name, node in rest.items():
        groups[find(name)].append(node)
    return [members for members in groups.values() if len(members) > 1]


def _without_far_leaves(diagram: Diagram, kept: set[str]) -> Diagram:
    """Return a picture without leaves that are not kept, and without lines from leaves to what is folded."""
    leaves = {node.id for node in diagram.nodes if node.kind in _LEAVES and not node.change}
    folded = {node.id for node in diagram.nodes if node.id.startswith(_MORE)}
    return replace(
        diagram,
        nodes=tuple(node for node in diagram.nodes if node.id in kept or node.id not in leaves),
        edges=tuple(
            edge
            for edge in diagram.edges
            if edge.change or edge.source not in leaves or (edge.source in kept and edge.target not in folded)
        ),
    )


def _ends(diagram: Diagram) -> list[tuple[str, str]]:
    """Return what lines lead from and to, but for those that a later step reads."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    lines = [edge for edge in diagram.edges if edge.role != "recurrence"]
    return [(owner.get(edge.source, edge.source), owner.get(edge.target, edge.target)) for edge in lines]


def _stages(diagram: Diagram, ends: Sequence[tuple[str, str]], folded: Set[str]) -> dict[str, int]:
    """Return numbers that never fall along a line, and grow where it leaves what is folded of one loop."""
    numbers = {node.id: k for k, node in enumerate(diagram.nodes)}
    names, cluster = list(numbers), [node.cluster for node in diagram.nodes]
    after: list[list[int]] = [[] for _ in names]
    waiting = [0] * len(names)
    for a, b in acyclic(len(names), [(numbers[a], numbers[b]) for a, b in ends]):
        after[a].append(b)
        waiting[b] += 1
    stage = [0] * len(names)
    ready = [k for k, many in enumerate(waiting) if not many]
    for k in ready:  # grows while it is gone through
        for following in after[k]:
            leaves = names[k] in folded and (
                names[following] not in folded or cluster[k] != cluster[following]
            )
            stage[following] = max(stage[following], stage[k] + leaves)
            waiting[following] -= 1
            if not waiting[following]:
                ready.append(following)
    return dict(zip(names, stage, strict=True))


def _more(members: list[Node]) -> Node:
    first = members[0]
    kind: NodeKind = first.kind if first.kind in _AT_EDGES else "summary"
    label = f"{len(members)} more"
    return Node(f"{_MORE}{first.id}", kind, label, first.cluster, loop=first.loop, side=first.side)


def _ids(members: list[Node]) -> list[str]:
    return [node.id for node in members]
