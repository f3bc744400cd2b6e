"""Films of rewrites in the page: of each loop alone, slowest first, and of a small function whole, as many as there is room for.

A film of one loop is read on one screen; what has no room is named with the command that makes it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.rewrites import RewritesRecord
from scanviz.render.film.drawing import SECONDS, FilmDrawing, Seen, laid_out
from scanviz.render.film.frames import FilmFrame, versions_of
from scanviz.render.page.drawings import inline_svg

ALL_MARKUP = 300_000  # characters of all films
ALL_OPERATIONS = 40_000  # of all versions of the functions that are filmed: about a second
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
    """Return how many operations all versions of a graph have, about: as many as the last one each."""
    last = len(rewrites.applications)
    graph = rewrites.snapshot(last)
    return (last + 1) * (sum(rewrites.steps(last).values()) + (len(graph.nodes) if graph is not None else 0))


def _drawings(
    record: ProfileRecord, function: FunctionRecord, rewrites: RewritesRecord
) -> Iterator[tuple[str | None, FilmDrawing]]:
    """Iterate over films in which something changes: of the whole function if that is small, and of its loops, slowest first."""
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
        "frames": [_frame(frame) for frame in drawing.film.frames],
        "seen": [[int(clear) if clear in (0, 1) else clear for clear in row] for row in seen],
    }


def _frame(frame: FilmFrame) -> dict[str, Any]:
    return {
        "after": frame.after,
        "caption": frame.caption,
        "text": frame.text,
        "operations": frame.operations,
        "flops": frame.flops,
    }
