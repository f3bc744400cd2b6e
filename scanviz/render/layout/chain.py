"""The chain of engines."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from importlib import resources

from msgspec import Struct
from msgspec.structs import replace

from scanviz.render import fonts
from scanviz.render.colours import darkened, style_sheet
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.model import Diagram
from scanviz.render.diagram.summary import summarised
from scanviz.render.dot import to_dot
from scanviz.render.labels import element_id
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import Box, Placed, node_size, port_boxes
from scanviz.render.layout.time_parts import has_time
from scanviz.render.marks import marked
from scanviz.render.svg import to_svg

# An SVG that scanviz made as PNG, through resvg, in scanviz's own font.
#
# System fonts supply only letters that this font lacks, so a picture is the same on every machine.

SCALE = 2.0  # pixels a unit
DPI = 96.0  # of lengths in points, which Graphviz writes
MOST_PIXELS = 32_000_000  # pixels: 128 MB while it is drawn
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
    zoom = min(scale, (MOST_PIXELS / max(pixels, 1.0)) ** 0.5)
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
    small = f"drawn at {zoom / scale:.0%} of its size, for a PNG of {MOST_PIXELS // 10**6} million pixels; .svg has it whole"
    return data, () if zoom == scale else (small,)


def _pixels(length: str) -> float:
    """Return a length of an SVG in pixels before they are scaled."""
    found = _LENGTH.fullmatch(length)
    if found is None:
        raise ValueError(f"the SVG has no size: {length!r}")
    return float(found[1]) * (DPI / 72 if found[2] == "pt" else 1.0)


ENGINES = ("dot", "own")
NAMES = {
    "dot": "Graphviz dot",
    "own": "scanviz's own layout",
    "rows": "plain rows",
}
FORMATS = ("svg", "png", "pdf", "dot")
LARGEST = 400  # nodes that anybody reads
LARGEST_IN_TIME = 1600  # of steps side by side, which are alike
MOST_LINES = 8_000  # that our own layout leads past one another in a few seconds


class CannotDrawError(Exception):
    """The engine that was asked for cannot draw; the message says what to do."""


class Drawing(Struct, frozen=True):
    """A picture in a format.

    Attributes
    ----------
    data : bytes
        The file's content.
    engine : str
        Who laid it out, in words.
    notes : tuple of str
        Why engines before that one did not serve, and what was left out.
    """

    data: bytes
    engine: str
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The content of a format that is text."""
        return self.data.decode("utf-8")


def drawn(
    diagram: Diagram,
    form: str = "svg",
    engine: str = "auto",
    seconds: float = 10.0,
    *,
    types: bool = False,
    largest: int = LARGEST,
    dark: bool = False,
    chips: bool = True,
) -> Drawing:
    """Draw a picture.

    Parameters
    ----------
    diagram : Diagram
        What to draw; of more than ``largest`` nodes a summary is drawn, and the notes say how.
    form : {"svg", "png", "pdf", "dot"}
        The format; a PDF is drawn by Graphviz dot alone.
    engine : {"auto", "dot", "own"}
        Which engine; ``"auto"`` takes the first that serves.
    seconds : float
        How long Graphviz may take.
    types : bool
        Whether dtypes and shapes are written on nodes.
    largest : int
        Nodes that are drawn.
    dark : bool
        Whether in the colours of the dark, whatever the reader prefers.
    chips : bool
        Whether weights and other inputs of a large picture stand beside whatever reads them.

    Raises
    ------
    CannotDrawError
        If the engine that was asked for, or dot for a PDF, is not there or fails.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Node
    >>> drawn(Diagram("f", nodes=(Node("a", "operation", "exp"),)), engine="own").engine
    "scanviz's own layout"
    """
    in_time = largest == LARGEST and has_time(diagram)
    diagram = summarised(diagram, LARGEST_IN_TIME if in_time else largest)
    diagram = with_chips(diagram) if chips else diagram
    if form == "dot":
        text = to_dot(diagram, types=types)
        return Drawing((darkened(text) if dark else text).encode(), "no engine", diagram.notes)
    notes: list[str] = []
    if form == "pdf" and engine == "auto":
        engine = "dot"
    for name in _engines(diagram) if engine == "auto" else (engine,):
        found, why = _tried(name, form, diagram, seconds, types, dark)
        if found is not None and name == "dot":  # which has every format itself
            return Drawing(marked(found, form), NAMES[name], (*diagram.notes, *notes))
        if found is not None:
            return _drawing(found, form, name, (*diagram.notes, *notes))
        notes.append(f"{NAMES[name]}: {why}")
    if form == "pdf":
        raise CannotDrawError(f"{notes[-1]}; only dot writes PDF: write .svg or .png instead")
    if engine != "auto":
        raise CannotDrawError(f"{notes[-1]}; --engine auto takes another")
    return _drawing(_rows(diagram, types, dark), form, "rows", (*diagram.notes, *notes))


