"""The chain of engines."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree
from importlib import resources

from msgspec import Struct
from msgspec.structs import replace

from scanviz.child_process import isolated_module
from scanviz.record.codec import encode
from scanviz.render import fonts
from scanviz.render.colours import darkened
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.model import Diagram
from scanviz.render.diagram.summary import summarised
from scanviz.render.dot import to_dot
from scanviz.render.layout.placed import Box, Placed, node_size, port_boxes
from scanviz.render.layout.time_parts import has_time
from scanviz.render.marks import marked

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
        How long each may take.
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
    missing = _missing(engine)
    if not missing and engine == "dot" and has_time(diagram):
        missing = "draws lines across boxes where steps stand side by side"
    if not missing and engine == "own" and form == "pdf":
        missing = "writes no PDF"
    if missing:
        return None, missing
    return _in_process(engine, form if engine == "dot" else "svg", diagram, seconds, types, dark)


def _missing(engine: str) -> str:
    """Return what an engine lacks here; empty if it is there."""
    missing = engine == "dot" and shutil.which("dot") is None
    return "the program dot is not installed" if missing else ""


def _in_process(
    engine: str, form: str, diagram: Diagram, seconds: float, types: bool, dark: bool
) -> tuple[bytes | None, str]:
    given = json.dumps({"diagram": encode(diagram), "types": types, "dark": dark}).encode()
    command = isolated_module("scanviz.render.layout.worker", engine, form)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that what it started ends with it
    ) as process:
        try:
            output, errors = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return None, f"took longer than {seconds:g} s"
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        return None, lines[-1][:200] if lines else f"ended with code {process.returncode}"
    return (output, "") if output else (None, "gave nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()


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
    from scanviz.render.svg import to_svg

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
