"""Write pictures as files: with scanviz's own layout, or with Graphviz ``dot`` on request and for PDF."""

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
from scanviz.render.layout.layered import layered
from scanviz.render.layout.stacked import stacked
from scanviz.render.layout.time_parts import has_time
from scanviz.render.layout.timeline import timeline
from scanviz.render.marks import marked
from scanviz.render.svg import to_svg

DOT, OWN = "Graphviz dot", "scanviz's own layout"
LARGEST = 400  # nodes that a person reads
LARGEST_IN_TIME = 1600  # of steps side by side, which look the same
MOST_LINES = 4_000  # that our own layout leads past one another in a few seconds


class CannotDrawError(Exception):
    """The engine cannot draw; the message names the remedy."""


class Drawing(Struct, frozen=True):
    """A picture in a format.

    Attributes
    ----------
    data : bytes
        The file's content.
    engine : str
        The engine that laid it out, in words.
    notes : tuple of str
        Its omissions.
    """

    data: bytes
    engine: str
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The content of a text format."""
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
    widest: float | None = None,
) -> Drawing:
    """Draw a picture.

    Parameters
    ----------
    diagram : Diagram
        The picture; beyond ``largest`` nodes a summary is drawn, and the notes explain it.
    form : {"svg", "png", "pdf", "dot"}
        The format; only Graphviz dot draws a PDF.
    engine : {"auto", "dot", "own"}
        The engine; ``"auto"`` is scanviz's own layout, and dot for a PDF.
    seconds : float
        Time limit for Graphviz.
    types : bool
        Whether dtypes and shapes are written on nodes.
    largest : int
        Nodes that are drawn.
    dark : bool
        Whether the picture is dark, whatever the reader prefers.
    chips : bool
        Whether weights and other inputs of a large picture stand beside each of their readers.
    widest : float, optional
        Width in pixels of a picture of steps: they stand closer, and below each other where that does not do.

    Raises
    ------
    CannotDrawError
        If Graphviz is needed and not installed, or fails; if a PDF is requested from scanviz's own layout.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Node
    >>> drawn(Diagram("f", nodes=(Node("a", "operation", "exp"),))).engine
    "scanviz's own layout"
    """
    in_time = largest == LARGEST and has_time(diagram)
    diagram = summarised(diagram, LARGEST_IN_TIME if in_time else largest)
    diagram = with_chips(diagram) if chips else diagram
    if form == "dot":
        text = to_dot(diagram, types=types)
        return Drawing((darkened(text) if dark else text).encode(), "no engine", diagram.notes)
    if engine == "dot" or form == "pdf":
        if engine == "own":
            raise CannotDrawError(f"{OWN} writes no PDF; {_NO_PDF}")
        return Drawing(marked(_by_dot(diagram, form, seconds, types, dark), form), DOT, diagram.notes)
    if len(diagram.edges) > MOST_LINES:
        note = f"{MOST_LINES:,} of {len(diagram.edges):,} lines are drawn"
        diagram = replace(diagram, edges=diagram.edges[:MOST_LINES], notes=(*diagram.notes, note))
    if widest is None or not has_time(diagram):
        svg = to_svg(diagram, layered(diagram, types), types=types)
    else:
        placed = timeline(diagram, types, widest)
        if placed.width > widest:
            diagram, placed = stacked(diagram, types, widest)
        svg = to_svg(diagram, placed, types=types, widest=widest)
    data, notes = converted((darkened(svg) if dark else svg).encode(), form)
    return Drawing(marked(data, form), OWN, (*diagram.notes, *notes))


_NO_PDF = "only dot writes PDF: write .svg or .png instead"


def _by_dot(diagram: Diagram, form: str, seconds: float, types: bool, dark: bool) -> bytes:
    """Return a picture drawn by Graphviz."""
    why = ""
    if shutil.which("dot") is None:
        why = "the program dot is not installed"
    elif has_time(diagram):
        why = "draws lines across boxes where steps stand side by side"
    if why:
        raise _no_dot(why, form)
    import graphviz
    from graphviz.backend import dot_command, execute

    text = to_dot(diagram, types=types)
    given = (darkened(text) if dark else text).encode("utf-8")
    try:
        done = execute.run_check(
            dot_command.command("dot", form), input=given, capture_output=True, quiet=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise _no_dot(f"took longer than {seconds:g} s", form) from None
    except graphviz.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _no_dot(lines[-1][:200] if lines else f"ended with code {error.returncode}", form) from None
    except OSError as error:
        raise _no_dot(str(error.strerror or error), form) from None
    data: bytes = done.stdout
    if not data:
        raise _no_dot("gave nothing", form)
    style = f"<style>{style_sheet()}</style>\n<g ".encode()
    return data.replace(b"<g ", style, 1) if form == "svg" else data


def _no_dot(why: str, form: str) -> CannotDrawError:
    return CannotDrawError(f"{DOT}: {why}; {_NO_PDF if form == 'pdf' else '--engine own does without it'}")


# An SVG as PNG, through resvg, in scanviz's own font: system fonts supply only letters that this font lacks, so a picture is the
# same on every machine.

SCALE = 2.0  # pixels a unit
MOST_PIXELS = 32_000_000  # pixels: 128 MB while it is drawn
_LENGTH = re.compile(r"([\d.]+)(?:px)?")


def converted(svg: bytes, form: str) -> tuple[bytes, tuple[str, ...]]:
    """Return an SVG as SVG or PNG, with notes on differences."""
    return to_png(svg) if form == "png" else (svg, ())


def to_png(svg: bytes, scale: float = SCALE) -> tuple[bytes, tuple[str, ...]]:
    r"""Return an SVG as PNG of a given resolution, and notes on differences.

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
        text = ElementTree.tostring(root, encoding="unicode")
        data = resvg_py.svg_to_bytes(svg_string=text, zoom=zoom, font_files=places)
    small = f"drawn at {zoom / scale:.0%} of its size, for a PNG of {MOST_PIXELS // 10**6} million pixels; .svg has it whole"
    return data, () if zoom == scale else (small,)


def _pixels(length: str) -> float:
    """Return a length in an SVG in unscaled pixels."""
    found = _LENGTH.fullmatch(length)
    if found is None:
        raise ValueError(f"the SVG has no size: {length!r}")
    return float(found[1])
