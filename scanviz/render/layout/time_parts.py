"""Parts of a picture with time: nodes of each step, edges through its sides, and the states between steps."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.layout.placed import BoxSize, node_size, title_size
from scanviz.render.layout.step_block import TRACK, Crossing, StepBlock, StepParts

Place = tuple[int, int]  # band, column


class Lane(Struct):
    """The height of a state.

    Attributes
    ----------
    band, row : int
        Band and row of the state.
    wanted : float
        Best height of its rows, from the top of the steps' boxes.
    ports : int
        Lines beside the straight one that cross a step's border next to it.
    y : float
        Actual height of its rows, from there.
    """

    band: int
    row: int
    wanted: float = 0.0
    ports: int = 0
    y: float = 0.0


def has_time(diagram: Diagram) -> bool:
    """Return whether all nodes of a picture have a time."""
    return bool(diagram.nodes) and all(
        node.band is not None and node.column is not None and node.row is not None for node in diagram.nodes
    )


class TimeParts:
    """The parts of one picture.

    Parameters
    ----------
    diagram : Diagram
        All of whose nodes have a place in time.
    types : bool
        Whether dtypes and shapes are written on nodes.
    """

    def __init__(self, diagram: Diagram, types: bool) -> None:
        self.diagram, self.types = diagram, types
        self.nodes = {node.id: node for node in diagram.nodes}
        self.owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
        self.sizes = {node.id: node_size(node, types) for node in diagram.nodes}
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
        return self.at(found) if found is not None else (0, -1)

    @staticmethod
    def at(node: Node) -> Place:
        """Return the band and the column of a node."""
        return node.band or 0, node.column or 0

    def node(self, end: str) -> Node:
        """Return the node of an edge's end, which may be a port of it."""
        return self.nodes[self.owner.get(end, end)]

    def _sort(self, node: Node) -> None:
        band, column = self.at(node)
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
        source, target = self.node(edge.source), self.node(edge.target)
        a, b = self.at(source), self.at(target)
        if a == b and a[1] % 2:
            self.parts[a].inner.append((number, edge.source, edge.target))
            return
        self.far.append((number, edge))
        if b[1] % 2:
            if a[0] != b[0] and b[0]:
                self.parts[b].from_above.setdefault(edge.source, []).append((number, edge.target))
            else:
                crossing = self.crossings[b].setdefault(
                    f"read {edge.source}", Crossing([], True, self.is_straight(source, target))
                )
                crossing.ends.append((number, target.id, edge.target))
        if a[1] % 2 and not self._leaves_below(source, a):
            name = f"write {edge.target}/{edge.source}"
            crossing = self.crossings[a].setdefault(
                name, Crossing([], False, self.is_straight(source, target))
            )
            crossing.ends.append((number, source.id, edge.source))

    def _leaves_below(self, node: Node, place: Place) -> bool:
        """Return whether edges may leave a node straight down: it stands below the box, in the upper band."""
        return node.cluster is None and not place[0]

    def title(self, place: Place) -> BoxSize:
        """Return the size of a step's title."""
        cluster = self.clusters.get(place)
        return title_size(cluster) if cluster is not None else BoxSize(0.0, 0.0)

    def lane(self, node: Node) -> Lane | None:
        """Return the lane of a state's row; None for a node of a step."""
        return self.lanes.get((node.band or 0, node.row or 0)) if not (node.column or 0) % 2 else None

    def cell_of(self, name: str, crossing: Crossing) -> Node | None:
        """Return the node at the other end of an edge through a side."""
        edge = self.diagram.edges[crossing.ends[0][0]]
        node = self.node(edge.source if crossing.reads else edge.target)
        return node if not (node.column or 0) % 2 else None

    @staticmethod
    def is_next(place: Place, crossing: Crossing, cell: Node) -> bool:
        """Return whether a row is directly beside a step, joined by a straight edge."""
        band, column = place
        forward = (not crossing.reads) == (band == 0)
        return cell.band == band and cell.column == column + (1 if forward else -1)

    def drops(self, source: Node, place: Place) -> bool:
        """Return whether edges from a node go straight down to the rails."""
        return bool(place[1] % 2) and self._leaves_below(source, place)

    @staticmethod
    def exit_of(place: Place) -> tuple[int, bool]:
        """Return the column, and the side of it, where an edge leaves a place: forwards in time."""
        band, column = place
        if column % 2 == 0:
            return column, not band
        return (column - 1, True) if band else (column + 1, False)

    @staticmethod
    def entrance_of(place: Place) -> tuple[int, bool]:
        """Return the column, and the side of it, where an edge reaches a place: from earlier in time."""
        band, column = place
        if column % 2 == 0:
            return column, bool(band)
        return (column + 1, False) if band else (column - 1, True)

    def is_straight(self, source: Node, target: Node) -> bool:
        """Return whether a row and a step are adjacent in the direction of time."""
        a, b = self.at(source), self.at(target)
        if a[0] != b[0] or (a[1] + b[1]) % 2 == 0:
            return False
        return b[1] - a[1] == (-1 if a[0] else 1)


