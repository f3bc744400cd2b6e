"""A picture with positions, the result of a layout and the source of an SVG; and the sizes of labelled parts.

Lengths are in points, from the upper left down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, field

from scanviz.render.diagram.model import Cluster, Node, Port
from scanviz.render.labels import cluster_lines, node_lines, short, text_width

# The way of a line through its points: smooth from layer to layer, or straight with round corners.

BEND = 6.0  # radius of a corner
STRAIGHT = 0.5  # tolerance of a straight line


def is_straight(points: Sequence[Point]) -> bool:
    """Return whether a path has only straight segments.

    Examples
    --------
    >>> is_straight([(0, 0), (0, 9), (5, 9)]), is_straight([(0, 0), (5, 9)])
    (True, False)
    """
    return all(abs(a - x) < STRAIGHT or abs(b - y) < STRAIGHT for (x, y), (a, b) in pairwise(points))


def joined(points: Iterable[Point]) -> list[Point]:
    """Return a path without redundant points, but with two at least."""
    found: list[Point] = []
    for point in points:
        if found and abs(point[0] - found[-1][0]) < 0.01 and abs(point[1] - found[-1][1]) < 0.01:
            continue
        if len(found) > 1 and _in_line(found[-2], found[-1], point):
            found.pop()
        found.append(point)
    return found if len(found) > 1 else 2 * found


def _in_line(a: Point, b: Point, c: Point) -> bool:
    upright = abs(a[0] - b[0]) < 0.01 and abs(b[0] - c[0]) < 0.01
    level = abs(a[1] - b[1]) < 0.01 and abs(b[1] - c[1]) < 0.01
    return upright or level


def way_text(points: Sequence[Point]) -> str:
    """Return a path for SVG: round corners between straight segments, curves between vertical ones.

    Examples
    --------
    >>> way_text([(0, 0), (0, 20), (20, 20)])
    'M0.0 0.0L0.0 14.0Q0.0 20.0 6.0 20.0L20.0 20.0'
    """
    (x, y), *rest = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for k, (a, b) in enumerate(rest):
        if not is_straight([(x, y), (a, b)]):
            half = (y + b) / 2
            parts.append(f"C{x:.1f} {half:.1f} {a:.1f} {half:.1f} {a:.1f} {b:.1f}")
        elif k + 1 < len(rest) and is_straight(points[k + 1 : k + 3]):
            c, d = rest[k + 1]
            bend = min(BEND, (abs(a - x) + abs(b - y)) / 2, (abs(c - a) + abs(d - b)) / 2)
            parts.append(f"L{a - sign(a - x) * bend:.1f} {b - sign(b - y) * bend:.1f}")
            parts.append(f"Q{a:.1f} {b:.1f} {a + sign(c - a) * bend:.1f} {b + sign(d - b) * bend:.1f}")
        else:
            parts.append(f"L{a:.1f} {b:.1f}")
        x, y = a, b
    return "".join(parts)


def sign(value: float) -> float:
    """Return -1, 0 or 1: 0 for lengths that are invisible."""
    return 0.0 if abs(value) < STRAIGHT else 1.0 if value > 0 else -1.0


class Box(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> Box:
        """Return the box at another position."""
        return Box(self.x + x, self.y + y, self.width, self.height)

    @property
    def centre(self) -> float:
        """The horizontal centre."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width


Point = tuple[float, float]


class Placed(Struct):
    """Positions of everything drawn.

    Attributes
    ----------
    boxes : dict of str to Box
        Boxes of nodes, ports and clusters, by id.
    routes : dict of int to list of Point
        Paths of edges, by number in the picture.
    width, height : float
        Size of the whole.
    titles_left : bool
        Whether titles of loops stand at the left, over the lines that come from above.
    """

    boxes: dict[str, Box] = field(default_factory=dict)
    routes: dict[int, list[Point]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0
    titles_left: bool = False


LETTER, LINE = 11.0, 14.0  # size of all letters, the least that is read without effort, and height of a line
PAD = 7.0
HEAD = 20.0  # above the parts of an open loop
PORT_HEIGHT = 30.0
PORT_LONGEST = 24  # characters of a closed loop's port


class BoxSize(NamedTuple):
    """Width and height."""

    width: float
    height: float


def node_size(node: Node, types: bool) -> BoxSize:
    """Return the drawn size of a node.

    Examples
    --------
    >>> node_size(Node("a", "operation", "exp"), False).height
    22.0
    """
    lines = node_lines(node, types)
    widest = max(text_width(line, LETTER) for line in lines)
    height = LINE * len(lines) + 8.0
    if node.kind != "loop":
        return BoxSize(max(26.0, widest + 2 * PAD), height)
    rows = [ports_width(node, side) for side in ("in", "out")]
    return BoxSize(
        max(widest + 2 * PAD, *rows), height + (PORT_HEIGHT + 2.0) * sum(width > 0 for width in rows)
    )


def ports_width(node: Node, side: str) -> float:
    """Return the width of a closed loop's ports on one side."""
    return sum(port_width(port) + 4.0 for port in node.ports if port.side == side)


def port_width(port: Port) -> float:
    """Return the width of a closed loop's port."""
    return max(text_width(short(port.label, PORT_LONGEST), LETTER), text_width(port.kind, LETTER)) + 8.0


def port_boxes(node: Node, box: Box) -> dict[str, Box]:
    """Return the boxes of a closed loop's ports, at the upper and lower edge of its node."""
    found: dict[str, Box] = {}
    for side in ("in", "out"):
        x = box.x + (box.width - ports_width(node, side)) / 2 + 2.0
        for port in node.ports:
            if port.side == side:
                top = box.y if side == "in" else box.bottom - PORT_HEIGHT
                found[port.id] = Box(x, top, port_width(port), PORT_HEIGHT)
                x += port_width(port) + 4.0
    return found


def title_size(cluster: Cluster) -> BoxSize:
    """Return the size of an open loop's title."""
    lines = cluster_lines(cluster)
    widest = max(text_width(line, LETTER * 1.15 if k == 0 else LETTER) for k, line in enumerate(lines))
    return BoxSize(widest, HEAD - 4.0 + LINE * (len(lines) - 1))
