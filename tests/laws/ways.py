"""Laws of lines: a drawn line keeps to its route, for any points."""

import re
from collections.abc import Sequence
from itertools import pairwise
from math import hypot

from hypothesis import strategies as st

from scanviz.render.layout.placed import BEND, STRAIGHT, Point, is_straight, way_text
from tests.laws.law import law

_NEARLY = st.floats(-STRAIGHT, STRAIGHT, exclude_min=True, exclude_max=True)
_FAR = st.floats(-90.0, 90.0)


@st.composite
def ways(draw: st.DrawFn) -> list[Point]:
    """Draw the points of a way: upright and level lines that need not be quite so, and others."""
    found = [(0.0, 0.0)]
    for across, down in draw(st.lists(st.tuples(_NEARLY | _FAR, _NEARLY | _FAR), min_size=1, max_size=7)):
        found.append((found[-1][0] + across, found[-1][1] + down))
    return found


@law(sample=60, points=ways())
def a_drawn_line_keeps_to_its_route(points: list[Point]) -> None:
    """Round corners and curves stay within a corner's radius of the route of a line."""
    way = list(pairwise(way_points(points, 60)))
    for x, y in _drawn(way_text(points)):
        nearest = min(_distance((x, y), a, b) for a, b in way)
        assert nearest <= BEND / 2, ((x, y), nearest, way_text(points))


def way_points(points: Sequence[Point], pieces: int = 12) -> list[Point]:
    """Return points on a way so close that what lies between them is straight."""
    found = list(points[:1])
    for (x, y), (a, b) in pairwise(points):
        if is_straight([(x, y), (a, b)]):
            found.append((a, b))
            continue
        for k in range(1, pieces + 1):
            t = k / pieces
            side, depth = t * t * (3 - 2 * t), 1.5 * t * (1 - t) + t**3  # the curve that way_text draws
            found.append((x + (a - x) * side, y + (b - y) * depth))
    return found


def _drawn(path: str) -> list[Point]:
    """Return points on the path of an SVG of upper-case commands."""
    found: list[Point] = []
    for command, text in re.findall(r"([MLQC])([^MLQC]*)", path):
        numbers = [float(word) for word in text.split()]
        knots = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "M":
            found.append(knots[0])
            continue
        curve = [found[-1], *knots]
        found += [curve_at(curve, (k + 1) / 10) for k in range(10)]
    return found


def curve_at(curve: list[Point], along: float) -> Point:
    """Return a point of a Bézier curve (de Casteljau's construction)."""
    while len(curve) > 1:
        curve = [(a[0] + along * (b[0] - a[0]), a[1] + along * (b[1] - a[1])) for a, b in pairwise(curve)]
    return curve[0]


def _distance(point: Point, a: Point, b: Point) -> float:
    """Return how far a point is from a straight line between two others."""
    across, down = b[0] - a[0], b[1] - a[1]
    length = across * across + down * down
    along = 0.0 if not length else ((point[0] - a[0]) * across + (point[1] - a[1]) * down) / length
    along = max(0.0, min(1.0, along))
    return hypot(point[0] - a[0] - along * across, point[1] - a[1] - along * down)
