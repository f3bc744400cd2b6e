"""A line in which something is asked for: seen only while it is asked, and given up by escape."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input


class SearchInput(Input):
    """A line to write an answer in."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "give up", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, disabled=True)
        self.display = False
        self._back: Callable[[], None] | None = None

    def ask(self, words: str, back: Callable[[], None]) -> None:
        """Ask for something; ``back`` gives the focus back when that is over."""
        self._back = back
        self.disabled, self.display, self.value, self.placeholder = False, True, "", words
        focus_now(self)

    @property
    def asked(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self.display)

    def action_close(self) -> None:
        """Ask no more."""
        if self._back is not None:
            self._back()
        self.disabled, self.display = True, False


def focus_now(widget: Widget) -> None:
    """Give the focus to a widget at once, so that the next key is its own however soon it comes."""
    widget.screen.set_focus(widget)


def whole_number(text: str) -> int | None:
    """Return the whole number that was typed; None for what is none, or has thousands of digits.

    Examples
    --------
    >>> whole_number(" 37 "), whole_number("-1"), whole_number("--1"), whole_number("²")
    (37, -1, None, None)
    """
    try:
        return int(text)
    except ValueError:
        return None
