"""Leaving while a script runs: stop it, let it run on, or stay."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

WORDS = """The script is still running.

  s  stop it (as ctrl+c does; its profile is saved) and leave
  l  leave, and let it run on; it saves its profile when it ends
  escape  stay"""


class LeaveScreen(ModalScreen[str]):
    """A question with three answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "answer('stop')", "stop it"),
        Binding("l", "answer('leave')", "let it run on"),
        Binding("escape,q", "stay", "stay"),
    ]

    def compose(self) -> ComposeResult:
        """Lay the question out."""
        with Vertical(id="leave"):
            yield Static(WORDS, markup=False)

    def action_answer(self, answer: str) -> None:
        """Give an answer."""
        self.dismiss(answer)

    def action_stay(self) -> None:
        """Do not leave."""
        self.dismiss(None)
