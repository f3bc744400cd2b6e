"""An SVG that scanviz made as PDF, in vectors and with its text as text, without Graphviz.

It knows what the SVGs of :mod:`scanviz.render.svg` and of Graphviz have: groups with transforms, rectangles, polygons, ways of
straight lines and curves, and text (ISO 32000-1, sections 8.4 to 8.5 for ways, 9.4 for text).  Another element is an error, not a
gap in the picture.  A unit of the SVG is a point of the PDF.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanviz.render import fonts
from scanviz.render.layout.placed import Point
from scanviz.render.pdf.file import File, embedded, number, said
from scanviz.render.pdf.ways import corners, path, rectangle

LARGEST = 14_400.0  # points that a page may be wide or high
_SHAPES = {"rect": rectangle, "polygon": corners, "polyline": corners, "path": path}
_SILENT = ("title", "style", "desc", "metadata")
_TRANSFORM = re.compile(r"(\w+)\(([^)]*)\)")
_COLOURS = {"black": "#000000", "white": "#ffffff"}
_PAINTED = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}


def to_pdf(svg: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return an SVG as PDF, and what could not be done.

    Raises
    ------
    ValueError
        If it has an element or a way of writing that this does not know.

    Examples
    --------
    >>> text = '<text x="2" y="12" font-size="11">step</text>'
    >>> data, notes = to_pdf(f'<svg viewBox="0 0 40 20">{text}</svg>'.encode())
    >>> data[:8], notes
    (b'%PDF-1.7', ())
    """
    root = ElementTree.fromstring(svg)
    left, top, width, height = map(float, root.get("viewBox", "").split())
    scale = min(1.0, LARGEST / max(width, height, 1.0))
    painter = _Painter((width, height))
    painter.lines.append(said(scale, 0, 0, -scale, -left * scale, (top + height) * scale, "cm"))
    painter.children(root, dict(root.attrib))
    lacking = sorted(text for text in set().union(*painter.letters.values()) if not fonts.covers(text))
    shown = f"the font of a pdf lacks {' '.join(lacking[:8])}; .svg and .png have every letter"
    return _file(painter, width * scale, height * scale), (shown,) if lacking else ()


def _file(painter: _Painter, width: float, height: float) -> bytes:
    file = File()
    catalogue, pages = file.reserved(), file.reserved()
    names = " ".join(
        f"/F{bold:d} {embedded(file, fonts.face(bold=bold), letters)} 0 R"
        for bold, letters in painter.letters.items()
        if letters
    )
    content = file.stream("", "\n".join(painter.lines).encode("ascii"))
    page = file.object(
        f"<< /Type /Page /Parent {pages} 0 R /MediaBox [0 0 {number(width)} {number(height)}]"
        f" /Resources << /Font << {names} >> >> /Contents {content} 0 R >>"
    )
    file.fill(pages, f"<< /Type /Pages /Kids [{page} 0 R] /Count 1 >>")
    file.fill(catalogue, f"<< /Type /Catalog /Pages {pages} 0 R >>")
    return file.data(catalogue)


@dataclass(slots=True)
class _Painter:
    """What a page says, line by line, and which letters it uses of each face: the usual one and the bold one."""

    page: Point
    lines: list[str] = field(default_factory=list)
    letters: dict[bool, set[str]] = field(default_factory=lambda: {False: set(), True: set()})

    def children(self, group: ElementTree.Element, given: dict[str, str]) -> None:
        """Paint what is in a group; ``given`` has what it inherits."""
        for element in group:
            match element.tag.rpartition("}")[2]:
                case "g" | "a":
                    self.lines += ["q", *_matrices(element.get("transform", ""))]
                    self.children(element, given | element.attrib)
                    self.lines.append("Q")
                case "text":
                    self.text(element, given)
                case name if name in _SHAPES:
                    self.shape(element, _SHAPES[name](element, self.page))
                case name if name not in _SILENT:
                    raise ValueError(f"a pdf cannot have <{name}>")

    def shape(self, element: ElementTree.Element, way: list[str]) -> None:
        """Fill and outline a way."""
        fill, line = _colour(element.get("fill", "black")), _colour(element.get("stroke", "none"))
        if fill:
            self.lines.append(f"{fill} rg")
        if line:
            thick = number(float(element.get("stroke-width", 1)))
            dashes = element.get("stroke-dasharray", "").replace(",", " ")
            self.lines.append(f"{line} RG {thick} w [{dashes}] 0 d")
        self.lines += [*way, _PAINTED[bool(fill), bool(line)]]

    def text(self, element: ElementTree.Element, given: dict[str, str]) -> None:
        """Write a line of text."""
        written = "".join(element.itertext())
        colour = _colour(element.get("fill", "black"))
        if not written or not colour:
            return
        given = given | element.attrib
        bold = given.get("font-weight") == "bold"
        face, size = fonts.face(bold=bold), float(given.get("font-size", 16))
        shift = {"middle": 0.5, "end": 1.0}.get(given.get("text-anchor", ""), 0.0)
        x = float(element.get("x", 0)) - face.width(written, size) * shift
        glyphs = "".join(f"{face.glyph(char):04X}" for char in written)
        self.letters[bold].update(written)
        matrix = said(1, 0, 0, -1, x, float(element.get("y", 0)), "Tm")
        self.lines.append(f"{colour} rg BT /F{bold:d} {number(size)} Tf {matrix} <{glyphs}> Tj ET")


def _colour(text: str) -> str:
    """Return a colour as a PDF writes it; empty if nothing is painted."""
    if text in ("none", "transparent"):
        return ""
    found = _COLOURS.get(text, text)
    if not re.fullmatch("#[0-9a-fA-F]{6}", found):
        raise ValueError(f"a pdf cannot have the colour {text!r}")
    return " ".join(number(int(found[k : k + 2], 16) / 255) for k in (1, 3, 5))


def _matrices(text: str) -> Iterator[str]:
    for name, given in _TRANSFORM.findall(text):
        match name, [float(word) for word in given.replace(",", " ").split()]:
            case "translate", [x, y]:
                yield said(1, 0, 0, 1, x, y, "cm")
            case "scale", [x, y]:
                yield said(x, 0, 0, y, 0, 0, "cm")
            case "rotate", [0.0]:
                pass
            case _:
                raise ValueError(f"a pdf cannot have the transform {name}({given})")
