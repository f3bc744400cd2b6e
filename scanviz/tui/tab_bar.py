"""The line of tabs: one text, in which the tab that is seen is reversed.

Textual's own tabs are a widget each, in four more that scroll them: half of all widgets that choosing a tab laid out and drew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click, Resize
from textual.message import Message
from textual.widgets import Static

from scanviz.tui.tab_titles import fitted

WHOLE = 1_000  # columns in which no title is cut


class TabBar(Static, can_focus=True):
    """The line of tabs, titled for the width that there is.

    Parameters
    ----------
    titles : sequence of str
        Of the tabs.
    """

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "other(-1)", "tab before", show=False),
        Binding("right,l", "other(1)", "next tab", show=False),
    ]

    class Chosen(Message):
        """A tab was chosen: by the mouse, or by a key while the line has the focus, which then keeps it."""

        def __init__(self, number: int, *, by_mouse: bool) -> None:
            super().__init__()
            self.number, self.by_mouse = number, by_mouse

    def __init__(self, titles: Sequence[str], *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._titles = tuple(titles)
        self._number = 0
        self._told: object = None

    @property
    def labels(self) -> list[str]:
        """The titles with the blanks around them: on both sides, to their right, or to the right of cut ones."""
        width = self.size.width
        wide = fitted(self._titles, width, 2)
        if wide == fitted(self._titles, WHOLE, 2):
            return [f" {title} " for title in wide]
        return [f"{title} " for title in fitted(self._titles, width, 1)]

    def tell(self, number: int) -> None:
        """Show which tab is seen."""
        self._number = number
        self._draw()

    def _draw(self) -> None:
        labels = self.labels if self.size.width else []
        told = (labels, self._number, self.has_focus)
        if told == self._told:
            return
        self._told = told
        seen = "bold reverse $text-accent" if self.has_focus else "bold reverse $foreground"
        self.update(
            Content.assemble(*((label, seen if k == self._number else "") for k, label in enumerate(labels))),
            layout=False,
        )

    def on_resize(self, event: Resize) -> None:
        """Title the tabs for their width."""
        self._draw()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Show whether keys go here."""
        super().watch_has_focus(_has_focus)
        self._draw()

    def action_other(self, by: int) -> None:
        """Choose the tab beside the one that is seen."""
        self.post_message(self.Chosen((self._number + by) % len(self._titles), by_mouse=False))

    def on_click(self, event: Click) -> None:
        """Choose the tab under the mouse."""
        ends = 0
        for number, label in enumerate(self.labels):
            ends += len(label)
            if event.x < ends:
                self.post_message(self.Chosen(number, by_mouse=True))
                return


__all__ = ["TabBar"]
