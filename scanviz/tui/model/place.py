"""Positions in scrolled widgets, for the edge of a panel, such as ``3 of 38 · 4 more columns →``."""

from __future__ import annotations

from rich.cells import cell_len
from textual.message import Message

APART = 2  # columns between a line's beginning and its end


class Scrolled(Message):
    """A scrolled widget shows another part, or its cursor has moved."""

    bubble = True


def place_words(row: int, rows: int, hidden: int = 0, aside: int = 0) -> str:
    """Return a position in words: row and number of rows, and hidden columns to the right and left.

    Parameters
    ----------
    row : int
        Counted from 0; below 0 for none.
    rows, hidden, aside : int
        Number of rows, and of hidden columns to the right and to the left.

    Examples
    --------
    >>> place_words(2, 38, 4), place_words(0, 1), place_words(-1, 0)
    ('3 of 38 · 4 more columns →', '1 of 1', '')
    """
    words = [f"{row + 1:,} of {rows:,}"] if rows and row >= 0 else []
    sides = ("← " if aside else "") + (f"{hidden} more column{'s' * (hidden > 1)} →" if hidden else "")
    return " · ".join([*words, *([sides.strip()] if sides else [])])


def with_end(begin: str, end: str, width: int) -> str:
    """Return a line with a text at its end if both fit.

    Examples
    --------
    >>> with_end("rnn.py", "1 of 3", 16), with_end("rnn.py", "1 of 3", 10)
    ('rnn.py    1 of 3', 'rnn.py')
    """
    room = width - cell_len(begin) - cell_len(end)
    return begin + " " * room + end if end and room >= APART else begin