def _engines(diagram: Diagram) -> tuple[str, ...]:
    """Return the engines in their order: where there are loops, first the one that has rails for what a later step reads."""
    if has_time(diagram):
        return ("own",)
    loops = any(edge.role == "recurrence" for edge in diagram.edges)
    return ("own", "dot") if loops else ENGINES


def _tried(
    engine: str, form: str, diagram: Diagram, seconds: float, types: bool, dark: bool
) -> tuple[bytes | None, str]:
    """Return what an engine draws, or None and why not."""
    if engine == "dot":
        return _by_dot(form, diagram, seconds, types, dark)
    if form == "pdf":
        return None, "writes no PDF"
    if len(diagram.edges) > MOST_LINES:
        return None, f"leads no more than {MOST_LINES:,} lines past one another"
    try:
        svg = to_svg(diagram, layered(diagram, types), types=types)
    except RecursionError:
        return None, "cannot nest so many loops"
    return (darkened(svg) if dark else svg).encode(), ""


def _by_dot(form: str, diagram: Diagram, seconds: float, types: bool, dark: bool) -> tuple[bytes | None, str]:
    """Return what Graphviz draws, or None and why not."""
    if shutil.which("dot") is None:
        return None, "the program dot is not installed"
    if has_time(diagram):
        return None, "draws lines across boxes where steps stand side by side"
    import graphviz
    from graphviz.backend import dot_command, execute

    text = to_dot(diagram, types=types)
    given = (darkened(text) if dark else text).encode("utf-8")
    try:
        done = execute.run_check(
            dot_command.command("dot", form), input=given, capture_output=True, quiet=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return None, f"took longer than {seconds:g} s"
    except graphviz.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        return None, lines[-1][:200] if lines else f"ended with code {error.returncode}"
    except OSError as error:
        return None, str(error.strerror or error)
    if not done.stdout:
        return None, "gave nothing"
    return (_dark_where_wanted(with_port_ids(done.stdout, diagram)) if form == "svg" else done.stdout), ""


def with_port_ids(svg: bytes, diagram: Diagram) -> bytes:
    """Give the ports of closed loops their own ids: Graphviz puts ``a_`` before the id of a table's cell.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Node, Port
    >>> loop = Node("l", "loop", "rnn", ports=(Port("l|x", "in", "x", "sequence", 0),))
    >>> drawn = b'<svg xmlns="http://www.w3.org/2000/svg"><g id="a_l|x"><text>x</text></g></svg>'
    >>> b'<g id="l|x">' in with_port_ids(drawn, Diagram("f", (loop,)))
    True
    """
    ids = [element_id(port.id) for node in diagram.nodes for port in node.ports]
    if not ids:
        return svg
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root, cells = ElementTree.fromstring(svg), {f"a_{name}": name for name in ids}
    for element in root.iter():
        if element.get("id") in cells:
            element.set("id", cells[element.get("id", "")])
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _dark_where_wanted(svg: bytes) -> bytes:
    """Return an SVG of Graphviz with the style sheet that turns it dark for those who read in the dark."""
    inside = svg.index(b">", svg.index(b"<svg")) + 1
    return svg[:inside] + f"<style>{style_sheet()}</style>".encode() + svg[inside:]


def _drawing(svg: bytes, form: str, engine: str, notes: tuple[str, ...]) -> Drawing:
    """Return what an engine drew as SVG, in the format that was asked for."""
    svg, more = converted(svg, form)
    return Drawing(marked(svg, form), NAMES[engine], (*notes, *more))


def converted(svg: bytes, form: str) -> tuple[bytes, tuple[str, ...]]:
    """Return an SVG as SVG or PNG, and notes on what differs from the usual."""
    if form != "png":
        return svg, ()

    return to_png(svg)


def _rows(diagram: Diagram, types: bool, dark: bool) -> bytes:
    """Return a drawing in plain rows, whose making takes no thought: nodes in their order, eight a row, and straight lines."""
    sizes = [node_size(node, types) for node in diagram.nodes]
    wide, tall = (
        max((size.width for size in sizes), default=0.0),
        max((size.height for size in sizes), default=0.0),
    )
    boxes = {
        node.id: Box(k % 8 * (wide + 30.0) + 14.0, k // 8 * (tall + 30.0) + 14.0, *size)
        for k, (node, size) in enumerate(zip(diagram.nodes, sizes, strict=True))
    }
    routes = {}
    for number, edge in enumerate(diagram.edges):
        if edge.source in boxes and edge.target in boxes:
            source, target = boxes[edge.source], boxes[edge.target]
            routes[number] = [(source.centre, source.bottom), (target.centre, target.y)]
    ports = {name: box for node in diagram.nodes for name, box in port_boxes(node, boxes[node.id]).items()}
    rows = -(-len(sizes) // 8)
    placed = Placed(
        boxes | ports, routes, min(8, len(sizes)) * (wide + 30.0) + 14.0, rows * (tall + 30.0) + 14.0
    )
    svg = to_svg(replace(diagram, clusters=()), placed, types=types)
    return (darkened(svg) if dark else svg).encode()
