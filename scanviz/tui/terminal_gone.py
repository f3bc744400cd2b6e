"""What an application writes to when its terminal has gone: nothing, and that is no error.

Textual writes in a thread of its own, from a queue of thirty texts.  Where the terminal goes first (a closed window, ``tmux
kill-server``), writing fails, that thread ends, and whoever puts the thirty-first text into the queue waits forever: the
application can then neither hear the signal that ends it nor leave by itself.

Usually that signal is SIGHUP.  Where it is ignored (under ``nohup``), the application asks every second whether its terminal is
still there: the thread that reads would otherwise read nothing for ever, as fast as it can.
"""

from __future__ import annotations

import select
import signal
from typing import Any, TextIO, cast

from textual.app import App
from textual.driver import Driver

PERIOD = 1.0  # seconds between two looks whether the terminal is there


class TerminalStream:
    """Standard output or error as long as there is a terminal behind it; later whatever is written is dropped.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False

    def write(self, text: str) -> int:
        """Write a text, if anybody can see it."""
        if not self._gone:
            try:
                return self._stream.write(text)
            except (OSError, ValueError):  # no such terminal; a stream that is closed
                self._gone = True
        return len(text)

    def flush(self) -> None:
        """Pass on what was written, if anybody can see it."""
        if not self._gone:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._gone = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def outliving_its_terminal(driver: type[Driver]) -> type[Driver]:
    """Return a driver of Textual's that ends in good order where its terminal has gone."""

    def made(self: Any, *arguments: Any, **options: Any) -> None:
        driver.__init__(self, *arguments, **options)
        stream = getattr(self, "_file", None)  # of Textual's drivers for terminals; others have none
        if stream is not None:
            self._file = cast("TextIO", TerminalStream(stream))

    return type(driver.__name__, (driver,), {"__init__": made, "__module__": driver.__module__})


def _has_gone(terminal: int) -> bool:
    """Return whether nobody is at the other end of a terminal."""
    if not hasattr(select, "poll"):  # Windows, whose terminals end their processes
        return False
    asked = select.poll()
    asked.register(terminal, 0)  # a hang-up is told without being asked for
    return any(found & select.POLLHUP for _, found in asked.poll(0))


class OutlivesItsTerminal(App[None]):
    """An application that ends when its terminal goes."""

    def on_mount(self) -> None:
        """Look from time to time whether the terminal is there."""
        terminal = getattr(
            self._driver, "fileno", None
        )  # of Textual's drivers for terminals; others have none
        if isinstance(terminal, int):
            self.set_interval(PERIOD, lambda: self._leave_without(terminal))

    def _leave_without(self, terminal: int) -> None:
        if _has_gone(terminal):
            self.exit(return_code=128 + signal.SIGHUP)

    def get_driver_class(self) -> type[Driver]:
        """Return what the terminal is written to by."""
        return outliving_its_terminal(super().get_driver_class())
