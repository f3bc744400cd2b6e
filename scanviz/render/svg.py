"""Render a placed picture as SVG: stable ids, tooltips, a legend, and a style sheet for dark mode.

Light colours stand as attributes, which every reader understands; the style sheet goes by them.  All text is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap

from scanviz.render.colours import (
    CHANGES,
    CLUSTER,
    FAINT,
    INK,
    LOOP_KINDS,
    NODE_KINDS,
    PAPER,
    Paint,
    edge_line,
    node_paint,
    small_ink,
    style_sheet,
)
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node, Port
from scanviz.render.labels import (
    LegendItem,
    cluster_lines,
    cluster_title,
    edge_title,
    element_id,
    hottest,
    kind_name,
    legend_rows,
    node_lines,
    node_title,
    port_title,
    short,
    signed,
    text_width,
    warmth,
)
from scanviz.render.layout.placed import (
    LETTER,
    LINE,
    PORT_HEIGHT,
    PORT_LONGEST,
    Box,
    Placed,
    Point,
    is_straight,
    sign,
    way_text,
)
from scanviz.render.marks import MARK

_SLIDE, _MOST_SCALE = (
    1100.0,
    2.2,
)  # how wide a picture is whose title has its usual size, and how much larger one may be
TITLE = 13.0  # size of its letters, about
_PLUS = 4.0  # radius of the sign of a sum
_ROUND = {"input": 9, "inner_input": 9, "inner_output": 9, "output": 9, "shared": 4, "until": 3}
_DASHED = ("constant", "summary")
_THICK = {"inner_output": 1.8, "port": 1.6, "output": 2.4}


def to_svg(diagram: Diagram, placed: Placed, *, types: bool = False, widest: float | None = None) -> str:
    """Return a placed picture as SVG.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    placed : Placed
        Positions of its parts.
    types : bool
        Whether dtypes and shapes are written on nodes.
    widest : float, optional
        Width to which the title, the notes and the legend are broken.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Node
    >>> from scanviz.render.layout.layered import layered
    >>> picture = Diagram("f", nodes=(Node("a", "operation", "<exp>"),))
    >>> text = to_svg(picture, layered(picture))
    >>> 'id="a"' in text, "&lt;exp&gt;" in text
    (True, True)
    """
    parts = [markup for _, markup in svg_parts(diagram, placed, types)]
    body = "\n".join([*parts, *(_titles_left(diagram, placed) if placed.titles_left else ())])
    return document(diagram.title, svg_head(diagram, widest), body, placed)


def document(title: str, head: list[tuple[str, float]], body: str, placed: Placed, more: float = 0.0) -> str:
    """Return an SVG: head rows with their widths, the picture below them, and ``more`` room at the end.

    The rows of a picture that is wider than a slide are larger, so that they are read where it is shown smaller.
    """
    scale = max(1.0, min(_MOST_SCALE, placed.width / _SLIDE))
    top = (18.0 * len(head) + 8.0) * scale
    width = max(placed.width, *(row_width * scale for _, row_width in head)) + 8.0
    height = placed.height + top + 8.0 + more
    larger = f" scale({scale:.2f},{scale:.2f})" if scale > 1.0 else ""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.1f} {height:.1f}" font-family="Helvetica, Arial, sans-serif" font-size="{LETTER:g}">',
        f"<!-- {MARK} -->",
        f"<title>{_text(title)}</title>",
        f"<style>{style_sheet()}</style>",
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        *(
            f'<g transform="translate({(width - row_width * scale) / 2:.1f},{(18 * k + 6) * scale:.1f}){larger}">{row}</g>'
            for k, (row, row_width) in enumerate(head)
        ),
        f'<g transform="translate({(width - 8.0 - placed.width) / 2:.1f},{top:.1f})">',
        body,
    ]
    return "\n".join([*lines, "</g>", "</svg>", ""])


def inline_svg(markup: str, *, named: bool = True) -> str:
    """Return a picture for a page, without its own style; ``named`` parts keep their ids.

    All text in a picture is escaped, quotes too, so text cannot become markup.

    Examples
    --------
    >>> inline_svg('<svg><style>g{}</style><g id="a" class="sv-node"><text>h &lt; 3</text></g></svg>')
    '<svg><g id="a"><text>h &lt; 3</text></g></svg>'
    """
    bare = re.sub(r'<style>.*?</style>|<!--.*?-->\n?| class="[^"]*"', "", markup, flags=re.DOTALL)
    return bare if named else re.sub(r' id="[^"]*"', "", bare)


def svg_parts(diagram: Diagram, placed: Placed, types: bool = False) -> Iterator[tuple[str | int, str]]:
    """Return the parts of a picture in drawing order: the id of a loop, node or edge, and its markup."""
    for cluster in diagram.clusters:
        if cluster.id in placed.boxes:
            yield cluster.id, _cluster(cluster, placed.boxes[cluster.id], not placed.titles_left)
    for number, (edge, flow) in enumerate(zip(diagram.edges, _flows(diagram), strict=True)):
        if number in placed.routes:
            yield number, _edge(number, edge, placed.routes[number], types, flow)
    most = hottest(diagram)
    for node in diagram.nodes:
        yield node.id, _node(node, placed, types, warmth(node, most))


def _text(text: str) -> str:
    return escape("".join(char if char.isprintable() else " " for char in text), quote=True)


def _title(text: str) -> str:
    return "<title>" + "\n".join(_text(line) for line in text.split("\n")) + "</title>"


def text_at(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "middle",
    colour: str = INK,
    extra: str = "",
) -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{extra}>{_text(text)}</text>'


def rect(box: Box, paint: Paint, *, radius: float = 0, extra: str = "") -> str:
    """Return a rectangle with round corners."""
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
        f' rx="{radius:g}" fill="{paint.fill}" stroke="{paint.line}"{extra}/>'
    )


def _cluster(cluster: Cluster, box: Box, titled: bool) -> str:
    paint = Paint(CLUSTER.fill, CHANGES.get(cluster.change, CLUSTER.line))
    words = _cluster_words(cluster, box.centre, box.y, "middle") if titled else ""
    shape = rect(box, paint, radius=8, extra=' stroke-width="1.4"')
    return f'<g id="{_text(element_id(cluster.id))}" class="sv-cluster">{_title(cluster_title(cluster))}{shape}{words}</g>'


def _cluster_words(cluster: Cluster, x: float, y: float, anchor: str, extra: str = "") -> str:
    first, *more = cluster_lines(cluster)
    bold = f' font-weight="bold"{extra}'
    return text_at(x, y + 15, first, anchor=anchor, extra=bold) + "".join(
        text_at(x, y + 15 + LINE * k, line, anchor=anchor, colour=FAINT, extra=extra)
        for k, line in enumerate(more, 1)
    )


def _titles_left(diagram: Diagram, placed: Placed) -> Iterator[str]:
    """Iterate over the titles of loops, to be drawn over the lines that pass them."""
    halo = f' stroke="{CLUSTER.fill}" stroke-width="4" paint-order="stroke"'
    for cluster in diagram.clusters:
        box = placed.boxes[cluster.id]
        yield _cluster_words(cluster, box.x + 7.0, box.y, "start", halo)


def _node(node: Node, placed: Placed, types: bool, warm: float | None) -> str:
    box = placed.boxes[node.id]
    paint = node_paint(node.kind, node.loop_kind, warm, node.change)
    dashes = ' stroke-dasharray="4 2"' if node.kind in _DASHED else ""
    thick = 2.4 if node.change else _THICK.get(node.kind, 1.0)
    parts = [rect(box, paint, radius=_ROUND.get(node.kind, 2), extra=f' stroke-width="{thick:g}"{dashes}')]
    if node.kind == "output":
        inner = Box(box.x + 3, box.y + 3, box.width - 6, box.height - 6)
        parts.append(rect(inner, paint, radius=7))
    lines = node_lines(node, types)
    ports = [any(port.side == side for port in node.ports) for side in ("in", "out")]
    middle = box.y + (PORT_HEIGHT + 2.0 if ports[0] else 0.0)
    room = box.height - (PORT_HEIGHT + 2.0) * sum(ports)
    y = middle + room / 2 - LINE * (len(lines) - 1) / 2 + LETTER * 0.36
    parts.append(text_at(box.centre, y, lines[0], extra=' font-weight="bold"' if node.kind == "loop" else ""))
    below = INK if node.value else small_ink(warm)
    parts += [text_at(box.centre, y + LINE * k, line, colour=below) for k, line in enumerate(lines[1:], 1)]
    inside = "".join(_port(port, placed.boxes[port.id]) for port in node.ports if port.id in placed.boxes)
    return f'<g id="{_text(element_id(node.id))}" class="sv-node">{_title(node_title(node))}{"".join(parts)}{inside}</g>'


def _port(port: Port, box: Box) -> str:
    shape = rect(box, LOOP_KINDS.get(port.kind, NODE_KINDS["port"]), radius=2)
    words = text_at(box.centre, box.y + 12.5, short(port.label, PORT_LONGEST))
    kind = text_at(box.centre, box.y + 25.5, kind_name(port.kind), colour=FAINT)
    return f'<g id="{_text(element_id(port.id))}" class="sv-port">{_title(port_title(port))}{shape}{words}{kind}</g>'


def _flows(diagram: Diagram) -> list[str]:
    """Return the state kind of each edge that joins a state's row to a step."""
    kinds = {node.id: node.loop_kind for node in diagram.nodes if node.kind == "cell"}
    return [kinds.get(edge.source) or kinds.get(edge.target) or "" for edge in diagram.edges]


