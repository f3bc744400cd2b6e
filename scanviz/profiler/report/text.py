"""Lines and tables of the report: sanitised, cut to the width, coloured where the terminal allows.

Widths are columns of a terminal: East Asian wide characters take two, combining ones none.
"""

from __future__ import annotations

import os
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple, TextIO

from scanviz.record.plain_text import sanitize

HEADING, TITLE, QUIET, WARNING, HOT = "1", "1;36", "2", "33", "31"
NARROWEST = 40  # least columns of a report
_WITH_UNIT = re.compile(r"(?<=\d) (?=(?:[µnm]?s|%|[KMG]?i?B)(?!\w))")


class ReportLine(NamedTuple):
    """A line of the report.

    Attributes
    ----------
    text : str
        Without colours; what could steer a terminal is written out when the line is styled.
    style : str
        The terminal's code of its style, empty for plain.
    wraps : bool
        Whether it goes on in the next line where it is too long; else it is cut, as rows of tables are.
    """

    text: str
    style: str = ""
    wraps: bool = False


def wrapped(text: str, style: str = "") -> ReportLine:
    """Return a line that goes on in the next one where it is too long."""
    return ReportLine(text, style, wraps=True)


def wants_color(file: TextIO) -> bool:
    """Return whether a file is a terminal that wants colours."""
    return file.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(file: TextIO) -> int:
    """Return the width of a file: ``COLUMNS``, else that of its terminal, else 100."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    try:
        return os.get_terminal_size(file.fileno()).columns or 100
    except (OSError, ValueError, AttributeError):
        return 100


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    Examples
    --------
    >>> columns("abc"), columns("日本"), columns("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, width: int) -> str:
    """Return text cut to ``width`` columns with an ellipsis; a number after ``#`` stays.

    Examples
    --------
    >>> clipped("abcdef", 4), clipped("日本語", 4), clipped("dot(x, W)#12", 8)
    ('abc…', '日…', 'dot(…#12')
    """
    if columns(text) <= width:
        return text
    name, sign, number = text.rpartition("#")
    if sign and number.isdecimal() and len(number) + 3 <= width:
        return clipped(name, width - len(number) - 1) + sign + number
    kept, used = [], 0
    for character in text:
        used += _columns_of(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + "…" if width > 0 else ""


def _padded(text: str, width: int, left: bool) -> str:
    space = " " * (width - columns(text))
    return text + space if left else space + text


def styled(line: ReportLine, width: int, color: bool) -> str:
    """Return a line wrapped or cut to the width, coloured on request.

    Examples
    --------
    >>> print(styled(ReportLine("mean 3 s, max 5 s", wraps=True), 12, False))
    mean 3 s,
        max 5 s
    """
    whole = sanitize(line.text)
    texts = [whole.rstrip()]
    if line.wraps and columns(texts[0]) > width:
        indent = " " * (len(whole) - len(whole.lstrip()))
        bound = _WITH_UNIT.sub("\u00a0", texts[0].lstrip())  # a number and its unit stay together
        wrapped = textwrap.wrap(bound, width, initial_indent=indent, subsequent_indent=indent + "    ")
        texts = [text.replace("\u00a0", " ") for text in wrapped]
    return "\n".join(_colored(clipped(text, width), line.style if color else "") for text in texts)


def rendered(lines: Iterable[ReportLine], width: int, color: bool) -> str:
    """Return lines as text that ends in a newline, each wrapped or cut to the width, coloured on request.

    Examples
    --------
    >>> print(rendered([ReportLine("one"), ReportLine("two")], 40, False), end="")
    one
    two
    """
    return "".join(styled(line, width, color) + "\n" for line in lines)


def _colored(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style and text else text


def table(rows: list[list[str]], left: int, width: int) -> list[str]:
    """Return rows as aligned lines: the first ``left`` columns left-aligned, the rest right-aligned.

    Columns are as wide as their longest cell; the first gives way, down to 12, where the whole is wider than ``width``.

    Examples
    --------
    >>> table([["loop", "time"], ["h", "3 s"]], 1, 80)
    ['loop  time', 'h      3 s']
    """
    if not rows:
        return []
    rows = [[sanitize(cell) for cell in row] for row in rows]
    widths = [max(columns(row[k]) for row in rows) for k in range(len(rows[0]))]
    others = sum(widths[1:]) + 2 * (len(widths) - 1)
    widths[0] = min(widths[0], max(12, width - others))
    lines = []
    for row in rows:
        cells = [_padded(clipped(cell, widths[k]), widths[k], k < left) for k, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines


def table_lines(
    rows: list[list[str]],
    left: int,
    width: int,
    ends: Sequence[str] = (),
    style: str = QUIET,
    hot: bool = False,
) -> list[ReportLine]:
    """Return a table as lines of a report: :func:`table`, then after each row its end, which takes the rest of the line.

    ``style`` is that of the heading; with ``hot`` the row below it stands out.

    Examples
    --------
    >>> [line.text for line in table_lines([["loop", "time"], ["h", "3 s"]], 1, 80, ["line", "h = f(h)"])]
    ['loop  time  line', 'h      3 s  h = f(h)']
    """
    texts = zip_longest(table(rows, left, width), ends, fillvalue="")
    return [
        ReportLine(f"{text}  {end}".rstrip(), style if k == 0 else HOT if hot and k == 1 else "")
        for k, (text, end) in enumerate(texts)
    ]
