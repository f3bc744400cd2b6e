"""What can be asked of a picture as a graph: on which level something stands, which chain is the longest.

The questions are answered by networkx.  Recurrence edges lead to later steps: levels and the longest path, which are of one step,
do not follow them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.model import Diagram, Node, Port

if TYPE_CHECKING:
    import networkx


# Pictures for other programs: GraphML and node-link JSON, both as networkx writes and reads them.
#
# Text from scripts may hold characters that XML has no place for; in GraphML they are written out.

_NO_CHARACTERS = re.compile("[\ufdd0-\ufdef\ufffe\uffff]")


def to_graphml(diagram: Diagram) -> str:
    """Return a picture as GraphML, with the loops as JSON text in the graph's attribute ``clusters``.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Node
    >>> text = to_graphml(Diagram("f", (Node("x", "input", "<x>"),)))
    >>> '<node id="x">' in text, "&lt;x&gt;" in text
    (True, True)
    """
    import networkx

    found = to_networkx(diagram)
    names = _written_ids(found)
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(
        title=_harmless(diagram.title),
        notes=_harmless("\n".join(diagram.notes)),
        clusters=json.dumps([_told(cluster) for cluster in found.graph["clusters"]], sort_keys=True),
    )
    for node, attributes in found.nodes(data=True):
        graph.add_node(names[node], **_scalars(attributes, names))
    for source, target, attributes in found.edges(data=True):
        graph.add_edge(names[source], names[target], **_scalars(attributes, names))
    return "\n".join(networkx.generate_graphml(graph)) + "\n"


def to_json(diagram: Diagram) -> dict[str, Any]:
    """Return a picture as node-link data, which ``networkx.node_link_graph(data, edges="edges")`` reads.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Node
    >>> to_json(Diagram("f", (Node("x", "input", "x", type="float64[]"),)))["nodes"]
    [{'kind': 'input', 'label': 'x', 'type': 'float64[]', 'id': 'x'}]
    """
    import networkx

    found = to_networkx(diagram)
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(
        title=diagram.title,
        notes=list(diagram.notes),
        clusters=[_told(cluster) for cluster in found.graph["clusters"]],
    )
    graph.add_nodes_from((node, _told(attributes)) for node, attributes in found.nodes(data=True))
    graph.add_edges_from((a, b, _told(attributes)) for a, b, attributes in found.edges(data=True))
    data: dict[str, Any] = networkx.node_link_data(graph, edges="edges")
    return data


def _told(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes that say something: neither empty nor a number that JSON lacks."""
    return {
        name: value
        for name, value in attributes.items()
        if value is not None and value != "" and not (isinstance(value, float) and not math.isfinite(value))
    }


