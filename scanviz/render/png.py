"""An SVG that scanviz made as PNG, through resvg, in scanviz's own font.

System fonts supply only letters that this font lacks, so a picture is the same on every machine.
"""

from __future__ import annotations

import contextlib
import re
import xml.etree.ElementTree as ElementTree
from importlib import resources

from scanviz.render import fonts

SCALE = 2.0  # pixels a unit
DPI = 96.0  # of lengths in points, which Graphviz writes
LARGEST = 32_000_000  # pixels: 128 MB while it is drawn
_LENGTH = re.compile(r"([\d.]+)(pt|px)?")


def to_png(svg: bytes, scale: float = SCALE) -> tuple[bytes, tuple[str, ...]]:
    r"""Return an SVG as PNG with so many pixels a unit, and what was not done as usual.

    Examples
    --------
    >>> data, notes = to_png(b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="5"/>')
    >>> data[:4], int.from_bytes(data[16:20]), notes
    (b'\x89PNG', 16, ())
    """
    import resvg_py

    root = ElementTree.fromstring(svg)
    pixels = _pixels(root.get("width", "")) * _pixels(root.get("height", ""))
    zoom = min(scale, (LARGEST / max(pixels, 1.0)) ** 0.5)
    for element in root.iter():
        if "font-family" in element.attrib:
            element.set("font-family", fonts.FAMILY)
    with contextlib.ExitStack() as stack:
        places = [str(stack.enter_context(resources.as_file(file))) for file in fonts.files()]
        data = resvg_py.svg_to_bytes(
            svg_string=ElementTree.tostring(root, encoding="unicode"),
            zoom=zoom,
            dpi=DPI,
            font_files=places,
        )
    small = f"drawn at {zoom / scale:.0%} of its size, for a PNG of {LARGEST // 10**6} million pixels; .svg has it whole"
    return data, () if zoom == scale else (small,)


def _pixels(length: str) -> float:
    """Return a length of an SVG in pixels before they are scaled."""
    found = _LENGTH.fullmatch(length)
    if found is None:
        raise ValueError(f"the SVG has no size: {length!r}")
    return float(found[1]) * (DPI / 72 if found[2] == "pt" else 1.0)
