"""``scanviz.draw``: a picture of anything that has a graph, as text, as a file, or in a notebook."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scanviz.record.errors import ScanvizTypeError, ScanvizValueError
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.snapshot import snapshot
from scanviz.record.storage.writing import check_place, replacing
from scanviz.render.characters import drawing_text
from scanviz.render.colours import DARK_INK, DARK_PAPER, INK, PAPER
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.model import Diagram
from scanviz.render.engines import Drawing, drawn
from scanviz.render.marks import MARK, is_picture, marked
from scanviz.render.svg import inline_svg

NOTEBOOK_NODES = 200  # that a picture in a notebook has


def written(
    diagram: Diagram,
    form: str,
    *,
    types: bool = False,
    engine: str = "auto",
    seconds: float = 10.0,
    width: int = 100,
    ascii_only: bool = False,
    dark: bool = False,
    widest: float | None = None,
    unfolded: Sequence[tuple[str, Diagram]] = (),
) -> Drawing:
    r"""Return a picture in any known format.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    form : {"svg", "png", "pdf", "dot", "txt", "json", "graphml", "html"}
        The format.
    types : bool
        Whether dtypes and shapes are written.
    engine : str
        Layout engine.
    seconds : float
        Time limit for Graphviz.
    width : int
        Columns of a picture in characters.
    ascii_only : bool
        Whether that has characters of ASCII alone.
    dark : bool
        Whether a picture is in the colours of the dark, whatever its reader prefers.
    widest : float or None
        Width in pixels of a picture of steps: they stand closer, and below each other where that does not do.
    unfolded : sequence of (str, Diagram)
        Pictures of folded parts, with their titles; a page shows them when they are opened.

    Raises
    ------
    CannotDrawError
        If no engine gives the format.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Node
    >>> written(Diagram("f", (Node("x", "input", "x"),)), "txt", ascii_only=True).text
    'f\no  x\n'
    """
    match form:
        case "txt":
            text = drawing_text(diagram, width, types=types, ascii_only=ascii_only)
        case "json":
            from scanviz.render.diagram.analysis import to_json

            text = json.dumps({"made_by": MARK, **to_json(diagram)}, indent=1, ensure_ascii=False) + "\n"
        case "graphml":
            from scanviz.render.diagram.analysis import to_graphml

            text = to_graphml(diagram) + f"<!-- {MARK} -->\n"
        case "html":
            return _page(diagram, unfolded, partial(drawn, types=types, dark=dark, widest=widest), dark)
        case _:
            return drawn(diagram, form, engine, seconds, types=types, dark=dark, widest=widest)
    return Drawing(text.encode("utf-8", "backslashreplace"), "", diagram.notes)


def _page(
    diagram: Diagram,
    unfolded: Sequence[tuple[str, Diagram]],
    drawing_of: Callable[[Diagram], Drawing],
    dark: bool,
) -> Drawing:
    """Return a page with a picture, and the folded parts below it."""
    drawing = drawing_of(diagram)
    more = "".join(
        f"<details>\n<summary>{html.escape(sanitize(name))}</summary>\n"
        f"{inline_svg(drawing_of(one).text, named=False)}\n</details>\n"
        for name, one in unfolded
    )
    title = html.escape(sanitize(diagram.title))
    ground, ink = (DARK_PAPER, DARK_INK) if dark else (PAPER, INK)
    text = (
        f'<!DOCTYPE html>\n<!-- {MARK} -->\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>body {{ margin: 1em; background: {ground}; color: {ink} }}"
        " svg { max-width: 100%; height: auto } details { margin: 1em; font-family: sans-serif }</style>\n"
        f"</head>\n<body>\n{inline_svg(drawing.text)}\n{more}</body>\n</html>\n"
    )
    return Drawing(text.encode("utf-8"), drawing.engine, drawing.notes)


def diagram_for(what: Any, **options: Any) -> Diagram:
    """Return the picture of a variable, several, a function, a Scan or a profile.

    Raises
    ------
    ScanvizTypeError
        If it has no graph.
    """
    if isinstance(what, ProfileRecord):
        drawable = [function for function in what.functions if function.graph is not None]
        if not drawable:
            raise ScanvizValueError(
                "this profile holds no graph: no function was called while it was recorded"
            )
        slowest = max(drawable, key=lambda function: function.total_ns)
        assert slowest.graph is not None
        return diagram_of(slowest.graph, record=what, function=slowest.key, **options)
    record = getattr(what, "record", None)
    if isinstance(record, ProfileRecord):
        return diagram_for(record, **options)
    return diagram_of(snapshot(what), **options)


class Picture:
    """A picture that shows itself: as text where it is printed, as SVG in a notebook.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    types : bool
        Whether dtypes and shapes are written.
    engine : str
        Layout engine.
    """

    def __init__(self, diagram: Diagram, types: bool, engine: str) -> None:
        self.diagram, self._written = diagram, partial(written, diagram, types=types, engine=engine)

    def __str__(self) -> str:
        return self._written("txt").text

    def __repr__(self) -> str:
        return (
            f"<picture of {self.diagram.title}: {len(self.diagram.nodes)} nodes; print() or save() shows it>"
        )

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the picture to a file; its extension chooses the format.

        Raises
        ------
        ScanvizValueError
            If the ending is not that of a format.
        CannotWriteError
            If the file cannot be written, or one is there that scanviz did not draw and ``force`` is not given.
        """
        target = Path(path)
        form = target.suffix.removeprefix(".").lower()
        if form not in ("svg", "png", "pdf", "dot", "txt", "json", "graphml", "html"):
            raise ScanvizValueError(
                f"{target.name} has no supported extension",
                expected=".svg, .png, .pdf, .dot, .html, .txt, .json or .graphml",
            )
        ours = None if force else is_picture
        check_place(target, ours, "picture of scanviz", "save(path, force=True) replaces it")
        drawing = self._written(form)
        with replacing(target, ours, "picture of scanviz") as stream:
            stream.write(marked(drawing.data, form))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return the picture for a notebook."""
        return {"image/svg+xml": self._written("svg").text, "text/plain": repr(self)}


def draw(
    what: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    scan: str | None = None,
    depth: int | None = None,
    closed: Collection[str] = (),
    types: bool = False,
    plumbing: bool = False,
    engine: str = "auto",
    force: bool = False,
) -> Picture:
    """Draw the graph of a variable, several, a function, a Scan or a profile.

    Parameters
    ----------
    what : Variable, list of Variable, Function, Scan, Session or ProfileRecord
        A function is drawn as it runs, of a profile the function that took the most time, with its times.
    path : path, optional
        The file to write: ``.svg``, ``.png``, ``.pdf``, ``.dot``, ``.html``, ``.txt``, ``.json`` or ``.graphml``.
    scan : str, optional
        This loop alone.
    depth : int, optional
        Loops nested deeper are closed.
    closed : collection of str
        Names of loops that are drawn as one box.
    types : bool
        Whether dtypes and shapes are written.
    plumbing : bool
        Whether sizes, broadcasts and other plumbing are drawn; else a note counts them.
    engine : {"auto", "dot", "own"}
        Layout engine.
    force : bool
        Whether a file that scanviz did not draw may be replaced.

    Returns
    -------
    Picture
        Prints itself in characters, and shows itself as SVG in a notebook.

    Raises
    ------
    ScanvizTypeError
        If it has no graph.
    ScanvizValueError
        If the path's ending is not that of a format, it names a file that is not scanviz's, or there is no loop of a name.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, total: total + x_t, sequences=x, outputs_info=0.0, name="sums")
    >>> print(scanviz.draw(sums))
    total
    not drawn: 1 operation of plumbing (sizes, broadcasts); --plumbing draws it
    ○      x
    │ ·    0.0
    │ │    ╔═ loop sums ═...
    │ │ ◆  ║ n_steps  (number of steps)
    ◆ │    ║ x  (sequence into the loop) ← x
    │ ◆    ║ total  (sitsot into the loop) ← 0.0
    ◇ │    ║ x[t]
    ...
    """
    picture = Picture(
        diagram_for(what, scan=scan, depth=depth, closed=closed, plumbing=plumbing),
        types,
        engine,
    )
    if path is not None:
        picture.save(path, force=force)
    return picture


def notebook_bundle(what: Any) -> dict[str, str]:
    """Return the picture and the text of an object for a notebook."""
    bundle = {"text/plain": repr(what)}
    try:
        diagram = diagram_for(what)
        bundle["image/svg+xml"] = drawn(diagram, "svg", largest=NOTEBOOK_NODES).text
    except (ScanvizTypeError, ScanvizValueError):
        return bundle
    return bundle
