"""Ids of closed loops' ports in an SVG that Graphviz made.

Graphviz names the element of a table's cell ``a_`` and the id that was asked for, and gives fields of a record no ids at all; the
page and other readers look for the port's own id.  A record's texts stand in the order of its fields: ports that go in, the loop's
lines, ports that go out.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from scanviz.render.diagram.model import Diagram, Node
from scanviz.render.labels import element_id

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def with_port_ids(svg: bytes, diagram: Diagram) -> bytes:
    """Return an SVG in which each port of a closed loop has an element with its id.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Port
    >>> loop = Node("l", "loop", "rnn", ports=(Port("l|x", "in", "x", "sequence", 0),))
    >>> drawn = b'<svg xmlns="http://www.w3.org/2000/svg"><g id="l"><g id="a_l|x"><text>x</text></g></g></svg>'
    >>> b'<g id="l|x">' in with_port_ids(drawn, Diagram("f", (loop,)))
    True
    """
    loops = {element_id(node.id): node for node in diagram.nodes if node.ports}
    if not loops:
        return svg
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(svg)
    for group in list(root.iter(f"{{{_SVG}}}g")):
        loop = loops.get(group.get("id", ""))
        if loop is not None and not _named(group, loop):
            _wrapped(group, loop)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _named(group: ElementTree.Element, loop: Node) -> bool:
    """Give cells of a table their ids; return whether there are any."""
    wanted = {f"a_{element_id(port.id)}": element_id(port.id) for port in loop.ports}
    found = [element for element in group.iter() if element.get("id") in wanted]
    for element in found:
        element.set("id", wanted[element.get("id", "")])
    return bool(found)


def _wrapped(group: ElementTree.Element, loop: Node) -> None:
    """Put each field's text of a record into an element with the id of its port."""
    parents = {child: parent for parent in group.iter() for child in parent}
    texts = list(group.iter(f"{{{_SVG}}}text"))
    going_in = [port for port in loop.ports if port.side == "in"]
    going_out = [port for port in loop.ports if port.side == "out"]
    if len(texts) < len(going_in) + len(going_out):
        return
    fields = [
        *zip(going_in, texts, strict=False),
        *zip(going_out, texts[len(texts) - len(going_out) :], strict=True),
    ]
    for port, text in fields:
        parent = parents[text]
        place = list(parent).index(text)
        parent.remove(text)
        element = ElementTree.Element(f"{{{_SVG}}}g", {"id": element_id(port.id), "class": "sv-port"})
        element.append(text)
        parent.insert(place, element)
