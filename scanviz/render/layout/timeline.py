"""The layout of pictures with time from left to right: steps in a row, states between them.

A loop's steps stand in one band and those of its back-propagation in a band below, each under the step that it belongs to.  Between
two steps stand the rows of states, those of one state at one height, so that a state flows along a line.  A line that passes a step
runs on a rail between the bands, and up or down beside the rows.  Nothing stands where lines run: they cross lines alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.render.layout.level import running
from scanviz.render.layout.placed import Box, Placed, Point, joined, port_boxes
from scanviz.render.layout.step_block import PAD, TRACK, StepBlock
from scanviz.render.layout.time_parts import Lanes, Place, TimeParts

MARGIN = 14.0
BESIDE, TIGHT = 22.0, 10.0  # between a step and the lines beside it; of rows with values, which are wider
SLIDE = 1912.0  # how wide a picture is that fits a slide
# widths of a step's rows, tried until the picture fits
_ROOMS = (math.inf, 500.0, 400.0, 330.0, 260.0, 200.0, 160.0, 130.0, 100.0)
CELL_SPREAD = 8.0  # between lines that reach a row


def timeline(diagram: Diagram, types: bool = False, widest: float = SLIDE) -> Placed:
    """Place all parts of a picture with time.

    Parameters
    ----------
    diagram : Diagram
        All of whose nodes have a place in time.
    types : bool
        Whether dtypes and shapes are written on nodes.
    widest : float
        Wanted width of the picture: nodes side by side in a step are broken into rows until it fits, as far as possible.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Cluster
    >>> nodes = (
    ...     Node("h0", "cell", "h[-1]", column=0, row=1, band=0),
    ...     Node("f", "operation", "tanh", "step", column=1, row=0, band=0),
    ...     Node("h1", "cell", "h[0]", column=2, row=1, band=0),
    ... )
    >>> edges = (Edge("h0", "f", "enters"), Edge("f", "h1", "leaves"))
    >>> placed = timeline(Diagram("f", nodes, (Cluster("step", "step 0"),), edges))
    >>> placed.boxes["h0"].right < placed.boxes["f"].x < placed.boxes["h1"].x, placed.boxes["h0"].y == placed.boxes["h1"].y
    (True, True)
    """
    found: Placed | None = None
    for room in (room for room in _ROOMS if room >= widest / 10):  # narrower rows only make it tall
        placed = _Timeline(diagram, types, room).whole()
        if found is None or placed.width < found.width:
            found = placed
        if found.width <= widest:
            break
    assert found is not None
    return found


class _Timeline:
    """Lays out one picture."""

    def __init__(self, diagram: Diagram, types: bool, room: float) -> None:
        self.parts, self.widest_row = TimeParts(diagram, types), room
        self.room = TIGHT if any(node.value for node in diagram.nodes) else BESIDE
        self.placed = Placed()

    def whole(self) -> Placed:
        """Lay out everything."""
        self.blocks = {
            place: StepBlock(
                parts, self.parts.title(place), self.parts.crossings[place], not place[0], self.widest_row
            )
            for place, parts in self.parts.parts.items()
        }
        self.lane_end = Lanes(self.parts, self.blocks).end
        self._columns()
        self._heights()
        self._set_blocks()
        self._set_cells()
        self._lead_far()
        boxes = self.placed.boxes.values()
        self.placed.width = (
            max([box.right for box in boxes] + [x for way in self.placed.routes.values() for x, _ in way])
            + MARGIN
        )
        self.placed.height = (
            max([box.bottom for box in boxes] + [y for way in self.placed.routes.values() for _, y in way])
            + MARGIN
        )
        return self.placed

    # columns and bands

    def _columns(self) -> None:
        """Place the columns: state rows with the edges beside them, and steps."""
        self.tracks: dict[tuple[int, bool], list[str]] = defaultdict(list)  # column, right → nets there
        self.nets: dict[str, list[int]] = defaultdict(list)
        for number, edge in self.parts.far:
            self._tracks_of(number, edge)
        widths: dict[int, float] = defaultdict(float)
        for place, block in self.blocks.items():
            widths[place[1]] = max(widths[place[1]], block.width)
        cells: dict[int, float] = defaultdict(float)
        for node in self.parts.nodes.values():
            if not (node.column or 0) % 2:
                cells[node.column or 0] = max(cells[node.column or 0], self.parts.sizes[node.id].width)
        used = {column for column, _ in self.tracks} | cells.keys()
        self.beside = {
            (column, right): self.room + TRACK * len(self.tracks[column, right])
            for column in used
            if not column % 2
            for right in (False, True)
        }
        for column in used:
            if not column % 2:
                widths[column] = cells[column] + self.beside[column, False] + self.beside[column, True]
        self.left = {column: x + MARGIN for column, x in running(widths, 0.0).items()}
        self.widths = widths

    def _tracks_of(self, number: int, edge: Edge) -> None:
        """Find the columns beside which an edge that passes a step runs up or down."""
        source, target = self.parts.node(edge.source), self.parts.node(edge.target)
        a, b = self.parts.at(source), self.parts.at(target)
        if self.parts.is_straight(source, target):
            return
        name = f"net {edge.source}" if a[1] % 2 == 0 else f"net {number}"
        self.nets[name].append(number)
        if not self.parts.drops(source, a):
            self._claim(self.parts.exit_of(a), name)
        if not (a[0] != b[0] and b[0] and b[1] % 2):
            self._claim(self.parts.entrance_of(b), f"{name} to {b[1] if b[1] % 2 else target.id}")

    def _claim(self, beside: tuple[int, bool], name: str) -> None:
        """Assign an edge its own track: no edge of the other band comes down there."""
        known = self.tracks[beside]
        if name not in known:
            known.append(name)

    def _track(self, beside: tuple[int, bool], name: str) -> float:
        """Return the position of an edge's track beside a column."""
        column, right = beside
        k = self.tracks[column, right].index(name)
        edge = self.left[column] + (self.widths[column] - self.beside[column, True] if right else 0.0)
        return edge + self.room / 2 + TRACK * k + TRACK / 2

    def _heights(self) -> None:
        """Place the bands, with room for the rails between them."""
        self.head = {
            band: max((b.top for p, b in self.blocks.items() if p[0] == band), default=0.0) for band in (0, 1)
        }
        self.head[0] += MARGIN
        end = {
            band: max(
                [block.end - block.top for place, block in self.blocks.items() if place[0] == band]
                + [self.lane_end.get(band, 0.0)]
            )
            for band in (0, 1)
        }
        self.rails_from = self.head[0] + end[0] + 2 * TRACK
        self.box_top = {0: self.head[0], 1: self.head[0]}  # of the lower band when the rails are counted

    # places

    def _set_blocks(self) -> None:
        self.shift = {
            place: self.left[place[1]] + (self.widths[place[1]] - block.width) / 2
            for place, block in self.blocks.items()
        }
        self._count_rails()
        for place, block in self.blocks.items():
            x, y = self.shift[place], self.box_top[place[0]] - block.top
            block.lead()
            for name, box in block.boxes.items():
                self.placed.boxes[name] = box.moved(x, y)
            cluster = self.parts.clusters.get(place)
            if cluster is not None:
                self.placed.boxes[cluster.id] = block.box().moved(x, y)
            inner = {number for number, _, _ in block.parts.inner}
            for number in inner & block.routes.keys():
                self.placed.routes[number] = [(a + x, b + y) for a, b in block.routes[number]]
        for cluster in self.parts.diagram.clusters:
            self.placed.boxes.setdefault(cluster.id, Box(MARGIN, MARGIN, 2 * MARGIN, 2 * MARGIN))

    def _count_rails(self) -> None:
        """Assign rails to nets, as few as avoid overlaps."""
        spans = {name: self._span(name) for name in self.nets}
        order = sorted(spans, key=lambda name: (self._rank(name), spans[name]))
        self.rail: dict[str, float] = {}
        rails: list[tuple[int, float]] = []  # rank, and to where it is taken
        for name in order:
            rank, (start, end) = self._rank(name), spans[name]
            k = next(
                (k for k, (of, taken) in enumerate(rails) if of == rank and taken + TRACK < start), len(rails)
            )
            rails[k : k + 1] = [(rank, end)]
            self.rail[name] = self.rails_from + TRACK * k
        below = self.rails_from + TRACK * len(rails) + 2 * TRACK
        self.box_top[1] = below + self.head[1] + PAD

    def _rank(self, name: str) -> int:
        bands = {self.parts.node(end).band or 0 for n in self.nets[name] for end in self._edge_ends(n)}
        return 1 if len(bands) > 1 else 2 * next(iter(bands))

    def _edge_ends(self, number: int) -> tuple[str, str]:
        edge = self.parts.diagram.edges[number]
        return edge.source, edge.target

    def _span(self, name: str) -> tuple[float, float]:
        across = [x for number in self.nets[name] for x in self._stations(name, number)]
        return min(across), max(across)

    def _stations(self, name: str, number: int) -> tuple[float, float]:
        """Return the positions at which an edge reaches and leaves its rail."""
        edge = self.parts.diagram.edges[number]
        source, target = self.parts.node(edge.source), self.parts.node(edge.target)
        a, b = self.parts.at(source), self.parts.at(target)
        if self.parts.drops(source, a):
            start = self.shift[a] + self.blocks[a].boxes[source.id].centre
        else:
            start = self._track(self.parts.exit_of(a), name)
        if a[0] != b[0] and b[0] and b[1] % 2:
            block = self.blocks[b]
            end = self.shift[b] + block.level.boxes[block.number[edge.source]].x + block.left
        else:
            end = self._track(self.parts.entrance_of(b), f"{name} to {b[1] if b[1] % 2 else target.id}")
        return start, end

    def _set_cells(self) -> None:
        """Place the rows of states between the steps."""
        for node in self.parts.nodes.values():
            lane = self.parts.lane(node)
            if lane is None:
                continue
            column, size = node.column or 0, self.parts.sizes[node.id]
            left, right = self.beside[column, False], self.beside[column, True]
            x = self.left[column] + left + (self.widths[column] - left - right - size.width) / 2
            box = Box(x, self.box_top[lane.band] + lane.y - size.height / 2, *size)
            self.placed.boxes[node.id] = box
            self.placed.boxes |= port_boxes(node, box)

    # lines

    def _lead_far(self) -> None:
        arrivals: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for number, edge in self.parts.far:
            target = self.parts.node(edge.target)
            if not (target.column or 0) % 2 and not self.parts.is_straight(
                self.parts.node(edge.source), target
            ):
                arrivals[target.id, True].append(str(number))
        for number, edge in self.parts.far:
            self.placed.routes[number] = list(self._way(number, edge, arrivals))

    def _way(self, number: int, edge: Edge, arrivals: dict[tuple[str, bool], list[str]]) -> Iterable[Point]:
        """Return the path of an edge that leaves its step."""
        source, target = self.parts.node(edge.source), self.parts.node(edge.target)
        a, b = self.parts.at(source), self.parts.at(target)
        first = self._leaving(number, source, a)
        last = self._reaching(number, target, b, edge, arrivals)
        if self.parts.is_straight(source, target):
            return joined([*first, *last])
        name = next(name for name, numbers in self.nets.items() if number in numbers)
        rail = self.rail[name]
        start, end = self._stations(name, number)
        return joined([*first, (start, first[-1][1]), (start, rail), (end, rail), (end, last[0][1]), *last])

    def _leaving(self, number: int, source: Node, place: Place) -> list[Point]:
        box = self.placed.boxes[source.id]
        if place[1] % 2 == 0:
            return [(box.x if place[0] else box.right, box.y + box.height / 2)]
        if self.parts.drops(source, place):
            return [(box.centre, box.bottom)]
        return self._inside(number, place)

    def _reaching(
        self, number: int, target: Node, place: Place, edge: Edge, arrivals: dict[tuple[str, bool], list[str]]
    ) -> list[Point]:
        box = self.placed.boxes[target.id]
        if place[1] % 2:
            return self._inside(number, place)
        straight = self.parts.is_straight(self.parts.node(edge.source), target)
        met = arrivals[target.id, True]
        offset = 0.0 if straight else _spread(met.index(str(number)), len(met), box.height)
        return [(box.right if place[0] else box.x, box.y + box.height / 2 + offset)]

    def _inside(self, number: int, place: Place) -> list[Point]:
        block = self.blocks[place]
        x, y = self.shift[place], self.box_top[place[0]] - block.top
        return [(p + x, q + y) for p, q in block.routes[number]]


def _spread(k: int, count: int, height: float) -> float:
    """Return the vertical offset of the k-th edge at a row: below its middle, then above."""
    room = min(CELL_SPREAD, (height / 2 - 3.0) / max(1, (count + 1) // 2))
    return room * (k // 2 + 1) * (1 if k % 2 == 0 else -1)
