"""The edge above or below a panel: a line with what the panel answers at its beginning, or where one is in it at its end.

Textual's own titles of borders draw the whole panel anew whenever they change, which took three times as long as a move of the
cursor.
"""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual.events import Resize

from scanviz.tui.views.base import TextBlock


class PanelEdge(TextBlock):
    """A line of one row, as wide as its panel."""

    FILLS: ClassVar[bool] = True

    def __init__(self, begin: str = "", *, below: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.words = begin
        self._below = below

    def tell(self, words: str) -> None:
        """Show words in the line: at its beginning, or at its end if it is below the panel."""
        if words != self.words:
            self.words = words
            self._draw()

    def _draw(self) -> None:
        if self.size.width > 2:
            self.show(drawn(self.words, self.size.width, self._below))

    def on_resize(self, event: Resize) -> None:
        """Draw for another width."""
        self._draw()


def drawn(words: str, width: int, below: bool) -> str:
    """Return an edge of exactly so many columns; words that do not fit are left out.

    Examples
    --------
    >>> drawn("loops", 14, False), drawn("1 of 3", 14, True), drawn("1 of 3", 8, True)
    ('╭─ loops ────╮', '╰─── 1 of 3 ─╯', '╰──────╯')
    """
    left, right = "╰╯" if below else "╭╮"
    room = width - 3 - cell_len(words) - 2
    if not words or room < 1:
        return left + "─" * (width - 2) + right
    return f"{left}{'─' * room} {words} ─{right}" if below else f"{left}─ {words} {'─' * room}{right}"


__all__ = ["PanelEdge", "drawn"]
