"""Pictures for other programs: a networkx graph, and GraphML and node-link JSON as networkx writes and reads them.

Text from scripts may hold characters that XML has no place for; in GraphML they are written out.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.model import Diagram, Node, Port

if TYPE_CHECKING:
    import networkx

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
        clusters=json.dumps([_present(cluster) for cluster in found.graph["clusters"]], sort_keys=True),
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

    data: dict[str, Any] = networkx.node_link_data(to_networkx(diagram), edges="edges")
    data["nodes"], data["edges"] = ([*map(_present, data[name])] for name in ("nodes", "edges"))
    data["graph"]["clusters"] = [*map(_present, data["graph"]["clusters"])]
    return data


def _present(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes that are not empty, without numbers that JSON lacks."""
    return {
        name: value
        for name, value in attributes.items()
        if value is not None and value != "" and not (isinstance(value, float) and not math.isfinite(value))
    }


def _scalars(attributes: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    present = {
        name: _harmless(value) if isinstance(value, str) else value
        for name, value in _present(attributes).items()
    }
    return {**present, **({"of": names[attributes["of"]]} if "of" in attributes else {})}


def _written_ids(graph: networkx.MultiDiGraph[str]) -> dict[str, str]:
    """Return distinct ids that XML can hold."""
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


_NO_ATTRIBUTES = ("id", "ports", "source", "target", "constants")


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
