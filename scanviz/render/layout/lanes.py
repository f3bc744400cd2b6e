"""Heights of states: each has a lane, at the height of what writes it, and lines that cross the sides of steps beside it."""

from __future__ import annotations

from collections import defaultdict

from scanviz.render.layout.step_block import TRACK, StepBlock
from scanviz.render.layout.time_parts import Lane, Place, TimeParts

LANE_GAP = 14.0  # between rows of two states


class Lanes:
    """Gives each state a height, and each line its place at the side of its step.

    Parameters
    ----------
    parts : TimeParts
        The picture.
    blocks : dict of Place to StepBlock
        Its steps, which are stretched where states need more room.

    Attributes
    ----------
    end : dict of int to float
        Where the lowest lane of a band ends, from the top of the steps' boxes.
    """

    def __init__(self, parts: TimeParts, blocks: dict[Place, StepBlock]) -> None:
        self.parts, self.blocks = parts, blocks
        self.end: dict[int, float] = {}
        self._choose_lanes()
        self._give_ports()

    def _choose_lanes(self) -> None:
        """Give each state a height: that of the operation that writes it, in back-propagation of the one that reads it."""
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
        """Return where a state's rows stand best."""
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
        """Return how many lines cross the border of one step next to the straight line of a state."""
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
        """Give each line its place at the side of its step."""
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