def _scalars(attributes: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    told = {
        name: _harmless(value) if isinstance(value, str) else value
        for name, value in _told(attributes).items()
    }
    return {**told, **({"of": names[attributes["of"]]} if "of" in attributes else {})}


def _written_ids(graph: networkx.MultiDiGraph[str]) -> dict[str, str]:
    """Return ids as they can be written, each another one."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        wanted, count = _harmless(node), 1
        while wanted in taken:
            count += 1
            wanted = f"{_harmless(node)}~{count}"
        taken.add(wanted)
        found[node] = wanted
    return found


def _harmless(text: str) -> str:
    return _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found.group()):04x}", sanitize(text))


_NO_ATTRIBUTES = ("id", "ports", "source", "target")


def to_networkx(diagram: Diagram) -> networkx.MultiDiGraph[str]:
    """Return a picture as a networkx graph whose nodes and edges have the picture's attributes.

    A port of a closed loop is a node too, with the loop's id as ``of``; edges of role ``"loop"`` join it to the loop's node.
    The graph's attributes are ``title``, ``notes`` and ``clusters``, a list of dicts.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Edge
    >>> picture = Diagram("f", (Node("x", "input", "x"), Node("y", "operation", "tanh")), (), (Edge("x", "y"),))
    >>> graph = to_networkx(picture)
    >>> graph.nodes["y"]["label"], graph.edges["x", "y", 0]["role"]
    ('tanh', 'data')
    """
    import networkx

    clusters = [asdict(box) for box in diagram.clusters]
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(
        title=diagram.title, notes=list(diagram.notes), clusters=clusters
    )
    for node in diagram.nodes:
        graph.add_node(node.id, **_attributes(node))
    for node in diagram.nodes:
        for port in node.ports:
            graph.add_node(port.id, **_port(port, node))
            ends = (port.id, node.id) if port.side == "in" else (node.id, port.id)
            graph.add_edge(*ends, role="loop", label="", type="", change="", place=None)
    for edge in diagram.edges:
        graph.add_edge(edge.source, edge.target, **_attributes(edge))
    return graph


def _attributes(part: Any) -> dict[str, Any]:
    """Return the fields of a node or edge; a node's line is its ``line``, for networkx takes ``source`` for an end."""
    found = {name: value for name, value in asdict(part).items() if name not in _NO_ATTRIBUTES}
    if isinstance(part, Node):
        found["line"] = part.source
    return found


def _port(port: Port, node: Node) -> dict[str, Any]:
    blank = _attributes(Node(port.id, "port", port.label, node.cluster, loop=node.loop, side=port.side))
    return {**blank, "loop_kind": port.kind, "variable": port.variable, "of": node.id}


def levels(diagram: Diagram) -> dict[str, int]:
    """Return how many nodes stand, at most, before each on the way from what is given.

    Nodes on a circle, which only a picture of a difference can have, are on one level.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Edge
    >>> nodes = tuple(Node(key, "operation", key) for key in "abc")
    >>> levels(Diagram("f", nodes, (), (Edge("a", "b"), Edge("b", "c"), Edge("a", "c"))))
    {'a': 0, 'b': 1, 'c': 2}
    """
    graph, members = _one_step(diagram)
    level: dict[int, int] = {}
    for place in _sorted(graph):
        level[place] = max((level[before] + 1 for before in graph.pred[place]), default=0)
    found = {text: level[place] for place, together in members.items() for text in together}
    return {text: found[text] for text in _ids(diagram)}


def longest_path(diagram: Diagram, *, by_time: bool = False) -> tuple[str, ...]:
    """Return ids along the longest chain of one step: of most nodes, or of most time.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    by_time : bool
        Whether to weigh nodes by their times; those without one count as nothing.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Edge
    >>> nodes = tuple(Node(key, "operation", key) for key in "abc")
    >>> longest_path(Diagram("f", nodes, (), (Edge("a", "b"), Edge("b", "c"), Edge("a", "c"))))
    ('a', 'b', 'c')
    """
    graph, members = _one_step(diagram)
    times = {node.id: node.time_ns or 0.0 for node in diagram.nodes}
    best: dict[int, tuple[float, int]] = {}
    before: dict[int, int | None] = {}
    for place in _sorted(graph):
        own = sum(times.get(member, 0.0) for member in members[place]) if by_time else 0.0
        earlier = max(graph.pred[place], key=lambda place: best[place], default=None)
        reached = best[earlier] if earlier is not None else (0.0, 0)
        best[place], before[place] = (reached[0] + own, reached[1] + len(members[place])), earlier
    last = max(best, key=lambda number: best[number], default=None)
    chain: list[str] = []
    while last is not None:
        chain += reversed(members[last])
        last = before[last]
    return tuple(reversed(chain))


def _ids(diagram: Diagram) -> Iterator[str]:
    """Iterate over ids of nodes and of ports, each once."""
    yield from dict.fromkeys(
        found for node in diagram.nodes for found in (node.id, *(port.id for port in node.ports))
    )


def _one_step(diagram: Diagram) -> tuple[networkx.DiGraph[int], dict[int, list[str]]]:
    """Return the graph of one step with every circle as one node, and what each of its nodes stands for."""
    import networkx

    whole = to_networkx(diagram)
    step: networkx.DiGraph[str] = networkx.DiGraph()
    step.add_nodes_from(_ids(diagram))
    step.add_edges_from((a, b) for a, b, role in whole.edges(data="role") if role != "recurrence")
    rank = {text: place for place, text in enumerate(_ids(diagram))}
    circles = sorted(
        (
            sorted(component, key=lambda name: rank[name])
            for component in networkx.strongly_connected_components(step)
        ),
        key=lambda pair: rank[pair[0]],
    )
    members = dict(enumerate(circles))
    home = {member: place for place, together in members.items() for member in together}
    graph: networkx.DiGraph[int] = networkx.DiGraph()
    graph.add_nodes_from(members)
    graph.add_edges_from((home[a], home[b]) for a, b in step.edges if home[a] != home[b])
    return graph, members


def _sorted(graph: networkx.DiGraph[int]) -> Iterator[int]:
    import networkx

    yield from networkx.lexicographical_topological_sort(graph)
