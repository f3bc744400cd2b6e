"""scanviz's own layered layout, for machines without Graphviz: layers from top to bottom, loops as boxes.

An open loop is laid out first and then stands in the layers around it as one large node, so nothing foreign is ever drawn in its
box. Edges that pass layers are led through them; values for a later step run on rails: below the step's results, up the right side
of its loop, above the readers.  Pictures in which time goes from left to right have a layout of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from scanviz.render.diagram.model import Diagram, Edge
from scanviz.render.labels import text_width
from scanviz.render.layout.level import LayeredLevel
from scanviz.render.layout.placed import (
    LETTER,
    Box,
    BoxSize,
    Placed,
    Point,
    node_size,
    port_boxes,
    title_size,
)
from scanviz.render.layout.time_parts import has_time
from scanviz.render.layout.timeline import timeline

MARGIN = 14.0
EDGE, TITLE_ROOM = 5.0, 4.0  # above the ports of a box, and below its title
_RAIL, _RAIL_GAP, _RAILS = (
    8.0,
    4.0,
    5,
)  # below and above rows, between rails, and for how many there always is room
_UPRIGHT = 0.5  # how far a line may lean that comes straight down
LANE = 13.0  # between two edges that are led round a loop
WIDEST = 900.0  # of a row; a wider one is broken
_LEAVES = ("input", "shared", "constant", "inner_input")


def layered(diagram: Diagram, types: bool = False, widest: float = WIDEST) -> Placed:
    """Place all parts of a picture, in rows of at most the given width where possible.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Edge, Node
    >>> nodes = (Node("a", "input", "x"), Node("b", "operation", "exp"))
    >>> placed = layered(Diagram("f", nodes, edges=(Edge("a", "b"),)))
    >>> placed.boxes["a"].bottom < placed.boxes["b"].y
    True
    """
    return timeline(diagram, types) if has_time(diagram) else _Layout(diagram, types, widest).whole()


class _Layout:
    """Lays out one picture."""

    def __init__(self, diagram: Diagram, types: bool, widest: float) -> None:
        self.diagram, self.types, self.widest = diagram, types, widest
        self.placed = Placed()
        known = {cluster.id for cluster in diagram.clusters}
        self.parent: dict[str, str | None] = {}
        self.inside: dict[str | None, list[str]] = defaultdict(list)
        self.nodes = {node.id: node for node in diagram.nodes}
        self.clusters = {cluster.id: cluster for cluster in diagram.clusters}
        self.owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
        for cluster in diagram.clusters:
            self._put(cluster.id, cluster.parent, known)
        for node in diagram.nodes:
            self._put(node.id, node.cluster, known)
        self.edges: dict[str | None, list[tuple[int, str, str]]] = defaultdict(list)
        self.around: dict[str | None, list[int]] = defaultdict(list)
        for number, edge in enumerate(diagram.edges):
            self._edge(number, edge)
        self.lanes: dict[int, float] = {}
        self.given = {edge.target for edge in diagram.edges}

    def _put(self, part: str, parent: str | None, known: set[str]) -> None:
        self.parent[part] = parent if parent in known else None
        self.inside[self.parent[part]].append(part)

    def _edge(self, number: int, edge: Edge) -> None:
        """Assign an edge to the innermost box that contains both of its ends."""
        source, target = (self._home(end) for end in (edge.source, edge.target))
        if source not in self.parent or target not in self.parent or source == target:
            return
        ways = [self._way(text) for text in (source, target)]
        depth = 0
        while depth < min(map(len, ways)) - 1 and ways[0][depth] == ways[1][depth]:
            depth += 1
        level = self.parent[ways[0][depth]]
        if edge.role == "recurrence":
            self.around[level].append(number)
        else:
            self.edges[level].append((number, ways[0][depth], ways[1][depth]))

    def _way(self, part: str) -> list[str]:
        """Return the boxes around a part, the outermost first, and the part."""
        way: list[str] = [part]
        while (parent := self.parent[way[0]]) is not None and len(way) < 200:
            way.insert(0, parent)
        return way

    def whole(self) -> Placed:
        """Lay out everything."""
        self.placed.width, self.placed.height = self._box(None, 0)
        self._ports()
        for number, edge in enumerate(self.diagram.edges):
            self._finish_route(number, edge)
        self._spread_ends()
        return self.placed

    def _spread_ends(self) -> None:
        """Spread the edges that reach a node from above, in the order of their sources from left to right."""
        reaching: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
        for number, edge in enumerate(self.diagram.edges):
            way, box = self.placed.routes.get(number), self.placed.boxes.get(edge.target)
            if way is None or box is None or edge.role == "recurrence" or way[-1] != (box.centre, box.y):
                continue
            kept = len(way) - 1
            while kept > 1 and abs(way[kept - 1][0] - box.centre) < _UPRIGHT:
                kept -= 1
            reaching[edge.target].append((way[kept - 1][0], number, kept))
        for target, lines in reaching.items():
            box = self.placed.boxes[target]
            values = list(dict.fromkeys(self.diagram.edges[number].source for _, number, _ in sorted(lines)))
            for _, number, kept in lines if len(values) > 1 else ():
                place = values.index(self.diagram.edges[number].source) + 1
                x, way = box.x + box.width * place / (len(values) + 1), self.placed.routes[number]
                self.placed.routes[number] = [*way[:kept], *((x, y) for _, y in way[kept:])]

    def _box(self, cluster: str | None, depth: int) -> BoxSize:
        """Lay out the inside of a box from its upper left corner, and return the size."""
        parts = self.inside[cluster]
        sizes = [self._size_of(part, depth) for part in parts]
        number = {part: k for k, part in enumerate(parts)}
        above = MARGIN
        title = None
        first, last = self._ends(parts)
        if cluster is not None:  # the title stands between the ports, where no line comes by
            title, size = len(parts), title_size(self.clusters[cluster])
            sizes.append(BoxSize(size.width, size.height + TITLE_ROOM))
            first[title] = 0
            above = EDGE
        edges = [(k, number[a], number[b]) for k, a, b in self.edges[cluster] if a != b]
        labels = [text_width(self.diagram.edges[edge].label, LETTER) for edge in self.around[cluster]]
        lanes = sum(LANE + width for width in labels)
        near = [k for k, part in enumerate(parts) if k not in first and self._is_leaf(part)]
        aims = {
            k: self.placed.boxes[self._home(self.diagram.edges[k].target)].x
            for k, _, b in edges
            if self._is_loop(parts[b])
        }
        level = LayeredLevel(
            sizes,
            edges,
            first,
            last,
            near,
            title,
            beside=(0.0, lanes),
            widest=self.widest,
            aims=aims,
        )
        self._make_room_for_rails(cluster, level, number)
        for part, k in number.items():
            self._shift(part, level.boxes[k].x + MARGIN, level.boxes[k].y + above)
        for edge, _, _ in edges:
            self.placed.routes[edge] = [(x + MARGIN, y + above) for x, y in level.in_rows(edge)]
        right = level.width + MARGIN
        for edge, width in zip(self.around[cluster], labels, strict=True):
            self.lanes[edge] = right + LANE
            right += LANE + width
        return BoxSize(right + MARGIN, level.height + MARGIN + above)

    def _make_room_for_rails(
        self, cluster: str | None, level: LayeredLevel, number: Mapping[str, int]
    ) -> None:
        """Move rows apart where more rails than usual run between them."""
        more = _RAIL_GAP * (len(self.around[cluster]) - _RAILS)
        if more <= 0:
            return
        gaps: dict[int, float] = {}
        for rail in self.around[cluster]:
            edge = self.diagram.edges[rail]
            gaps[level.layer[number[self.owner.get(edge.source, edge.source)]]] = more
            gaps[level.layer[number[self.owner.get(edge.target, edge.target)]] - 1] = more
        level.place(gaps)

    def _home(self, end: str) -> str:
        """Return the node of an edge's end, which may be a port of it."""
        return self.owner.get(end, end)

    def _is_loop(self, part: str) -> bool:
        """Return whether a part is an open loop, whose ports have their own places."""
        return part in self.clusters

    def _is_leaf(self, part: str) -> bool:
        """Return whether a part stands right above its reader, because no edge leads to it."""
        return part in self.nodes and self.nodes[part].kind in _LEAVES and part not in self.given

    def _size_of(self, part: str, depth: int) -> BoxSize:
        node = self.nodes.get(part)
        size = node_size(node, self.types) if node is not None else self._box(part, depth + 1)
        self.placed.boxes[part] = Box(0.0, 0.0, *size)
        return size

    def _ends(self, parts: Sequence[str]) -> tuple[dict[int, int], dict[int, int]]:
        """Return the parts at the top and at the end of their box, in two rows each: ports outermost."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for k, part in enumerate(parts):
            node = self.nodes.get(part)
            if node is None or node.cluster is None:
                continue
            if node.kind == "port" and node.side == "out":
                last[k] = 1
            elif node.kind == "port":
                first[k] = 0
            elif node.kind == "inner_input" and part in self.given:
                first[k] = 1
            elif node.kind in ("inner_output", "until"):
                last[k] = 0
        return first, last

    def _shift(self, part: str, x: float, y: float) -> None:
        """Move a part with its contents."""
        waiting = [part]
        while waiting:
            place = waiting.pop()
            self.placed.boxes[place] = self.placed.boxes[place].moved(x, y)
            if place in self.clusters:
                waiting += self.inside[place]
                for edge, *_ in self.edges[place]:
                    if edge in self.placed.routes:
                        self.placed.routes[edge] = [(a + x, b + y) for a, b in self.placed.routes[edge]]
                for edge in self.around[place]:
                    self.lanes[edge] += x

    def _ports(self) -> None:
        """Put the ports of closed loops at the edges of their node."""
        for node in self.diagram.nodes:
            self.placed.boxes.update(port_boxes(node, self.placed.boxes[node.id]))

    def _finish_route(self, number: int, edge: Edge) -> None:
        """Extend an edge's path to the borders of its ends."""
        source, target = self.placed.boxes.get(edge.source), self.placed.boxes.get(edge.target)
        if source is None or target is None or edge.source == edge.target:
            return
        if edge.role == "recurrence":
            self.placed.routes[number] = self._rail(number, source, target, edge)
            return
        between = self.placed.routes.get(number, [])
        if between and between[0][1] > between[-1][1]:
            between = between[::-1]
        if source.y <= target.y:
            self.placed.routes[number] = [(source.centre, source.bottom), *between, (target.centre, target.y)]
        else:
            self.placed.routes[number] = [
                (source.centre, source.y),
                *between[::-1],
                (target.centre, target.bottom),
            ]

    def _rail(self, number: int, source: Box, target: Box, edge: Edge) -> list[Point]:
        """Return the path of a recurrence: below its source's row, beside the loop, above its target's row."""
        cluster = self.parent[self.owner.get(edge.source, edge.source)]
        track = _RAIL + _RAIL_GAP * (
            self.around[cluster].index(number) if number in self.around[cluster] else 0
        )
        level = [self.placed.boxes[part] for part in self.inside[cluster]]
        low = max(box.bottom for box in level if _same_row(box, source)) + track
        high = min(box.y for box in level if _same_row(box, target)) - track
        lane = max(self.lanes.get(number, 0.0), source.right + 6, target.right + 6)
        leaves, reaches = source.centre + source.width / 4, target.centre + target.width / 4
        return [
            (leaves, source.bottom),
            (leaves, low),
            (lane, low),
            (lane, high),
            (reaches, high),
            (reaches, target.y),
        ]


def _same_row(box: Box, other: Box) -> bool:
    """Return whether two boxes stand beside one another."""
    return box.y < other.bottom and other.y < box.bottom
