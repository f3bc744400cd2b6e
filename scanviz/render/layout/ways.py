"""The way of a line through its points: smooth from layer to layer, or straight with round corners."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from scanviz.render.layout.placed import Point

BEND = 6.0  # radius of a corner
STRAIGHT = 0.5  # what a straight line may be off by


def is_straight(points: Sequence[Point]) -> bool:
    """Return whether a way runs along straight lines alone, with corners.

    Examples
    --------
    >>> is_straight([(0, 0), (0, 9), (5, 9)]), is_straight([(0, 0), (5, 9)])
    (True, False)
    """
    return all(abs(a - x) < STRAIGHT or abs(b - y) < STRAIGHT for (x, y), (a, b) in pairwise(points))


def way_text(points: Sequence[Point]) -> str:
    """Return a way as the path of an SVG: round corners between straight lines, a curve from one upright line to another.

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


def way_points(points: Sequence[Point], pieces: int = 12) -> list[Point]:
    """Return points on a way so close that what lies between them is straight.

    Examples
    --------
    >>> way_points([(0, 0), (0, 9)]), len(way_points([(0, 0), (5, 9)]))
    ([(0, 0), (0, 9)], 13)
    """
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


def sign(value: float) -> float:
    """Return -1, 0 or 1: 0 for what is so short that a line with it is straight."""
    return 0.0 if abs(value) < STRAIGHT else 1.0 if value > 0 else -1.0
