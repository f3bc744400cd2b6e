"""The layout of pictures in which time goes from left to right: steps in a row, what they hand on between them.

A loop's steps stand in one band and those of its back-propagation in a band below, each under the step that it belongs to.  Between
two steps stand the rows of states, those of one state at one height, so that a state flows along a line.  A line that passes a step
runs on a rail between the bands, and up or down beside the rows.  Nothing stands where lines run: they cross lines alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.layout.level import running
from scanviz.render.layout.placed import Box, BoxSize, Placed, Point, node_size, port_boxes, title_size
from scanviz.render.layout.step_block import PAD, TRACK, Crossing, StepBlock, StepParts

MARGIN = 14.0
LANE_GAP = 14.0  # between rows of two states
BESIDE = 22.0  # between a step and the lines beside it
CELL_SPREAD = 8.0  # between lines that reach a row

Place = tuple[int, int]  # band, column


@dataclass(slots=True)
class Lane:
    """The height of a state.

    Attributes
    ----------
    band, row : int
        Which.
    wanted : float
        Where its rows stand best, from the top of the steps' boxes.
    ports : int
        Lines beside the straight one that cross a step's border next to it.
    y : float
        Where they stand, from there.
    """

    band: int
    row: int
    wanted: float = 0.0
    ports: int = 0
    y: float = 0.0


@dataclass(slots=True)
class Net:
    """One value on rails: from where it leaves a row (or a step) to all the places where it goes on.

    Attributes
    ----------
    rank : int
        0 for what stays in the upper band, 1 for what goes to the lower one, 2 for what stays there.
    start : Point
        Where its vertical line reaches the rails' height: the place across, and the height that it comes from.
    drops : list of (float, float)
        Where it leaves the rail: the place across, and the height that it goes to.
    """

    rank: int
    start: Point
    drops: list[tuple[float, float]] = field(default_factory=list)

    @property
    def span(self) -> tuple[float, float]:
        """From where to where the rail runs."""
        across = [self.start[0], *(x for x, _ in self.drops)]
        return min(across), max(across)


def has_time(diagram: Diagram) -> bool:
    """Return whether all nodes of a picture have a place in time."""
    return bool(diagram.nodes) and all(
        node.band is not None and node.column is not None and node.row is not None for node in diagram.nodes
    )


def timeline(diagram: Diagram, types: bool = False) -> Placed:
    """Return where everything of a picture with time is drawn.

    Examples
    --------
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
    return _Timeline(diagram, types).whole()


