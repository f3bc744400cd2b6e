"""Pictures for other programs: GraphML and node-link JSON, both as networkx writes and reads them.

Text from scripts may hold characters that XML has no place for; in GraphML they are written out.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.analysis import to_networkx
from scanviz.render.diagram.model import Diagram

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


__all__ = ["to_graphml", "to_json"]