LANE_GAP = 14.0  # between rows of two states


class Lanes:
    """Assigns heights to states, and places at the sides of steps to edges.

    Parameters
    ----------
    parts : TimeParts
        The picture.
    blocks : dict of Place to StepBlock
        Its steps, which are stretched where states need more room.

    Attributes
    ----------
    end : dict of int to float
        End of the lowest lane of a band, from the top of the steps' boxes.
    """

    def __init__(self, parts: TimeParts, blocks: dict[Place, StepBlock]) -> None:
        self.parts, self.blocks = parts, blocks
        self.end: dict[int, float] = {}
        self._choose_lanes()
        self._give_ports()

    def _choose_lanes(self) -> None:
        """Assign to each state the height of the operation that writes it; in back-propagation, of its reader."""
        for band in (0, 1):
            self._lanes_of(band, [lane for lane in self.parts.lanes.values() if lane.band == band])

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
        self.end[band] = max((lane.y + 11.0 + TRACK * lane.ports for lane in lanes), default=0.0)

    def _wanted(self, lane: Lane) -> float:
        """Return the best height for a state's rows."""
        for reads in (lane.band == 1, lane.band == 0):
            for _, edge in self.parts.far:
                cell, other = (edge.source, edge.target) if reads else (edge.target, edge.source)
                row, step = self.parts.node(cell), self.parts.node(other)
                block = self.blocks.get(self.parts.at(step))
                if self.parts.lane(row) is lane and block is not None and step.band == lane.band:
                    box = block.boxes[step.id]
                    return box.y + box.height / 2 - block.top
        return 0.0

    def _ports_beside(self, lane: Lane) -> int:
        """Return the number of edges that cross a step's border next to the straight edge of a state."""
        return max((len(names) for names in self._beside(lane).values()), default=0)

    def _beside(self, lane: Lane) -> dict[Place, list[str]]:
        found: dict[Place, list[str]] = defaultdict(list)
        for place, crossings in self.parts.crossings.items():
            for name, crossing in crossings.items():
                cell = self.parts.cell_of(name, crossing)
                if (
                    cell is not None
                    and self.parts.lane(cell) is lane
                    and not self.parts.is_next(place, crossing, cell)
                ):
                    found[place].append(name)
        return found

    def _give_ports(self) -> None:
        """Assign each edge its place at the side of its step."""
        for lane in self.parts.lanes.values():
            beside = self._beside(lane)
            for place, crossings in self.parts.crossings.items():
                for name, crossing in crossings.items():
                    cell = self.parts.cell_of(name, crossing)
                    if cell is None or self.parts.lane(cell) is not lane:
                        continue
                    k = beside[place].index(name) + 1 if name in beside[place] else 0
                    crossing.port = lane.y + (11.0 if k else 0.0) + TRACK * k + self.blocks[place].top
        for place, block in self.blocks.items():
            loose = [c for n, c in self.parts.crossings[place].items() if self.parts.cell_of(n, c) is None]
            lowest = block.top + self.end.get(place[0], 0.0)
            for k, crossing in enumerate(loose):
                crossing.port = max(lowest, block.sides[1]) + TRACK * (k + 1)
        for band in (0, 1):
            here = [block for place, block in self.blocks.items() if place[0] == band]
            ports = [
                crossing.port - self.blocks[place].top
                for place, found in self.parts.crossings.items()
                if place[0] == band and place in self.blocks
                for crossing in found.values()
            ]
            end = max(
                [block.sides[1] - block.top for block in here] + [port + 4.0 for port in ports], default=0.0
            )
            for block in here:
                block.stretch(block.top + end)
