"""A picture with places: what a layout gives and an SVG is written from.  Lengths are in points, from the upper left down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Box:
        """Return it elsewhere."""
        return Box(self.x + x, self.y + y, self.width, self.height)

    @property
    def centre(self) -> float:
        """Its middle, from left to right."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width


Point = tuple[float, float]


@dataclass(slots=True)
class Placed:
    """Where everything is drawn.

    Attributes
    ----------
    boxes : dict of str to Box
        Of nodes, ports and clusters by id.
    routes : dict of int to list of Point
        Of edges, by their number in the picture.
    width, height : float
        Of the whole.
    """

    boxes: dict[str, Box] = field(default_factory=dict)
    routes: dict[int, list[Point]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0
