"""Shapes of an SVG as ways of a PDF: where a way starts, its lines and curves, and where it closes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from scanviz.render.layout.placed import Point
from scanviz.render.pdf.file import said

_ROUND = 0.5523  # how far the handles of a quarter of a circle stand out, in radii
_PART = re.compile(r"[A-Za-z]|[-+]?[\d.]+(?:e[-+]?\d+)?")
_POINTS = {"M": 1, "L": 1, "C": 3, "Q": 2, "Z": 0}
_OPERATORS = {"M": "m", "L": "l", "C": "c", "Q": "c", "Z": "h"}


def rectangle(element: ElementTree.Element, page: Point) -> list[str]:
    """Return a rectangle, whose corners may be round and whose sides may be parts of the page."""
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    width, height = (
        _length(element.get(name, ""), whole) for name, whole in zip(("width", "height"), page, strict=True)
    )
    radius = min(float(element.get("rx", 0)), width / 2, height / 2)
    if radius <= 0:
        return [said(x, y, width, height, "re")]
    handle, right, bottom = radius * (1 - _ROUND), x + width, y + height
    return [
        said(x + radius, y, "m"),
        said(right - radius, y, "l"),
        said(right - handle, y, right, y + handle, right, y + radius, "c"),
        said(right, bottom - radius, "l"),
        said(right, bottom - handle, right - handle, bottom, right - radius, bottom, "c"),
        said(x + radius, bottom, "l"),
        said(x + handle, bottom, x, bottom - handle, x, bottom - radius, "c"),
        said(x, y + radius, "l"),
        said(x, y + handle, x + handle, y, x + radius, y, "c"),
        "h",
    ]


def corners(element: ElementTree.Element, page: Point) -> list[str]:
    """Return a polygon, or straight lines from point to point."""
    places = [float(word) for word in element.get("points", "").replace(",", " ").split()]
    lines = [said(places[k], places[k + 1], "l" if k else "m") for k in range(0, len(places), 2)]
    return [*lines, "h"] if element.tag.endswith("polygon") else lines


def path(element: ElementTree.Element, page: Point) -> list[str]:
    """Return a way of lines and curves."""
    lines = []
    here = (0.0, 0.0)
    for letter, given in _parts(element.get("d", "")):
        points = given
        if letter == "Q":  # a curve of one handle is one of two, each at two thirds of the way to it
            handle, end = given
            points = [_towards(here, handle), _towards(end, handle), end]
        lines.append(said(*(value for point in points for value in point), _OPERATORS[letter]))
        here = points[-1] if points else here
    return lines


def _parts(text: str) -> Iterator[tuple[str, list[Point]]]:
    """Yield the parts of a way: a letter and its points; points beyond what it takes are further parts of its kind."""
    words = _PART.findall(text)
    letter = ""
    while words:
        if words[0].isalpha():
            letter = words.pop(0)
            if letter not in _POINTS:
                raise ValueError(f"a pdf cannot have the way {letter} (of {', '.join(_POINTS)})")
        count = 2 * _POINTS[letter]
        values, words = [float(word) for word in words[:count]], words[count:]
        yield letter, list(zip(values[::2], values[1::2], strict=True))
        letter = "L" if letter == "M" else letter


def _towards(start: Point, handle: Point) -> Point:
    return start[0] + (handle[0] - start[0]) * 2 / 3, start[1] + (handle[1] - start[1]) * 2 / 3


def _length(text: str, whole: float) -> float:
    return float(text[:-1]) / 100 * whole if text.endswith("%") else float(text)
