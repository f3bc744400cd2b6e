"""Chips: copies of weights and other inputs beside each of their readers, so that large pictures have no long lines.

The weights of a network are read by its loop, by the loop of its gradient and by their own updates, so their lines would cross all
of a picture.  A loop variable that only hands a leaf of the same name on to the step goes, too: the leaf stands in the step.  A
value without a drawn reader (the step reads its size alone, which is plumbing) is not drawn, and a note names it.
"""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from scanviz.render.diagram.folding import with_nodes
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.render.diagram.summary import READABLE

_LEAVES = ("input", "shared", "constant")
_MOST_NAMES = 12  # in a note


def with_chips(diagram: Diagram, least: int | None = None) -> Diagram:
    """Return a picture with leaves beside their readers; a small one, or one of steps, comes back as it is.

    Parameters
    ----------
    diagram : Diagram
        Any picture.
    least : int, optional
        Nodes up to which a picture stays as it is; by default 80, half as many of one with changes.

    Examples
    --------
    >>> nodes = Node("W", "shared", "W"), Node("a", "operation", "dot"), Node("b", "operation", "add")
    >>> small = with_chips(Diagram("f", nodes, (), (Edge("W", "a"), Edge("W", "b"))), 0)
    >>> [(node.label, node.id) for node in small.nodes], [(edge.source, edge.target) for edge in small.edges]
    ([('W', 'W at a'), ('dot', 'a'), ('W', 'W at b'), ('add', 'b')], [('W at a', 'a'), ('W at b', 'b')])
    """
    if least is None:
        least = READABLE // 2 if any(node.change for node in diagram.nodes) else READABLE
    if len(diagram.nodes) <= least or any(node.row is not None for node in diagram.nodes):
        return diagram
    return _beside_readers(_without_handing_on(diagram))


def _without_handing_on(diagram: Diagram) -> Diagram:
    """Return a picture in which steps read leaves directly, not through loop variables of the same name."""
    nodes = {node.id: node for node in diagram.nodes}
    given: dict[str, list[Edge]] = defaultdict(list)
    enters: dict[str, list[Edge]] = defaultdict(list)
    for edge in diagram.edges:
        given[edge.target].append(edge)
        if edge.role == "enters":
            enters[edge.source].append(edge)
    leaf = {node.id: node.id for node in diagram.nodes if node.kind in _LEAVES}
    gone: dict[str, Node] = {}
    for node in diagram.nodes:  # a loop stands after its inputs
        if (
            node.kind != "port"
            or node.side != "in"
            or node.loop_kind != "non_sequence"
            or len(given[node.id]) != 1
        ):
            continue
        line, lines = given[node.id][0], enters[node.id]
        inside = [nodes[edge.target] for edge in lines]
        around = leaf.get(line.source)
        if around is None or not all(part.label == nodes[around].label for part in (node, *inside)):
            continue
        if any(edge.change for edge in (line, *lines)) or any(part.change for part in (node, *inside)):
            continue
        for part in (node, *inside):
            gone[part.id] = part
            leaf[part.id] = around
    if not gone:
        return diagram
    edges = [
        replace(edge, source=leaf[edge.source]) if edge.source in gone else edge
        for edge in diagram.edges
        if edge.target not in gone
    ]
    return with_nodes(
        replace(diagram, edges=tuple(edges)), (node for node in diagram.nodes if node.id not in gone)
    )


def _beside_readers(diagram: Diagram) -> Diagram:
    """Return a picture with copies of each leaf beside its readers, if it has several or one in another loop."""
    nodes = {node.id: node for node in diagram.nodes}
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    parent = {cluster.id: cluster.parent for cluster in diagram.clusters}
    places: dict[str, dict[str, Node]] = defaultdict(dict)
    for edge in diagram.edges:
        if nodes.get(edge.source) is not None and nodes[edge.source].kind in _LEAVES:
            reader = nodes[owner.get(edge.target, edge.target)]
            places[edge.source][reader.id] = reader
    chips: dict[tuple[str, str], Node] = {}
    for name, readers in places.items():
        for reader in readers.values():
            cluster = reader.cluster
            if reader.kind == "port" and reader.side == "in" and cluster is not None:
                cluster = parent[cluster]
            if len(readers) > 1 or cluster != nodes[name].cluster:
                chips[name, reader.id] = _chip(nodes[name], reader, cluster)
    if not chips:
        return diagram
    moved = {name for name, _ in chips}
    before: dict[str, list[Node]] = defaultdict(list)
    for (_, reader_id), chip in chips.items():
        before[_stands_before(nodes[reader_id], chip, diagram)].append(chip)
    drawn = [part for node in diagram.nodes for part in (*before[node.id], node) if part.id not in moved]
    edges = [
        replace(edge, source=chips[edge.source, owner.get(edge.target, edge.target)].id)
        if (edge.source, owner.get(edge.target, edge.target)) in chips
        else edge
        for edge in diagram.edges
    ]
    note = "weights and other inputs are drawn beside each of their readers"
    notes = diagram.notes if note in diagram.notes else (*diagram.notes, note)
    return replace(diagram, nodes=tuple(drawn), edges=tuple(edges), notes=notes)


def _chip(leaf: Node, reader: Node, cluster: str | None) -> Node:
    name = f"{leaf.id} at {reader.id}"
    if cluster is None or cluster == leaf.cluster or leaf.kind == "constant":
        return replace(leaf, id=name, cluster=cluster)
    return replace(
        leaf, id=name, cluster=cluster, kind="inner_input", loop_kind="non_sequence", loop=reader.loop
    )


def _stands_before(reader: Node, chip: Node, diagram: Diagram) -> str:
    """Return the node after a chip in the order of computation: its reader, or the first part of the port's loop."""
    if reader.cluster == chip.cluster:
        return reader.id
    return next(node.id for node in diagram.nodes if node.cluster == reader.cluster)
