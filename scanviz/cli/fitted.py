"""Fit help texts and lists to the width of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")  # between two columns


def fitted(text: str, width: int) -> str:
    r"""Return a text with lines that fit a width: paragraphs are filled, table rows continue below their last column.

    Parameters
    ----------
    text : str
        Paragraphs begin at the left; indented lines stand for themselves.
    width : int
        Columns.  What fits stays as it is.

    Examples
    --------
    >>> print(fitted("Tell what is slow.\n\n  --top N   rows of each table", 24))
    Tell what is slow.
    <BLANKLINE>
      --top N   rows of each
                table
    """
    return "\n".join(line for block in _blocks(text) for line in _wrapped(block, width))


def fitted_to(text: str, file: TextIO) -> str:
    """Return a text as wide as a file."""
    from scanviz.profiler.report.text import width_of

    return fitted(text, width_of(file))


def terminal_columns(file: TextIO) -> int | None:
    """Return the width of a terminal or from COLUMNS; None for a file or pipe."""
    import os

    from scanviz.profiler.report.text import width_of

    return width_of(file) if os.environ.get("COLUMNS") or file.isatty() else None


def code_line(line: str, width: int | None, comment: str) -> list[str]:
    """Return a line of code as lines that fit a width: indented continuations, or a cut comment.

    Examples
    --------
    >>> code_line("  call f(one, two, three)", 20, ";"), code_line("  ; a comment of a line", 20, ";")
    (['  call f(one, two,', '      three)'], ['  ; a comment of a …'])
    """
    if width is None or len(line) <= width:
        return [line]
    bare = line.lstrip()
    if bare.startswith(comment):
        return [line[: width - 1] + "…"]
    from textwrap import wrap

    below = " " * (len(line) - len(bare) + 4)
    return wrap(line, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


def _blocks(text: str) -> Iterator[list[str]]:
    """Iterate over paragraphs and indented lines."""
    paragraph: list[str] = []
    for line in text.split("\n"):
        if line and not line[0].isspace():
            paragraph.append(line)
            continue
        if paragraph:
            yield paragraph
            paragraph = []
        yield [line]
    if paragraph:
        yield paragraph


def _wrapped(lines: list[str], width: int) -> list[str]:
    if all(len(line) <= width for line in lines):
        return lines
    from textwrap import wrap

    whole = " ".join(lines)
    below = " " * _last_column(whole, width)
    return wrap(whole, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


def _last_column(line: str, width: int) -> int:
    """Return the start of a line's last column within its first half."""
    begins = [gap.end() for gap in _GAP.finditer(line) if gap.end() <= width // 2]
    return begins[-1] if begins else len(line) - len(line.lstrip())