def _edge(number: int, edge: Edge, points: list[Point], types: bool, flow: str) -> str:
    colour = edge_line(edge.role, edge.change, flow)
    dashes = ' stroke-dasharray="5 3"' if edge.role == "recurrence" or edge.change == "removed" else ""
    thick = (
        2.0 if edge.change or edge.role == "connection" else 1.4 if flow or edge.role == "recurrence" else 1.0
    )
    parts = [
        f'<path d="{way_text(points)}" fill="none" stroke="{colour}" stroke-width="{thick:g}"{dashes}/>',
        _plus(points, colour) if edge.role == "accumulates" else _tip(points, colour),
    ]
    hidden = flow or (edge.role == "data" and edge.label.isdigit())  # a row's label names it
    label = "" if hidden else edge.label
    if types and edge.type and edge.role == "enters":
        label = f"{label} {edge.type}".strip()
    if label or edge.change:
        x, y = _label_place(points)
        words = signed(short(label), edge.change)
        parts.append(text_at(x, y, words, anchor="start", colour=colour))
    return f'<g id="edge-{number}">{_title(edge_title(edge))}{"".join(parts)}</g>'


def _label_place(points: list[Point]) -> Point:
    """Return the position of an edge's label, beside its line."""
    if len(points) == 6 and is_straight(points):  # on rails: beside the loop
        return points[2][0] + 3, (points[2][1] + points[3][1]) / 2
    (x, y), (a, b) = points[(len(points) - 1) // 2], points[len(points) // 2]
    return (x + a) / 2 + 3, (y + b) / 2 + 3


def _plus(points: list[Point], colour: str) -> str:
    """Return the sign at the end of a sum's line: a plus in a circle."""
    (x, y), (a, b) = points[-2:]
    across, down = (a - _PLUS * sign(a - x), b) if abs(a - x) > abs(b - y) else (a, b - _PLUS * sign(b - y))
    arm = _PLUS - 1.6
    ring = Box(across - _PLUS, down - _PLUS, 2 * _PLUS, 2 * _PLUS)
    left, right, upper, lower = across - arm, across + arm, down - arm, down + arm
    bars = f"M{left:.1f} {down:.1f}L{right:.1f} {down:.1f}M{across:.1f} {upper:.1f}L{across:.1f} {lower:.1f}"
    shape = rect(ring, Paint(PAPER, colour), radius=_PLUS)
    return f'{shape}<path d="{bars}" fill="none" stroke="{colour}"/>'


def _tip(points: list[Point], colour: str) -> str:
    """Return the arrow head at the end of a path."""
    (x, y), (a, b) = points[-2], points[-1]
    if abs(a - x) > 2 * abs(b - y) and is_straight(points):  # comes in from the side
        side = sign(a - x)
        corners = [(a, b), (a - 6 * side, b - 3), (a - 6 * side, b + 3)]
    else:
        down = 1.0 if b >= y else -1.0
        corners = [(a, b), (a - 3, b - 6 * down), (a + 3, b - 6 * down)]
    path = " ".join(f"{c:.1f},{d:.1f}" for c, d in corners)
    return f'<polygon points="{path}" fill="{colour}" stroke="{colour}"/>'


def title_row(title: str) -> tuple[str, float]:
    """Return a title for the head of a picture, and its approximate width."""
    width = text_width(title[:90], TITLE)
    return text_at(width / 2, 11, short(title, 90), extra=' font-weight="bold"'), width


def words_row(words: str) -> tuple[str, float]:
    """Return a note for the head of a picture, as :func:`title_row` does."""
    width = text_width(words[:160], LETTER)
    return text_at(width / 2, 11, short(words, 160), colour=FAINT), width


def svg_head(diagram: Diagram, widest: float | None = None) -> list[tuple[str, float]]:
    """Return the title, the notes and the legend as rows with their widths, broken where they are wider."""
    rows = legend_rows(diagram)
    if widest is None:
        return [title_row(diagram.title), *map(words_row, diagram.notes), *map(swatches, rows)]
    letters = int(widest / text_width("n", LETTER))
    return [
        *map(title_row, wrap(diagram.title, int(widest / text_width("n", TITLE)))),
        *(words_row(line) for note in diagram.notes for line in wrap(note, letters)),
        *(swatches(part) for row in rows for part in _broken(row, widest)),
    ]


def _broken(row: Sequence[LegendItem], widest: float) -> Iterator[list[LegendItem]]:
    """Iterate over the lines of a row of the legend."""
    line: list[LegendItem] = []
    for item in row:
        if line and swatches([*line, item])[1] > widest:
            yield line
            line = []
        line.append(item)
    yield line


def swatches(items: Sequence[LegendItem]) -> tuple[str, float]:
    """Return a row of the legend, and its approximate width."""
    parts = []
    x = 0.0
    for text, paint, name in items:
        width = text_width(text, LETTER) + 10
        dashes = ' stroke-dasharray="4 2"' if name in _DASHED else ""
        parts.append(rect(Box(x, -1, width, 16), paint, radius=_ROUND.get(name, 2), extra=dashes))
        parts.append(text_at(x + width / 2, 11, text))
        x += width + 5
    return "".join(parts), x
