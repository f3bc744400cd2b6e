"""Draws one picture in a process of its own: ``python -m scanviz.render.layout.worker ENGINE FORMAT``.

A layout engine may take for ever or bring its interpreter down; here that harms nobody.  The picture comes as JSON on standard
input, the drawing goes to standard output, and what went wrong to standard error.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree

from scanviz.record.codec import decode
from scanviz.render.colours import darkened, style_sheet
from scanviz.render.diagram.model import Diagram
from scanviz.render.labels import element_id


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
    import graphviz

    from scanviz.render.dot import to_dot

    dot = to_dot(diagram, types=types)
    found: bytes = graphviz.pipe("dot", form, (darkened(dot) if dark else dot).encode("utf-8"))
    return _dark_where_wanted(with_port_ids(found, diagram)) if form == "svg" else found


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
