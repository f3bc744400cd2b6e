"""How large what is drawn is, by what is written on it, for the layout that scanviz makes itself."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.render.diagram.model import Node, Port
from scanviz.render.labels import node_lines, short, text_width

LETTER, SMALL = 11.0, 8.5  # sizes of text
LINE, SMALL_LINE = 14.0, 11.0
PAD = 7.0
PORT_LONGEST = 24  # characters of a closed loop's port


class Size(NamedTuple):
    """Width and height."""

    width: float
    height: float


def node_size(node: Node, types: bool) -> Size:
    """Return how large a node is drawn.

    Examples
    --------
    >>> node_size(Node("a", "operation", "exp"), False).height
    22.0
    """
    lines = node_lines(node, types)
    widest = max(text_width(each, SMALL if k else LETTER) for k, each in enumerate(lines))
    height = LINE + SMALL_LINE * (len(lines) - 1) + 8.0
    if node.kind != "loop":
        return Size(max(26.0, widest + 2 * PAD), height)
    rows = [ports_width(node, side) for side in ("in", "out")]
    return Size(max(widest + 2 * PAD, *rows), height + 26.0 * sum(width > 0 for width in rows))


def ports_width(node: Node, side: str) -> float:
    """Return how much room a closed loop's ports of one side take."""
    return sum(port_width(each) + 4.0 for each in node.ports if each.side == side)


def port_width(port: Port) -> float:
    """Return how wide a port of a closed loop is."""
    return max(text_width(short(port.label, PORT_LONGEST), SMALL), text_width(port.kind, SMALL)) + 8.0
