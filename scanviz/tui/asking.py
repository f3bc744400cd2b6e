"""Questions to the user: a text input, and a dialogue about a running script."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

STILL_RUNNING = """The script is still running.

  s  stop it (as ctrl+c does; its profile is saved) and leave
  l  leave, and let it run on; it saves its profile when it ends
  escape  stay"""


class SearchInput(Input):
    """A line for typing an answer: visible only while a question is open; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "give up", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, disabled=True)
        self.display = False
        self._back: Callable[[], None] | None = None

    def ask(self, words: str, back: Callable[[], None]) -> None:
        """Open a question; ``back`` returns the focus when it is closed."""
        self._back = back
        self.disabled, self.display, self.value, self.placeholder = False, True, "", words
        focus_now(self)

    def action_close(self) -> None:
        """Close the question."""
        if self._back is not None:
            self._back()
        self.disabled, self.display = True, False


class LeaveScreen(ModalScreen[str]):
    """Ask whether to stop a running script when the user quits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "dismiss('stop')", "stop it"),
        Binding("l", "dismiss('leave')", "let it run on"),
        Binding("escape,q", "dismiss", "stay"),
    ]

    def compose(self) -> ComposeResult:
        """Lay the question out."""
        with Vertical(id="leave"):
            yield Static(STILL_RUNNING, markup=False)


def focus_now(widget: Widget) -> None:
    """Focus a widget at once, so that it gets the next key."""
    widget.screen.set_focus(widget)


def whole_number(text: str) -> int | None:
    """Parse a typed integer; return None for other text.

    Examples
    --------
    >>> whole_number(" 37 "), whole_number("-1"), whole_number("--1"), whole_number("²")
    (37, -1, None, None)
    """
    try:
        return int(text)
    except ValueError:
        return None
