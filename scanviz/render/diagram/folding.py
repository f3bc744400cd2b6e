"""Loops of a picture closed, and pictures of some loops alone: a closed loop is one node whose ports are its loop variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node, Port

_MOST_NAMES = 8  # in a note


def depths(diagram: Diagram) -> dict[str, int]:
    """Return how many loops stand around each open loop.

    Examples
    --------
    >>> depths(Diagram("f", clusters=(Cluster("a", "rnn"), Cluster("b", "inner", "a"))))
    {'a': 0, 'b': 1}
    """
    found: dict[str, int] = {}
    for cluster in diagram.clusters:
        found[cluster.id] = found[cluster.parent] + 1 if cluster.parent in found else 0
    return found


def inside(diagram: Diagram, loops: Iterable[str]) -> set[str]:
    """Return ids of the given open loops and of those inside them."""
    found = set(loops)
    for cluster in diagram.clusters:  # a cluster stands after the one around it
        if cluster.parent in found:
            found.add(cluster.id)
    return found


def only_loops(diagram: Diagram, loops: Collection[str]) -> Diagram:
    """Return a picture of some loops alone: their ports and all that is in them."""
    kept = inside(diagram, loops)
    nodes = tuple(node for node in diagram.nodes if node.cluster in kept)
    ends = {node.id for node in nodes} | {port.id for node in nodes for port in node.ports}
    return replace(
        diagram,
        nodes=nodes,
        clusters=tuple(
            replace(cluster, parent=cluster.parent if cluster.parent in kept else None)
            for cluster in diagram.clusters
            if cluster.id in kept
        ),
        edges=tuple(edge for edge in diagram.edges if edge.source in ends and edge.target in ends),
    )


def close_loops(diagram: Diagram, loops: Collection[str]) -> Diagram:
    """Return a picture with some loops closed; edges around them end at the same ports as before.

    Examples
    --------
    >>> port = Node("p", "port", "x", "a", side="in", loop_kind="sequence", variable=0)
    >>> picture = Diagram("f", (port, Node("n", "operation", "tanh", "a")), (Cluster("a", "rnn"),))
    >>> [(node.kind, node.label, len(node.ports), node.operations) for node in close_loops(picture, ["a"]).nodes]
    [('loop', 'rnn', 1, 1)]
    """
    if not loops:
        return diagram
    boxes = {cluster.id: cluster for cluster in diagram.clusters}
    gone = inside(diagram, loops)
    outermost = [
        cluster
        for cluster in diagram.clusters
        if cluster.id in loops and not _closed_around(cluster, boxes, loops)
    ]
    ports: dict[str, list[Port]] = {cluster.id: [] for cluster in outermost}
    for node in diagram.nodes:
        if node.kind == "port" and node.cluster in ports:
            ports[node.cluster].append(_port(node))
    counts, heats = _operations(diagram), _hottest(diagram)
    waiting = {
        cluster.id: _closed(cluster, tuple(ports[cluster.id]), counts[cluster.id], heats.get(cluster.id))
        for cluster in outermost
    }
    nodes: list[Node] = []
    for node in diagram.nodes:
        if node.cluster not in gone:
            nodes.append(node)
        elif node.cluster in waiting:  # a loop stands where its first port stood
            nodes.append(waiting.pop(node.cluster))
    nodes += waiting.values()
    ends = {node.id for node in nodes} | {port.id for node in nodes for port in node.ports}
    names = list(dict.fromkeys(cluster.label for cluster in outermost))
    listed = ", ".join(names[:_MOST_NAMES]) + (
        f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    )
    return replace(
        diagram,
        nodes=tuple(nodes),
        clusters=tuple(cluster for cluster in diagram.clusters if cluster.id not in gone),
        edges=tuple(edge for edge in diagram.edges if edge.source in ends and edge.target in ends),
        notes=(*diagram.notes, f"closed: {listed}"),
    )


def fold(diagram: Diagram, groups: Sequence[tuple[Node, Collection[str]]]) -> Diagram:
    """Return a picture in which nodes stand for groups of others: edges inside a group go, equal ones become one.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    groups : sequence of (Node, collection of str)
        What to draw, and the ids of the nodes that it stands for; it stands where the first of them stood.
    """
    by_id = {node.id: node for node in diagram.nodes}
    home: dict[str, str] = {}
    waiting: dict[str, Node] = {}
    for node, members in groups:
        for member in members:
            waiting[member] = node
            home.update(dict.fromkeys([member, *(port.id for port in by_id[member].ports)], node.id))
    nodes: dict[str, Node] = {}
    for old in diagram.nodes:
        found = waiting.get(old.id, old)
        nodes.setdefault(found.id, found)
    edges: dict[tuple[str, str, str, str, str], Edge] = {}
    for edge in diagram.edges:
        source, target = home.get(edge.source, edge.source), home.get(edge.target, edge.target)
        if (source, target) != (edge.source, edge.target):
            if source == target:
                continue
            edge = replace(edge, source=source, target=target, place=None)
            edges.setdefault((source, target, edge.role, edge.label, edge.change), edge)
        else:
            edges[source, target, edge.role, edge.label, f"{edge.change}/{edge.place}"] = edge
    return replace(diagram, nodes=tuple(nodes.values()), edges=tuple(edges.values()))


def _closed_around(cluster: Cluster, boxes: dict[str, Cluster], loops: Collection[str]) -> bool:
    while cluster.parent in boxes:
        cluster = boxes[cluster.parent]
        if cluster.id in loops:
            return True
    return False


def _port(node: Node) -> Port:
    variable = node.variable if node.variable is not None else -1
    return Port(node.id, "out" if node.side == "out" else "in", node.label, node.loop_kind, variable)


def _operations(diagram: Diagram) -> dict[str, int]:
    """Return how many operations stand in each open loop and in those inside it."""
    counts = {cluster.id: 0 for cluster in diagram.clusters}
    for node in diagram.nodes:
        if node.cluster in counts:
            counts[node.cluster] += node.operations or int(node.kind == "operation")
    for cluster in reversed(diagram.clusters):  # a cluster stands after the one around it
        if cluster.parent in counts:
            counts[cluster.parent] += counts[cluster.id]
    return counts


def _hottest(diagram: Diagram) -> dict[str, float]:
    """Return the part of the time of the hottest operation in each open loop and in those inside it, where times are known."""
    found: dict[str, float] = {}
    for node in diagram.nodes:
        heat = node.share if node.hottest is None else node.hottest
        if node.cluster is not None and heat is not None:
            found[node.cluster] = max(heat, found.get(node.cluster, 0.0))
    for cluster in reversed(diagram.clusters):  # a cluster stands after the one around it
        if cluster.parent is not None and cluster.id in found:
            found[cluster.parent] = max(found[cluster.id], found.get(cluster.parent, 0.0))
    return found


def _closed(cluster: Cluster, ports: tuple[Port, ...], operations: int, hottest: float | None) -> Node:
    label = cluster.label
    return Node(
        cluster.id,
        "loop",
        label,
        cluster.parent,
        loop=cluster.loop,
        ports=ports,
        time_ns=cluster.time_ns,
        share=cluster.share,
        change=cluster.change,
        operations=operations,
        hottest=hottest,
    )