class _Timeline:
    """Lays out one picture."""

    def __init__(self, diagram: Diagram, types: bool) -> None:
        self.diagram, self.types = diagram, types
        self.nodes = {node.id: node for node in diagram.nodes}
        self.owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
        self.sizes = {node.id: node_size(node, types) for node in diagram.nodes}
        self.placed = Placed()
        self.clusters = {self._place_of(cluster): cluster for cluster in diagram.clusters}
        self.parts: dict[Place, StepParts] = {}
        self.crossings: dict[Place, dict[str, Crossing]] = defaultdict(dict)
        self.lanes: dict[tuple[int, int], Lane] = {}
        for node in diagram.nodes:
            self._sort(node)
        self.far: list[tuple[int, Edge]] = []  # edges that leave a step or enter it
        for number, edge in enumerate(diagram.edges):
            self._edge(number, edge)

    def _place_of(self, cluster: Cluster) -> Place:
        found = next((node for node in self.diagram.nodes if node.cluster == cluster.id), None)
        return self._at(found) if found is not None else (0, -1)

    @staticmethod
    def _at(node: Node) -> Place:
        return node.band or 0, node.column or 0

    def _node(self, end: str) -> Node:
        return self.nodes[self.owner.get(end, end)]

    def _sort(self, node: Node) -> None:
        band, column = self._at(node)
        if column % 2:
            parts = self.parts.setdefault((band, column), StepParts([], self.sizes, self.owner))
            parts.nodes.append(node)
        else:
            self.lanes.setdefault((band, node.row or 0), Lane(band, node.row or 0))

    def _edge(self, number: int, edge: Edge) -> None:
        """Sort an edge: inside a step, through its side, or from above."""
        known = self.nodes.keys() | self.owner.keys()
        if edge.source not in known or edge.target not in known:
            return
        source, target = self._node(edge.source), self._node(edge.target)
        a, b = self._at(source), self._at(target)
        if a == b and a[1] % 2:
            self.parts[a].inner.append((number, edge.source, edge.target))
            return
        self.far.append((number, edge))
        if b[1] % 2:
            if a[0] != b[0] and b[0]:
                self.parts[b].from_above.setdefault(edge.source, []).append((number, edge.target))
            else:
                crossing = self.crossings[b].setdefault(f"read {edge.source}", Crossing([], True))
                crossing.ends.append((number, target.id, edge.target))
        if a[1] % 2 and not self._leaves_below(source, a):
            name = f"write {edge.target}/{edge.source}"
            crossing = self.crossings[a].setdefault(name, Crossing([], False))
            crossing.ends.append((number, source.id, edge.source))

    def _leaves_below(self, node: Node, place: Place) -> bool:
        """Return whether lines from a node can go straight down out of its block: it stands below the box, in the upper band."""
        return node.cluster is None and not place[0]

    def whole(self) -> Placed:
        """Lay out everything."""
        self.blocks = {
            place: StepBlock(parts, self._title(place), self.crossings[place], not place[0])
            for place, parts in self.parts.items()
        }
        self._choose_lanes()
        self._give_ports()
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

    def _title(self, place: Place) -> BoxSize:
        cluster = self.clusters.get(place)
        return title_size(cluster) if cluster is not None else BoxSize(0.0, 0.0)

    # heights of states

    def _choose_lanes(self) -> None:
        """Give each state a height: that of the operation that writes it, in back-propagation of the one that reads it."""
        for band in (0, 1):
            self._lanes_of(band, [lane for lane in self.lanes.values() if lane.band == band])

    def _lanes_of(self, band: int, lanes: list[Lane]) -> None:
        blocks = [block for place, block in self.blocks.items() if place[0] == band]
        top = max((block.sides[0] - block.top for block in blocks), default=0.0)
        for lane in lanes:
            lane.wanted = max(top + 11.0, self._wanted(lane))
        lanes.sort(key=lambda lane: (lane.wanted, lane.row))
        floor = top + 11.0
        for lane in lanes:
            lane.ports = self._ports_beside(lane)
            lane.y = max(lane.wanted, floor)
            floor = lane.y + 22.0 + max(LANE_GAP, TRACK * (lane.ports + 1))
        self.lane_end = getattr(self, "lane_end", {}) | {
            band: max((lane.y + 11.0 + TRACK * lane.ports for lane in lanes), default=0.0)
        }

    def _wanted(self, lane: Lane) -> float:
        """Return where a state's rows stand best."""
        for reads in (lane.band == 1, lane.band == 0):
            for _, edge in self.far:
                cell, other = (edge.source, edge.target) if reads else (edge.target, edge.source)
                row, step = self._node(cell), self._node(other)
                block = self.blocks.get(self._at(step))
                if self._lane(row) is lane and block is not None and step.band == lane.band:
                    box = block.boxes[step.id]
                    return box.y + box.height / 2 - block.top
        return 0.0

    def _lane(self, node: Node) -> Lane | None:
        return self.lanes.get((node.band or 0, node.row or 0)) if not (node.column or 0) % 2 else None

    def _ports_beside(self, lane: Lane) -> int:
        """Return how many lines cross the border of one step next to the straight line of a state."""
        return max((len(names) for names in self._beside(lane).values()), default=0)

    def _beside(self, lane: Lane) -> dict[Place, list[str]]:
        found: dict[Place, list[str]] = defaultdict(list)
        for place, crossings in self.crossings.items():
            for name, crossing in crossings.items():
                cell = self._cell_of(name, crossing)
                if cell is not None and self._lane(cell) is lane and not self._is_next(place, crossing, cell):
                    found[place].append(name)
        return found

    def _cell_of(self, name: str, crossing: Crossing) -> Node | None:
        """Return the node at the other end of a line through a side."""
        edge = self.diagram.edges[crossing.ends[0][0]]
        node = self._node(edge.source if crossing.reads else edge.target)
        return node if not (node.column or 0) % 2 else None

    @staticmethod
    def _is_next(place: Place, crossing: Crossing, cell: Node) -> bool:
        """Return whether a row stands right beside a step, where a straight line leads."""
        band, column = place
        forward = (not crossing.reads) == (band == 0)
        return cell.band == band and cell.column == column + (1 if forward else -1)

    def _give_ports(self) -> None:
        """Give each line its place at the side of its step."""
        for lane in self.lanes.values():
            beside = self._beside(lane)
            for place, crossings in self.crossings.items():
                for name, crossing in crossings.items():
                    cell = self._cell_of(name, crossing)
                    if cell is None or self._lane(cell) is not lane:
                        continue
                    k = beside[place].index(name) + 1 if name in beside[place] else 0
                    crossing.port = lane.y + (11.0 if k else 0.0) + TRACK * k + self.blocks[place].top
        for place, block in self.blocks.items():
            loose = [c for n, c in self.crossings[place].items() if self._cell_of(n, c) is None]
            lowest = block.top + self.lane_end.get(place[0], 0.0)
            for k, crossing in enumerate(loose):
                crossing.port = max(lowest, block.sides[1]) + TRACK * (k + 1)
        for band in (0, 1):
            here = [block for place, block in self.blocks.items() if place[0] == band]
            ports = [
                crossing.port - self.blocks[place].top
                for place, found in self.crossings.items()
                if place[0] == band and place in self.blocks
                for crossing in found.values()
            ]
            end = max(
                [block.sides[1] - block.top for block in here] + [port + 4.0 for port in ports], default=0.0
            )
            for block in here:
                block.stretch(block.top + end)

    # columns and bands

    def _columns(self) -> None:
        """Give columns their places: rows of states with the lines beside them, and steps."""
        self.tracks: dict[tuple[int, int, bool], list[str]] = defaultdict(
            list
        )  # band, column, right → nets there
        self.nets: dict[str, list[int]] = defaultdict(list)
        for number, edge in self.far:
            self._tracks_of(number, edge)
        widths: dict[int, float] = defaultdict(float)
        for place, block in self.blocks.items():
            widths[place[1]] = max(widths[place[1]], block.width)
        cells: dict[int, float] = defaultdict(float)
        for node in self.nodes.values():
            if not (node.column or 0) % 2:
                cells[node.column or 0] = max(cells[node.column or 0], self.sizes[node.id].width)
        used = {column for _, column, _ in self.tracks} | cells.keys()
        self.beside = {
            (column, right): BESIDE + TRACK * max(len(self.tracks[band, column, right]) for band in (0, 1))
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
        """Note beside which columns an edge that passes a step runs up or down."""
        source, target = self._node(edge.source), self._node(edge.target)
        a, b = self._at(source), self._at(target)
        if self._is_straight(source, target):
            return
        name = f"net {edge.source}" if a[1] % 2 == 0 else f"net {number}"
        self.nets[name].append(number)
        if not self._drops(source, a):
            self._claim(a[0], self._exit(a), name)
        if not (a[0] != b[0] and b[0] and b[1] % 2):
            self._claim(b[0], self._entrance(b), f"{name} to {b[1] if b[1] % 2 else target.id}")

    def _drops(self, source: Node, place: Place) -> bool:
        return bool(place[1] % 2) and self._leaves_below(source, place)

    @staticmethod
    def _exit(place: Place) -> tuple[int, bool]:
        """Return beside which column, and on which of its sides, a line from there runs: where time goes on."""
        band, column = place
        if column % 2 == 0:
            return column, not band
        return (column - 1, True) if band else (column + 1, False)

    @staticmethod
    def _entrance(place: Place) -> tuple[int, bool]:
        """Return the same of where a line to there runs: where time comes from."""
        band, column = place
        if column % 2 == 0:
            return column, bool(band)
        return (column + 1, False) if band else (column - 1, True)

    def _claim(self, band: int, beside: tuple[int, bool], name: str) -> None:
        known = self.tracks[band, *beside]
        if name not in known:
            known.append(name)

    def _track(self, band: int, beside: tuple[int, bool], name: str) -> float:
        """Return where a line runs beside a column."""
        column, right = beside
        k = self.tracks[band, column, right].index(name)
        edge = self.left[column] + (self.widths[column] - self.beside[column, True] if right else 0.0)
        return edge + BESIDE / 2 + TRACK * k + TRACK / 2

    def _is_straight(self, source: Node, target: Node) -> bool:
        a, b = self._at(source), self._at(target)
        if a[0] != b[0] or (a[1] + b[1]) % 2 == 0:
            return False
        return b[1] - a[1] == (-1 if a[0] else 1)

    def _heights(self) -> None:
        """Give bands their places, with room for the rails between them."""
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
            cluster = self.clusters.get(place)
            if cluster is not None:
                self.placed.boxes[cluster.id] = block.box().moved(x, y)
            inner = {number for number, _, _ in block.parts.inner}
            for number in inner & block.routes.keys():
                self.placed.routes[number] = [(a + x, b + y) for a, b in block.routes[number]]
        for cluster in self.diagram.clusters:
            self.placed.boxes.setdefault(cluster.id, Box(MARGIN, MARGIN, 2 * MARGIN, 2 * MARGIN))

    def _count_rails(self) -> None:
        """Give each net its rail: as few as let no two meet."""
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
        bands = {self._node(end).band or 0 for n in self.nets[name] for end in self._edge_ends(n)}
        return 1 if len(bands) > 1 else 2 * next(iter(bands))

    def _edge_ends(self, number: int) -> tuple[str, str]:
        edge = self.diagram.edges[number]
        return edge.source, edge.target

    def _span(self, name: str) -> tuple[float, float]:
        across = [x for number in self.nets[name] for x in self._stations(name, number)]
        return min(across), max(across)

    def _stations(self, name: str, number: int) -> tuple[float, float]:
        """Return where an edge comes to its rail and where it leaves it, across."""
        edge = self.diagram.edges[number]
        source, target = self._node(edge.source), self._node(edge.target)
        a, b = self._at(source), self._at(target)
        if self._drops(source, a):
            start = self.shift[a] + self.blocks[a].boxes[source.id].centre
        else:
            start = self._track(a[0], self._exit(a), name)
        if a[0] != b[0] and b[0] and b[1] % 2:
            block = self.blocks[b]
            end = self.shift[b] + block.level.boxes[block.number[edge.source]].x + block.left
        else:
            end = self._track(b[0], self._entrance(b), f"{name} to {b[1] if b[1] % 2 else target.id}")
        return start, end

    def _set_cells(self) -> None:
        """Put the rows of states between the steps."""
        for node in self.nodes.values():
            lane = self._lane(node)
            if lane is None:
                continue
            column, size = node.column or 0, self.sizes[node.id]
            left, right = self.beside[column, False], self.beside[column, True]
            x = self.left[column] + left + (self.widths[column] - left - right - size.width) / 2
            box = Box(x, self.box_top[lane.band] + lane.y - size.height / 2, *size)
            self.placed.boxes[node.id] = box
            self.placed.boxes |= port_boxes(node, box)

    # lines

    def _lead_far(self) -> None:
        arrivals: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for number, edge in self.far:
            target = self._node(edge.target)
            if not (target.column or 0) % 2 and not self._is_straight(self._node(edge.source), target):
                arrivals[target.id, True].append(str(number))
        for number, edge in self.far:
            self.placed.routes[number] = list(self._way(number, edge, arrivals))

    def _way(self, number: int, edge: Edge, arrivals: dict[tuple[str, bool], list[str]]) -> Iterable[Point]:
        """Return the way of an edge that leaves its step."""
        source, target = self._node(edge.source), self._node(edge.target)
        a, b = self._at(source), self._at(target)
        first = self._leaving(number, source, a)
        last = self._reaching(number, target, b, edge, arrivals)
        if self._is_straight(source, target):
            return _joined([*first, *last])
        name = next(name for name, numbers in self.nets.items() if number in numbers)
        rail = self.rail[name]
        start, end = self._stations(name, number)
        return _joined([*first, (start, first[-1][1]), (start, rail), (end, rail), (end, last[0][1]), *last])

    def _leaving(self, number: int, source: Node, place: Place) -> list[Point]:
        box = self.placed.boxes[source.id]
        if place[1] % 2 == 0:
            return [(box.x if place[0] else box.right, box.y + box.height / 2)]
        if self._drops(source, place):
            return [(box.centre, box.bottom)]
        return self._inside(number, place)

    def _reaching(
        self, number: int, target: Node, place: Place, edge: Edge, arrivals: dict[tuple[str, bool], list[str]]
    ) -> list[Point]:
        box = self.placed.boxes[target.id]
        if place[1] % 2:
            return self._inside(number, place)
        straight = self._is_straight(self._node(edge.source), target)
        met = arrivals[target.id, True]
        offset = 0.0 if straight else _spread(met.index(str(number)), len(met), box.height)
        return [(box.right if place[0] else box.x, box.y + box.height / 2 + offset)]

    def _inside(self, number: int, place: Place) -> list[Point]:
        block = self.blocks[place]
        x, y = self.shift[place], self.box_top[place[0]] - block.top
        return [(p + x, q + y) for p, q in block.routes[number]]


def _spread(k: int, count: int, height: float) -> float:
    """Return how far from the middle of a row the k-th of so many lines reaches it: below it, then above it."""
    room = min(CELL_SPREAD, (height / 2 - 3.0) / max(1, (count + 1) // 2))
    return room * (k // 2 + 1) * (1 if k % 2 == 0 else -1)


def _joined(points: Iterable[Point]) -> list[Point]:
    """Return a way without points that add nothing to it."""
    found: list[Point] = []
    for point in points:
        if found and abs(point[0] - found[-1][0]) < 0.01 and abs(point[1] - found[-1][1]) < 0.01:
            continue
        if len(found) > 1 and _in_line(found[-2], found[-1], point):
            found.pop()
        found.append(point)
    return found


def _in_line(a: Point, b: Point, c: Point) -> bool:
    upright = abs(a[0] - b[0]) < 0.01 and abs(b[0] - c[0]) < 0.01
    level = abs(a[1] - b[1]) < 0.01 and abs(b[1] - c[1]) < 0.01
    return upright or level
