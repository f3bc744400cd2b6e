"""The title, the notes and the legend above a picture in DOT."""

from __future__ import annotations

from scanviz.render import colours
from scanviz.render.colours import CHANGES, EDGES, LOOP_KINDS
from scanviz.render.diagram.model import Diagram
from scanviz.render.dot_labels import shown
from scanviz.render.labels import kind_name, legend_of, short

_LINES = {"recurrence": "- - &gt;", "accumulates": "+", "connection": "──&gt;"}
_SIGNS = {
    "input": "(rounded)",
    "shared": "(cylinder)",
    "constant": "(dashed)",
    "operation": "(box)",
    "output": "(double)",
    "port": "(box at the loop's edge)",
    "inner_input": "(rounded)",
    "inner_output": "(rounded, thick)",
    "until": "(octagon)",
    "cell": "(small box)",
    "summary": "(box in depth)",
    "loop": "(box with ports)",
}


def header_table(diagram: Diagram) -> str:
    """Return the header as an HTML-like label."""
    rows = [f'<TR><TD COLSPAN="9"><B>{shown(short(diagram.title, 90))}</B></TD></TR>']
    for note in diagram.notes:
        rows.append(f'<TR><TD COLSPAN="9">{shown(short(note, 160))}</TD></TR>')
    rows += [f"<TR>{''.join(row)}</TR>" for row in _legend_rows(diagram)]
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="2">{"".join(rows)}</TABLE>>'


def _legend_rows(diagram: Diagram) -> list[list[str]]:
    """Return the legend as rows of cells."""
    legend = legend_of(diagram)
    shapes = [
        f'<TD BGCOLOR="{colours.NODE_KINDS[kind].fill}" COLOR="{colours.NODE_KINDS[kind].line}" BORDER="1">'
        f"{_small(f'{colours.KIND_TEXT[kind]} {_SIGNS.get(kind, str())}'.strip())}</TD>"
        for kind in legend.kinds
    ]
    kinds = [
        f'<TD BGCOLOR="{LOOP_KINDS[kind].fill}" COLOR="{LOOP_KINDS[kind].line}" BORDER="1">{_small(kind_name(kind))}</TD>'
        for kind in legend.loop_kinds
    ]
    lines = [
        f'<TD><FONT COLOR="{EDGES[role]}">{_LINES[role]}</FONT> {_small(colours.ROLE_TEXT[role])}</TD>'
        for role in legend.roles
        if role in _LINES
    ]
    changes = [
        f'<TD COLOR="{CHANGES[change]}" BORDER="1">{_small(f"{colours.CHANGE_SIGNS[change]} {change}")}</TD>'
        for change in legend.changes
    ]
    heat = (
        [f'<TD BGCOLOR="{fill}" BORDER="0">{_small(" ")}</TD>' for fill in colours.HEAT]
        if legend.heat
        else []
    )
    heat_row = (
        [f"<TD>{_small('part of the time: 0')}</TD>", *heat, f"<TD>{_small(legend.heat_text())}</TD>"]
        if heat
        else []
    )
    rows = [_one_cell(row) for row in (shapes, [*kinds, *lines, *changes], heat_row) if row]
    return [[row] for row in rows]


def _one_cell(cells: list[str]) -> str:
    inner = (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="2"><TR>{"".join(cells)}</TR></TABLE>'
    )
    return f'<TD ALIGN="LEFT">{inner}</TD>'


def _small(text: str) -> str:
    return f'<FONT POINT-SIZE="8.5">{shown(text)}</FONT>'


__all__ = ["header_table"]
