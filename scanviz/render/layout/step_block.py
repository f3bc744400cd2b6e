"""The layout of one step in a picture with time from left to right.

The step's operations stand in layers from top to bottom.  States enter at one side of the box and new states leave at the other.
Their edges run through an empty gutter along that side, then between two layers to the reader.  Other inputs stand above the box or
in it.  So edges cross only edges.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from scanviz.render.diagram.model import Node
from scanviz.render.layout.level import LayeredLevel
from scanviz.render.layout.placed import Box, BoxSize, Point, joined, port_boxes

TRACK = 7.0  # between two lines side by side
PAD = 10.0  # between the border of a box and its parts
_NEAR = 2.0  # lines nearer than that are seen as one
MOST_AT_SIDE = 3  # lines that enter or leave a node at its side


class Crossing(Struct):
    """An edge that crosses the side of a step's box.

    Attributes
    ----------
    ends : list of (int, str, str)
        Numbers of edges, and the end of each: the node, and the port or node itself.
    reads : bool
        Whether it comes in.
    straight : bool
        Whether it leads to the row right beside the step, or from there.
    port : float
        Height at which it crosses the border, from the top of the box.
    track : float
        Position of its track along the border, from the left of the block.
    """

    ends: list[tuple[int, str, str]]
    reads: bool
    straight: bool = False
    port: float = 0.0
    track: float = 0.0


class StepParts(Struct):
    """The nodes and edges of one step.

    Attributes
    ----------
    nodes : list of Node
        In it, above it and below it.
    sizes : dict of str to BoxSize
        Sizes of these nodes.
    owner : dict of str to str
        Id of a port → id of its node.
    inner : list of (int, str, str)
        Edges between these nodes.
    from_above : dict of str to list of (int, str)
        Inputs through the top: source → its edges and their ends.
    """

    nodes: list[Node]
    sizes: dict[str, BoxSize]
    owner: dict[str, str]
    inner: list[tuple[int, str, str]] = field(default_factory=list)
    from_above: dict[str, list[tuple[int, str]]] = field(default_factory=dict)


class StepBlock:
    """Places of one step, from the upper left corner of its block: nodes above, the box, nodes below.

    A node for many steps, alone in the box, fills it.

    Parameters
    ----------
    parts : StepParts
        Its content.
    title : BoxSize
        Size of the title of the box.
    crossings : dict of str to Crossing
        Lines through its sides.
    reads_left : bool
        Whether inputs come in at the left.
    widest : float
        Widest layer; a wider one is split.
    """

    def __init__(
        self,
        parts: StepParts,
        title: BoxSize,
        crossings: Mapping[str, Crossing],
        reads_left: bool,
        widest: float = math.inf,
    ) -> None:
        self.parts, self.crossings, self.reads_left, self.widest = parts, crossings, reads_left, widest
        self.nodes = {node.id: node for node in parts.nodes}
        inside = [node for node in parts.nodes if node.cluster is not None]
        self.filling = inside[0].id if len(inside) == 1 and inside[0].kind == "summary" else None
        self.routes: dict[int, list[Point]] = {}
        self.boxes: dict[str, Box] = {}
        self._layers(title)
        self._turn()
        self._gutters()
        self._spaces()

    def _layers(self, title: BoxSize) -> None:
        """Assign layers: 0 above the box, 1 for its title and inputs without a source, then operations."""
        parts = self.parts
        names: list[str] = ["", *self.nodes, *parts.from_above]  # the title first
        self.number = {name: k for k, name in enumerate(names)}
        sizes = [BoxSize(title.width, title.height + 4.0)]
        sizes += [parts.sizes[name] for name in self.nodes]
        sizes += [BoxSize(0.0, 0.0)] * (len(parts.from_above) + 1)
        sky = len(names)  # so that there is a layer above the title
        edges = [(k, self._part(a), self._part(b)) for k, a, b in parts.inner]
        for name, reached in parts.from_above.items():
            edges += [(k, self.number[name], self._part(b)) for k, b in reached]
        self.ends = {number: (a, b) for number, a, b in parts.inner}
        self.ends |= {number: (a, b) for a, reached in parts.from_above.items() for number, b in reached}
        given = {b for _, _, b in edges}
        first: dict[int, int] = {0: 1, sky: 0}
        last: dict[int, int] = {}
        first.update({self.number[name]: 0 for name in parts.from_above})
        for node in self.nodes.values():
            if node.cluster is None:  # above the step or below it
                (last if self.number[node.id] in given else first)[self.number[node.id]] = 0
        chips = [
            k
            for node in self.nodes.values()
            if (k := self.number[node.id]) not in given and k not in first and node.kind != "operation"
        ]
        count = {reads: sum(c.reads == reads for c in self.crossings.values()) for reads in (True, False)}
        if self.filling is not None:
            count = {True: 0, False: 0}
        self.left = PAD + TRACK * count[self.reads_left]
        self.right = PAD + TRACK * count[not self.reads_left]
        self.level = LayeredLevel(
            sizes,
            edges,
            first,
            last,
            chips,
            0 if title.width else None,
            (self.left, self.right),
            self.widest,
        )
        self.below = max((k for k in range(len(names)) if k in last), default=None)
        self.edges = edges

    def _part(self, name: str) -> int:
        return self.number[self.parts.owner.get(name, name)]

    def _turn(self) -> None:
        """Mirror the step if that straightens the edge to the row beside it."""
        mirrored = [row[::-1] for row in self.level.rows]
        if self._bent(mirrored) < self._bent(self.level.rows):
            self.level.mirror()

    def _bent(self, rows: Sequence[Sequence[int]]) -> int:
        """Return the number of layers in which a node blocks the straight edge to the row beside the step."""
        writes = [crossing for crossing in self.crossings.values() if not crossing.reads]
        near = {self.number[node] for one in writes if one.straight for _, node, _ in one.ends}
        far = {self.number[node] for one in writes if not one.straight for _, node, _ in one.ends} - near
        outermost = [(row[-1 if self.reads_left else 0], row) for row in rows if row]
        return sum(end in far and not near.isdisjoint(row) for end, row in outermost)

    def _gutters(self) -> None:
        """Assign a track to each edge through a side, and find the nodes that it reaches at the side."""
        self.at_side: dict[tuple[str, bool], list[str]] = defaultdict(list)  # node, reads → crossings there
        for name, crossing in self.crossings.items():
            for _, node, end in crossing.ends:
                row = self.level.rows[self.level.layer[self.number[node]]]
                left = crossing.reads == self.reads_left
                outermost = row[0 if left else -1] == self.number[node]
                met = self.at_side[node, crossing.reads]
                if outermost and end == node and len(met) < MOST_AT_SIDE and name not in met:
                    met.append(name)
        self.width = self.left + self.level.width + self.right
        placed = {True: 0, False: 0}
        for crossing in self.crossings.values():
            beside = PAD / 2 + TRACK * placed[crossing.reads]
            placed[crossing.reads] += 1
            crossing.track = beside if crossing.reads == self.reads_left else self.width - beside

    def _spaces(self) -> None:
        """Assign a height to each edge between two layers, and places to all nodes."""
        self.height_in_gap: dict[tuple[str, int], float] = {}  # crossing, gap below layer → height
        lines: dict[int, list[str]] = defaultdict(list)
        for name, crossing in self.crossings.items():
            for _, node, _ in crossing.ends:
                if name not in self.at_side[node, crossing.reads]:
                    gap = self.level.layer[self.number[node]] - crossing.reads
                    if name not in lines[gap]:
                        lines[gap].append(name)
        self.level.place({gap: TRACK * len(names) for gap, names in lines.items()})
        tops, heights = self.level.tops, self.level.heights
        end = self._last_inside()
        for gap, names in lines.items():
            floor = tops[gap] + heights[gap]
            room = TRACK * (len(names) + 1) if gap == end else tops[gap + 1] - floor
            for k, name in enumerate(names):
                self.height_in_gap[name, gap] = floor + room * (k + 1) / (len(names) + 1)
        self.floor = tops[end] + heights[end] + TRACK * len(lines.get(end, ()))
        for node in self.nodes:
            self.boxes[node] = self.level.boxes[self.number[node]].moved(self.left, 0.0)
            self.boxes |= port_boxes(self.nodes[node], self.boxes[node])

    @property
    def top(self) -> float:
        """The top of the box."""
        return self.level.tops[1]

    @property
    def sides(self) -> tuple[float, float]:
        """The range of heights at which edges may cross the sides of the box."""
        tops, heights = self.level.tops, self.level.heights
        end = self._last_inside()
        first = min(2, end)
        return tops[first] + (heights[first] if first == 1 else 0.0), self.floor

    def _last_inside(self) -> int:
        lowest = len(self.level.tops) - 1
        return lowest - 1 if self.below is not None else lowest

    def stretch(self, bottom: float) -> None:
        """Extend the box down to a height, and move the nodes below it."""
        more = bottom - self.sides[1]
        gap = self._last_inside()
        self.bottom = max(bottom, self.sides[1]) + PAD
        if self.filling is not None:  # so that states flow straight into it and out of it
            box = self.boxes[self.filling]
            self.boxes[self.filling] = box._replace(height=self.bottom - PAD / 2 - box.y)
        if more <= 0 or self.below is None:
            return
        for node in self.nodes:
            if self.level.layer[self.number[node]] > gap:
                self.boxes[node] = self.boxes[node].moved(0.0, more)
        self.level.tops[gap + 1] += more

    @property
    def end(self) -> float:
        """The lower end of the block: of its box, or of the nodes below it."""
        tops, heights = self.level.tops, self.level.heights
        return max(self.bottom, tops[-1] + heights[-1])

    def box(self) -> Box:
        """Return the border of the step."""
        return Box(0.0, self.top, self.width, self.bottom - self.top)

    def lead(self) -> None:
        """Route all edges inside."""
        for reads in (True, False):
            self._order_tracks([crossing for crossing in self.crossings.values() if crossing.reads == reads])
        self._spread()
        for number, a, b in self.edges:
            if self.level.layer[a] < self.level.layer[b]:
                self.routes[number] = self._down(number, a, b)
        for name, crossing in self.crossings.items():
            for number, node, end in crossing.ends:
                self.routes[number] = self._through_side(name, crossing, number, node, end)

    def _order_tracks(self, crossings: list[Crossing]) -> None:
        """Order the tracks of edges so that no two share a stretch."""
        names = {id(crossing): name for name, crossing in self.crossings.items()}
        inside = [
            {self._height(names[id(crossing)], crossing, node) for _, node, _ in crossing.ends}
            for crossing in crossings
        ]
        tracks = [crossing.track for crossing in crossings]  # from the border inwards
        waiting = list(range(len(crossings)))
        for track in tracks:
            free = (
                k
                for k in waiting
                if not any(
                    abs(crossings[other].port - y) < _NEAR
                    for other in waiting
                    if other != k
                    for y in inside[k]
                )
            )
            chosen = next(free, waiting[0])
            waiting.remove(chosen)
            crossings[chosen].track = track

    def _height(self, name: str, crossing: Crossing, node: str) -> float:
        """Return the height at which an edge through a side continues to a node."""
        met = self.at_side[node, crossing.reads]
        if node == self.filling:
            return crossing.port
        if name in met:
            box = self.boxes[node]
            return box.y + box.height / 2 + TRACK * (met.index(name) - (len(met) - 1) / 2)
        return self.height_in_gap[name, self.level.layer[self.number[node]] - crossing.reads]

    def _spread(self) -> None:
        """Spread the edges over a node's upper edge, in the order of their sources from left to right."""
        coming: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for number, a, b in self.edges:
            joints = self.level.routes.get(number)
            x = joints[-1][0] if joints else self.level.boxes[a].centre
            coming[b].append((x, number))
        for name, crossing in self.crossings.items():
            for number, node, end in crossing.ends:
                if crossing.reads and end == node and name not in self.at_side[node, True]:
                    coming[self.number[node]].append((crossing.track - self.left, number))
        self.entry: dict[int, float] = {}
        for part, lines in coming.items():
            box = self.level.boxes[part].moved(self.left, 0.0)
            for k, (_, number) in enumerate(sorted(lines)):
                self.entry[number] = box.x + box.width * (k + 1) / (len(lines) + 1)

    def _down(self, number: int, a: int, b: int) -> list[Point]:
        """Return the path of an edge from layer to layer."""
        tops, heights, layer = self.level.tops, self.level.heights, self.level.layer
        source, target = self.ends[number]
        start, goal = (
            self.level.boxes[a].moved(self.left, 0.0),
            self.boxes[self.parts.owner.get(target, target)],
        )
        x = self.boxes[source].centre if source in self.parts.owner else start.centre
        end = self.boxes[target].centre if target in self.parts.owner else self.entry[number]
        way = [(x, start.bottom), (x, tops[layer[a]] + heights[layer[a]])]
        way += [(p + self.left, q) for p, q in self.level.routes.get(number, [])]
        way += [(end, tops[layer[b]]), (end, goal.y)]
        return joined(way)

    def _through_side(self, name: str, crossing: Crossing, number: int, node: str, end: str) -> list[Point]:
        """Return the path between the border and a node, beginning at the border."""
        box, port = self.boxes[node], crossing.port
        left = crossing.reads == self.reads_left
        border = 0.0 if left else self.width
        y = self._height(name, crossing, node)
        if node == self.filling:
            way = [(border, port), (box.x if left else box.right, port)]
        elif name in self.at_side[node, crossing.reads]:
            way = [
                (border, port),
                (crossing.track, port),
                (crossing.track, y),
                (box.x if left else box.right, y),
            ]
        else:
            x = self.entry.get(number, self.boxes[end].centre) if end == node else self.boxes[end].centre
            way = [(border, port), (crossing.track, port), (crossing.track, y), (x, y)]
            way.append((x, box.y if crossing.reads else box.bottom))
        return joined(way if crossing.reads else way[::-1])
