"""A loop's mappings and its connection pattern as SVG: columns and cells in the colours of their loop variables, for a slide."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.render.colours import FAINT, LOOP_KINDS, NODE_KINDS, Paint
from scanviz.render.diagram.connections import ConnectionMatrix
from scanviz.render.diagram.mappings import COLUMNS, HEADINGS, ListEntry, MappingsTable
from scanviz.render.labels import loop_kind_item, short, text_width
from scanviz.render.layout.placed import LETTER, Box, Placed
from scanviz.render.svg import document, rect, swatches, text_at, title_row, words_row

_ROW, _HEIGHT, _GROUP_GAP, _COLUMN_GAP = 30.0, 22.0, 8.0, 80.0
_TOP = 34.0  # below the headings
_LONGEST = 30  # characters of an entry
_JOINED = "numbers are places in the lists; lines join what belongs together"
_REACHED = "rows: inputs, columns: outputs; ● reaches it in some step, · never does"


def mappings_svg(table: MappingsTable) -> str:
    """Return the four lists of a loop as columns, with lines between related entries.

    Parameters
    ----------
    table : MappingsTable
        As :func:`~scanviz.render.diagram.mappings.mappings_table` makes it.
    """
    widths = [_column_width(table.entries(column), HEADINGS[k]) for k, column in enumerate(COLUMNS)]
    lefts = [sum(widths[:k]) + _COLUMN_GAP * k + 10.0 for k in range(4)]
    boxes: dict[tuple[str, int], Box] = {}
    top = _TOP
    for group in table.groups:
        rows = max(len(cells) for cells in group.cells)
        for k, cells in enumerate(group.cells):
            for row, entry in enumerate(cells):
                boxes[entry.column, entry.index] = Box(lefts[k], top + row * _ROW, widths[k], _HEIGHT)
        top += rows * _ROW + _GROUP_GAP
    body = [
        text_at(left + width / 2, 20, heading, extra=' font-weight="bold"')
        for left, width, heading in zip(lefts, widths, HEADINGS, strict=True)
    ]
    for line in table.lines:
        if COLUMNS.index(line.right) - COLUMNS.index(line.left) == 1:
            start, end = boxes[line.left, line.left_index], boxes[line.right, line.right_index]
            kind = next(e.kind for e in table.entries(line.left) if e.index == line.left_index)
            body.append(_line(start, end, kind))
    for column in COLUMNS:
        for entry in table.entries(column):
            body.append(_entry(entry, boxes[entry.column, entry.index]))
    title = f"loop {table.loop}: what its variables are called outside and inside"
    placed = Placed(width=lefts[-1] + widths[-1] + 10.0, height=top)
    return document(
        title, _head(title, _JOINED, [group.kind for group in table.groups]), "\n".join(body), placed
    )


def connections_svg(matrix: ConnectionMatrix) -> str:
    """Return a loop's connection pattern as a matrix of outer inputs and outer outputs.

    Parameters
    ----------
    matrix : ConnectionMatrix
        As :func:`~scanviz.render.diagram.connections.connection_matrix` makes it.
    """
    left = _column_width(matrix.rows, "") + 24.0
    widths = [max(44.0, _width(entry)) for entry in matrix.columns]
    starts = [left + sum(widths[:k]) + 12.0 * k for k in range(len(widths))]
    body = []
    for entry, x, width in zip(matrix.columns, starts, widths, strict=True):
        body.append(_entry(entry, Box(x, 4.0, width, _HEIGHT)))
    for row, (entry, cells) in enumerate(zip(matrix.rows, matrix.cells, strict=True)):
        y = _TOP + row * _ROW
        body.append(_entry(entry, Box(10.0, y, left - 24.0, _HEIGHT)))
        for reaches, x, width in zip(cells, starts, widths, strict=True):
            body.append(_mark(reaches, x + width / 2, y + _HEIGHT / 2, entry.kind))
    title = f"loop {matrix.loop}: which input reaches which output"
    kinds = [entry.kind for entry in (*matrix.rows, *matrix.columns)]
    wide = (starts[-1] + widths[-1] if starts else left) + 10.0
    placed = Placed(width=wide, height=_TOP + len(matrix.rows) * _ROW)
    return document(title, _head(title, _REACHED, kinds), "\n".join(body), placed)


def _head(title: str, words: str, kinds: Sequence[str]) -> list[tuple[str, float]]:
    shown = [kind for kind in LOOP_KINDS if kind in kinds]
    return [
        title_row(title),
        words_row(words),
        swatches([loop_kind_item(kind) for kind in shown]),
    ]


def _width(entry: ListEntry) -> float:
    return text_width(_label(entry), LETTER) + 18.0


def _label(entry: ListEntry) -> str:
    return short(f"{entry.index}: {entry.label}", _LONGEST)


def _column_width(entries: Sequence[ListEntry], heading: str) -> float:
    return max([_width(entry) for entry in entries] + [text_width(heading, 12.5), 60.0])


def _paint(kind: str) -> Paint:
    return LOOP_KINDS.get(kind, NODE_KINDS["port"])


def _entry(entry: ListEntry, box: Box) -> str:
    shape = rect(box, _paint(entry.kind), radius=4)
    return f"<g>{shape}{text_at(box.centre, box.y + 15, _label(entry))}</g>"


def _line(start: Box, end: Box, kind: str) -> str:
    x, y, a, b = start.right, start.y + _HEIGHT / 2, end.x, end.y + _HEIGHT / 2
    half = (x + a) / 2
    bend = (
        f"C{half:.1f} {y:.1f} {half:.1f} {b:.1f} {a:.1f} {b:.1f}" if abs(b - y) > 0.5 else f"L{a:.1f} {b:.1f}"
    )
    path = f"M{x:.1f} {y:.1f}{bend}"
    return f'<path d="{path}" fill="none" stroke="{_paint(kind).line}" stroke-width="1.6"/>'


def _mark(reaches: bool, x: float, y: float, kind: str) -> str:
    if not reaches:
        return text_at(x, y + 4, "·", colour=FAINT)
    paint = _paint(kind)
    return rect(Box(x - 7, y - 7, 14, 14), Paint(paint.line, paint.line), radius=7)
