"""What stands in a node of a DOT text: lines, a closed loop as a table, and text in which nothing has a meaning."""

from __future__ import annotations

from html import escape

from scanviz.render import colours
from scanviz.render.colours import FAINT, LOOP_KINDS, Paint
from scanviz.render.diagram.model import Node
from scanviz.render.labels import element_id, kind_name, node_lines, port_title, short


def quoted(text: str) -> str:
    """Return a quoted string, in which Graphviz reads nothing but the text."""
    kept = "".join(char if char.isprintable() else "\n" if char == "\n" else "?" for char in text)
    kept = kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("&", "&amp;")
    return f'"{kept}"'


def shown(text: str) -> str:
    """Return text as it stands in an HTML-like label."""
    return escape(printable(text)).replace("\\", "&#92;") or " "


def label_of_lines(lines: list[str], bold: bool, below: str) -> str:
    """Return lines as an HTML-like label, the first as it is and the others small, in a colour of their own."""
    first = f"<B>{shown(lines[0])}</B>" if bold else shown(lines[0])
    rest = "".join(f'<BR/><FONT POINT-SIZE="8.5" COLOR="{below}">{shown(line)}</FONT>' for line in lines[1:])
    return f"<{first}{rest}>"


def table_of_loop(node: Node, paint: Paint, types: bool, below: str) -> str:
    """Return a closed loop as a table: ports that go in, its name, ports that go out."""
    lines = [shown(line) for line in node_lines(node, types)]
    middle = f'<B>{lines[0]}</B><FONT POINT-SIZE="8.5" COLOR="{below}">{"".join(f"<BR/>{line}" for line in lines[1:])} </FONT>'
    rows = [
        _ports(node, "in"),
        f'<TR><TD BGCOLOR="{paint.fill}" COLOR="{paint.line}" CELLPADDING="6">{middle}</TD></TR>',
        _ports(node, "out"),
    ]
    return f'<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="0">{"".join(rows)}</TABLE>>'


def _ports(node: Node, side: str) -> str:
    cells = []
    for number, port in enumerate(node.ports):
        if port.side == side:
            paint = LOOP_KINDS.get(port.kind, colours.NODE_KINDS["port"])
            small = f'<FONT POINT-SIZE="8" COLOR="{FAINT}">{shown(kind_name(port.kind))}</FONT>'
            cells.append(
                f'<TD PORT="p{number}" BGCOLOR="{paint.fill}" COLOR="{paint.line}" CELLPADDING="3"'
                f' TARGET="_self" TITLE="{attribute(port_title(port))}"'
                f' ID="{attribute(element_id(port.id))}">'
                f"{shown(short(port.label, 24))}<BR/>{small}</TD>"
            )
    if not cells:
        return ""
    inner = (
        f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="2" CELLPADDING="0"><TR>{"".join(cells)}</TR></TABLE>'
    )
    return f'<TR><TD BORDER="0">{inner}</TD></TR>'


def attribute(text: str) -> str:
    """Return text as the attribute of a cell."""
    return escape(printable(text), quote=True).replace("\\", "&#92;")


def printable(text: str) -> str:
    """Return text with a question mark for what cannot be seen."""
    return "".join(char if char.isprintable() else "?" for char in text)
