"""Styled lines and small tables of the report."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.profiler.units import clipped

HEADING, TITLE, QUIET, WARNING, HOT = "1", "1;36", "2", "33", "31"


class Line(NamedTuple):
    """A line of the report: its text, and the terminal's code of its style (empty for plain)."""

    text: str
    style: str = ""


def styled(line: Line, width: int, color: bool) -> str:
    """Return a line clipped to the width, with its style where colours are wanted."""
    text = clipped(line.text.rstrip(), width)
    return f"\x1b[{line.style}m{text}\x1b[0m" if color and line.style and text else text


def table(rows: list[list[str]], left: int, width: int) -> list[str]:
    """Return rows as aligned lines: the first ``left`` columns to the left, the rest to the right.

    Column widths follow the longest cell; the last column takes what is left of ``width``.
    """
    if not rows:
        return []
    count = len(rows[0])
    widths = [max(len(row[k]) for row in rows) for k in range(count)]
    if left:
        rest = sum(widths[1:]) + 2 * (count - 1)
        widths[0] = min(widths[0], max(12, width - rest))
    lines = []
    for row in rows:
        cells = [clipped(cell, widths[k]) for k, cell in enumerate(row)]
        padded = [
            cell.ljust(widths[k]) if k < left else cell.rjust(widths[k]) for k, cell in enumerate(cells)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines
