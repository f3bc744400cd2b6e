"""Closed loops and extracted loops: a closed loop is one node with a port per loop variable."""

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
    """Return a picture of some loops only: their ports and contents."""
    kept = inside(diagram, loops)
    clusters = (cluster for cluster in diagram.clusters if cluster.id in kept)
    return replace(
        with_nodes(diagram, (node for node in diagram.nodes if node.cluster in kept)),
        clusters=tuple(
            cluster if cluster.parent in kept else replace(cluster, parent=None) for cluster in clusters
        ),
    )


def with_nodes(diagram: Diagram, nodes: Iterable[Node]) -> Diagram:
    """Return a picture of some nodes and the edges between them."""
    kept = tuple(nodes)
    ends = {node.id for node in kept} | {port.id for node in kept for port in node.ports}
    edges = tuple(edge for edge in diagram.edges if edge.source in ends and edge.target in ends)
    return replace(diagram, nodes=kept, edges=edges)


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
    gone = inside(diagram, loops)
    outermost = [
        cluster for cluster in diagram.clusters if cluster.id in loops and cluster.parent not in gone
    ]
    waiting = {cluster.id: _closed(diagram, cluster) for cluster in outermost}
    nodes: list[Node] = []
    for node in diagram.nodes:
        if node.cluster not in gone:
            nodes.append(node)
        elif node.cluster in waiting:  # a loop stands where its first port stood
            nodes.append(waiting.pop(node.cluster))
    nodes += waiting.values()
    names = list(dict.fromkeys(cluster.label for cluster in outermost))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return replace(
        with_nodes(diagram, nodes),
        clusters=tuple(cluster for cluster in diagram.clusters if cluster.id not in gone),
        notes=(*diagram.notes, f"closed: {', '.join(names[:_MOST_NAMES])}{more}"),
    )


def fold(diagram: Diagram, groups: Sequence[tuple[Node, Collection[str]]]) -> Diagram:
    """Replace groups of nodes by one node each; edges inside a group go, equal edges become one.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    groups : sequence of (Node, collection of str)
        The new node, and the ids of the nodes that it replaces; it stands where the first of them stood.
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


def _closed(diagram: Diagram, cluster: Cluster) -> Node:
    """Return the node of a closed loop: its ports, number of operations, and hottest share of time."""
    within = inside(diagram, [cluster.id])
    nodes = [node for node in diagram.nodes if node.cluster in within]
    heats = [node.share if node.hottest is None else node.hottest for node in nodes]
    ports = (
        Port(
            node.id,
            "out" if node.side == "out" else "in",
            node.label,
            node.loop_kind,
            -1 if node.variable is None else node.variable,
        )
        for node in nodes
        if node.kind == "port" and node.cluster == cluster.id
    )
    return Node(
        cluster.id,
        "loop",
        cluster.label,
        cluster.parent,
        loop=cluster.loop,
        ports=tuple(ports),
        time_ns=cluster.time_ns,
        share=cluster.share,
        change=cluster.change,
        operations=sum(node.operations or int(node.kind == "operation") for node in nodes),
        hottest=max((heat for heat in heats if heat is not None), default=None),
    )
