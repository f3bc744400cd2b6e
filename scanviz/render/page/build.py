"""Assemble the page: data, pictures, style and scripts in one HTML file.

The file's ``Content-Security-Policy`` lets only its own script run and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

from msgspec import Struct, field, to_builtins

from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.render.colours import DARK_INK, dark_rules
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.folding import close_loops
from scanviz.render.diagram.model import Diagram
from scanviz.render.diagram.summary import loops_to_close, summarised
from scanviz.render.engines import drawn
from scanviz.render.film.drawing import SECONDS, FilmDrawing, Seen, laid_out
from scanviz.render.film.frames import versions_of
from scanviz.render.page.data import page_data
from scanviz.render.svg import inline_svg

# Films of rewrites in the page: of each loop alone, slowest first, and of a small function whole, as many as there is room for.
#
# A film of one loop is read on one screen; a film without room is named with the command that makes it.

ALL_MARKUP = 300_000  # characters of all films
ALL_OPERATIONS = 40_000  # of all versions of the functions that are filmed: about a second
_FRAME = ("after", "caption", "text", "operations", "flops")
_SCREEN = 1500.0, 900.0  # units of a picture of a whole function that one still reads


def films(record: ProfileRecord) -> tuple[dict[str, Any], list[str]]:
    """Return the films of a record as data, by function, and as elements of the page.

    Each function has ``films`` (``loop``, None for all of it; ``element``; ``counted``; ``notes``; ``frames``; ``seen``, the
    opacities of parts frame by frame), ``left_out`` (names of loops whose films have no room) and the ``command`` of the whole.
    """
    room, work = ALL_MARKUP, ALL_OPERATIONS
    found: dict[str, Any] = {}
    elements: list[str] = []
    for function in sorted(record.functions, key=lambda function: -function.total_ns):
        rewrites = function.rewrites
        if rewrites is None or not rewrites.has_versions or not rewrites.applications:
            continue
        made: list[dict[str, Any]] = []
        left_out: list[str] = []
        work -= _operations(rewrites)
        if work >= 0:
            for scan, drawing in _drawings(record, function, rewrites):
                svg, seen = drawing.marked(bare=True)
                markup = inline_svg(svg, named=False)
                if len(markup) > room:
                    left_out += [scan] if scan is not None else []
                    continue
                room -= len(markup)
                name = f"film-{function.key}-{len(made)}"
                elements.append(f'<div class="drawing" id="{name}" hidden>{markup}</div>')
                made.append(_data(scan, name, drawing, seen))
        command = f"scanviz graph FILE --film --function {shlex.quote(sanitize(function.name))} -o film.html"
        found[str(function.key)] = {"films": made, "left_out": left_out, "command": command}
    return {"seconds": SECONDS, "functions": found}, elements


def _operations(rewrites: RewritesRecord) -> int:
    """Estimate the number of operations in all versions of a graph: as many in each as in the last."""
    last = len(rewrites.applications)
    graph = rewrites.snapshot(last)
    return (last + 1) * (sum(rewrites.steps(last).values()) + (len(graph.nodes) if graph is not None else 0))


def _drawings(
    record: ProfileRecord, function: FunctionRecord, rewrites: RewritesRecord
) -> Iterator[tuple[str | None, FilmDrawing]]:
    """Iterate over films with changes: of the whole function if it is small, and of its loops, slowest first."""
    versions = versions_of(rewrites)
    ever = rewrites.loops()
    own = [loop for loop in record.loops if loop.function == function.key and loop.name in ever]
    loops = dict.fromkeys(loop.name for loop in sorted(own, key=lambda loop: -loop.total_ns))
    for scan in (None, *loops, *(name for name in ever if name not in loops)):
        film = versions.film(scan, chips=True)
        if len(film.frames) > 1:
            drawing = laid_out(film)
            size = drawing.placed.width, drawing.placed.height
            if scan is not None or all(a <= b for a, b in zip(size, _SCREEN, strict=True)):
                yield scan, drawing


def _data(scan: str | None, element: str, drawing: FilmDrawing, seen: list[Seen]) -> dict[str, Any]:
    return {
        "loop": scan,
        "element": element,
        "counted": drawing.film.counted,
        "notes": list(drawing.film.whole.notes),
        "frames": [{name: getattr(frame, name) for name in _FRAME} for frame in drawing.film.frames],
        "seen": [[int(clear) if clear in (0, 1) else clear for clear in row] for row in seen],
    }


MARK = "scanviz page"  # marks pages of scanviz, which may be replaced
SCRIPTS = (
    "dom.js",
    "report.js",
    "chart.js",
    "steps.js",
    "picture.js",
    "slots.js",
    "film.js",
    "rewrites.js",
    "state.js",
    "player.js",
    "source.js",
    "main.js",
)
MOST_PICTURES = 12  # functions that are drawn: those that took the most time


class Extras(Struct, frozen=True):
    """Findings from other parts of scanviz, shown beside the record.

    Attributes
    ----------
    advice : sequence of mapping
        Pieces of advice: ``title``, ``text``, ``evidence``, ``source``, each a string.
    notes : sequence of str
        Sentences for the reader.
    to_try : str
        A sentence that the verdict ends with.
    file : str
        The profile's file, for commands; FILE where there is none.
    """

    advice: Sequence[Mapping[str, str]] = ()
    notes: Sequence[str] = field(default=())
    to_try: str = ""
    file: str = ""


def page(record: ProfileRecord, extras: Extras | None = None) -> str:
    """Return a profile as one self-contained HTML page.

    Parameters
    ----------
    record : ProfileRecord
        The record.
    extras : Extras, optional
        Additions.

    Examples
    --------
    >>> text = page(ProfileRecord(script="<b>.py"))
    >>> "<title>&lt;b&gt;.py – scanviz</title>" in text, "http://" in text.replace("http://www.w3.org", "")
    (True, False)
    """
    extras = extras if extras is not None else Extras()
    pictures, drawings = _pictures(record)
    moving, film_drawings = films(record)
    data = {
        **page_data(record),
        "pictures": pictures,
        "films": moving,
        "advice": [dict(mapping) for mapping in extras.advice],
        "notes": list(extras.notes),
        "to_try": extras.to_try,
        "file": shlex.quote(sanitize(extras.file)) if extras.file else "FILE",
    }
    script = "".join(_asset(text) for text in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    return Template(_asset("page.html")).substitute(
        mark=MARK,
        title=html.escape(f"{sanitize(record.script) or 'profile'} – scanviz"),
        heading=html.escape(sanitize(record.script) or "profile"),
        policy=_policy(script),
        style=_asset("page.css") + _dark_pictures(),
        drawings="\n".join([*drawings, *film_drawings]),
        data=embedded(data),
        script=script,
    )


def _asset(name: str) -> str:
    return (resources.files("scanviz.render.page") / "assets" / name).read_text("utf-8")


def _dark_pictures() -> str:
    """Return the rules that turn pictures dark with the page."""
    wanted, chosen = (
        "\n".join(
            [
                *dark_rules(f":root{page} .picture "),
                f":root{page} .picture text:not([fill]){{fill:{DARK_INK}}}",
            ]
        )
        for page in (':not([data-theme="light"])', '[data-theme="dark"]')
    )
    return f"@media screen {{\n@media (prefers-color-scheme: dark) {{\n{wanted}\n}}\n{chosen}\n}}\n"


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def embedded(data: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _pictures(record: ProfileRecord) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the pictures of the functions as data, and as elements of the page."""
    drawable = [function for function in record.functions if function.graph is not None]
    slowest = sorted(drawable, key=lambda function: -function.total_ns)[:MOST_PICTURES]
    data: list[dict[str, Any]] = []
    elements: list[str] = []
    for function in drawable:
        if function in slowest:
            whole = _diagram(record, function)
            closed = loops_to_close(whole)
            opened, element = _picture(function, summarised(whole), f"drawing-{function.key}")
            elements.append(element)
            if closed:
                folded = summarised(close_loops(whole, closed))
                name = f"drawing-{function.key}-folded"
                opened["folded"], element = _picture(function, folded, name)
                elements.append(element)
            data.append(opened)
    return data, elements


def _diagram(record: ProfileRecord, function: FunctionRecord) -> Diagram:
    assert function.graph is not None
    return diagram_of(function.graph, record=record, function=function.key)


def _picture(function: FunctionRecord, diagram: Diagram, element: str) -> tuple[dict[str, Any], str]:
    """Return a picture as data, and as an element of the page."""
    drawing = drawn(diagram, "svg", chips=False)  # whose every part answers
    engine, notes = drawing.engine, drawing.notes
    data = {
        "function": function.key,
        "element": element,
        "engine": engine,
        "notes": [*diagram.notes, *notes],
        "nodes": [_short(to_builtins(node)) for node in diagram.nodes],
        "clusters": [_short(to_builtins(cluster)) for cluster in diagram.clusters],
        "edges": [_short(to_builtins(edge)) for edge in diagram.edges],
    }
    return data, f'<div class="drawing" id="{element}" hidden>{inline_svg(drawing.text)}</div>'


def _short(data: dict[str, Any]) -> dict[str, Any]:
    """Return data without empty values."""
    return {name: value for name, value in data.items() if value not in ("", None, (), [])}
