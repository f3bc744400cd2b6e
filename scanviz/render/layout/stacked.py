"""The layout of pictures with time for narrow screens: steps below each other, then those of the back-propagation.

The rows of sequences, and those of the forward loop in back-propagation, stand in the steps that read them, so lines are short.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec.structs import replace

from scanviz.render.diagram.folding import with_nodes
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import Placed

GAP = 18.0  # between a loop and its back-propagation


def stacked(diagram: Diagram, types: bool, widest: float) -> tuple[Diagram, Placed]:
    """Return a picture whose steps stand below each other, and its places.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Cluster
    >>> nodes = (
    ...     Node("h0", "cell", "h[-1]", column=0, row=1, band=0),
    ...     Node("f", "operation", "tanh", "step", column=1, row=0, band=0),
    ...     Node("h1", "cell", "h[0]", column=2, row=1, band=0),
    ... )
    >>> edges = (Edge("h0", "f", "enters"), Edge("f", "h1", "leaves"))
    >>> _, placed = stacked(Diagram("f", nodes, (Cluster("step", "step 0"),), edges), False, 300.0)
    >>> placed.boxes["h0"].bottom < placed.boxes["f"].y < placed.boxes["h1"].y
    True
    """
    diagram = _with_reads_in_steps(diagram)
    bands = {node.id: node.band or 0 for node in diagram.nodes}
    bands |= {port.id: node.band or 0 for node in diagram.nodes for port in node.ports}
    whole = Placed(titles_left=True)
    for band in sorted(set(bands.values())):
        numbers = [number for number, edge in enumerate(diagram.edges) if bands.get(edge.source) == band]
        part = replace(
            with_nodes(diagram, (node for node in diagram.nodes if node.band == band)),
            edges=tuple(diagram.edges[number] for number in numbers),
        )
        inside = {node.cluster for node in part.nodes}
        clusters = tuple(cluster for cluster in part.clusters if cluster.id in inside)
        nodes = tuple(replace(node, column=None, row=None, band=None) for node in part.nodes)
        part = replace(part, nodes=nodes, clusters=clusters, edges=(*part.edges, *_order(part)))
        placed = layered(part, types, widest)
        down = whole.height + GAP * bool(band)
        whole.boxes |= {name: box.moved(0.0, down) for name, box in placed.boxes.items()}
        whole.routes |= {
            number: [(x, y + down) for x, y in placed.routes[k]]
            for k, number in enumerate(numbers)
            if k in placed.routes
        }
        whole.width, whole.height = max(whole.width, placed.width), down + placed.height
    return diagram, whole


def _order(part: Diagram) -> list[Edge]:
    """Return edges from step to step, not to be drawn, where no state joins the steps."""
    if {edge.source for edge in part.edges if edge.role == "enters"} & {edge.target for edge in part.edges}:
        return []
    ends = {node.cluster: node.id for node in part.nodes if node.cluster}
    homes = {
        name: node.cluster for node in part.nodes for name in (node.id, *(port.id for port in node.ports))
    }
    results = {homes[edge.source]: edge.target for edge in part.edges if edge.role == "leaves"}
    return [Edge(results.get(one, ends[one]), ends[other]) for one, other in pairwise(ends)]


def _with_reads_in_steps(diagram: Diagram) -> Diagram:
    """Return a picture in which a step contains what it reads of a sequence or of another band."""
    nodes = {node.id: node for node in diagram.nodes}
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    copies: dict[tuple[str, str | None], Node] = {}
    edges: list[Edge] = []
    for edge in diagram.edges:
        source, target = (nodes.get(owner.get(end, end)) for end in (edge.source, edge.target))
        if source is None or target is None or target.cluster is None or source.kind != "cell":
            edges.append(edge)
        elif source.loop_kind == "sequence" or source.band != target.band:
            inside = replace(
                source, id=f"{source.id} in {target.cluster}", cluster=target.cluster, band=target.band
            )
            copy = copies.setdefault((source.id, target.cluster), inside)
            edges.append(replace(edge, source=copy.id))
        else:
            edges.append(edge)
    moved = {name for name, _ in copies if nodes[name].loop_kind == "sequence"}
    kept = [node for node in diagram.nodes if node.id not in moved]
    return replace(diagram, nodes=(*copies.values(), *kept), edges=tuple(edges))
