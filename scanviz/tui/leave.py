"""Leaving while a script runs: stop it, let it run on, or stay."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from functools import partial
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

# Signals that end the application: the terminal is left as it was, and a script that runs is let run on.


def leave_on_signals(app: App[Any]) -> None:
    """Leave the terminal as it was when SIGTERM or SIGHUP ends an application; whoever listens already is left alone."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(NotImplementedError, RuntimeError):  # not here, or not in this thread
                leave = partial(app.exit, return_code=128 + number)
                asyncio.get_running_loop().add_signal_handler(number, leave)


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
