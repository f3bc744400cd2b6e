"""An application's terminal: sanitise all output, and end the application when the terminal is closed.

Views write unsafe characters out (:func:`scanviz.record.plain_text.sanitize`), so that they are seen and have a width.  The filter
here drops the ones that a view forgets, from every line of every widget, notices and titles included.

Textual writes in a thread of its own, from a queue of thirty texts.  If the terminal goes first (a closed window, ``tmux
kill-server``), writing fails and that thread ends.  Putting the thirty-first text into the queue then blocks forever, and the
application can neither receive the signal that ends it (SIGHUP) nor leave by itself.  Under ``nohup`` that signal is ignored, and
the thread that reads would run in a busy loop: the application looks every second whether its terminal is still there.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
from collections.abc import Sequence
from functools import partial
from typing import Any, TextIO, cast

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.driver import Driver
from textual.filter import LineFilter

from scanviz.record.plain_text import is_plain, sanitize

PERIOD = 1.0  # seconds between two looks whether the terminal is there


class TerminalApp(App[None]):
    """An application that writes sanitised text, and leaves the terminal as it was when a signal ends it."""

    def on_mount(self) -> None:
        """Restore the terminal when SIGTERM or SIGHUP ends the application, keep other handlers of these; look for the terminal."""
        terminal = getattr(self._driver, "fileno", None)  # only Textual's drivers for terminals have it
        if isinstance(terminal, int):
            self.set_interval(PERIOD, lambda: self._leave_without(terminal))
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                with contextlib.suppress(
                    NotImplementedError, RuntimeError
                ):  # not here, or not in this thread
                    leave = partial(self.exit, return_code=128 + number)
                    asyncio.get_running_loop().add_signal_handler(number, leave)

    def _leave_without(self, terminal: int) -> None:
        if has_gone(terminal):
            self.exit(return_code=128 + signal.SIGHUP)

    def get_driver_class(self) -> type[Driver]:
        """Return the driver that writes to the terminal."""
        return outliving_its_terminal(super().get_driver_class())

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of all drawn lines."""
        return [*super().get_line_filters(), Harmless()]


class TerminalStream:
    """Standard output or error of a terminal; drops writes after the terminal is closed.

    Parameters
    ----------
    stream : text stream
        The terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, if the terminal is open."""
        with contextlib.suppress(OSError, ValueError):  # no such terminal; a stream that is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, if the terminal is open."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def outliving_its_terminal(driver: type[Driver]) -> type[Driver]:
    """Return a Textual driver that shuts down in order when the terminal is closed."""

    def made(self: Any, *arguments: Any, **options: Any) -> None:
        driver.__init__(self, *arguments, **options)
        stream = getattr(self, "_file", None)  # only Textual's drivers for terminals have it
        if stream is not None:
            self._file = cast("TextIO", TerminalStream(stream))

    return type(driver.__name__, (driver,), {"__init__": made, "__module__": driver.__module__})


def has_gone(terminal: int) -> bool:
    """Return whether the other end of a terminal is closed."""
    if not hasattr(select, "poll"):  # Windows, whose terminals end their processes
        return False
    asked = select.poll()
    asked.register(terminal, 0)  # a hang-up is always reported
    return any(found & select.POLLHUP for _, found in asked.poll(0))


class Harmless(LineFilter):
    """Drop control characters from drawn lines; characters with a width become blanks."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line without unsafe characters."""
        if all(is_plain(segment.text) for segment in segments if not segment.control):
            return segments
        return [
            segment if segment.control else Segment(_without_unsafe(segment.text), segment.style)
            for segment in segments
        ]


def _without_unsafe(text: str) -> str:
    return "".join(char if sanitize(char) == char else " " * cell_len(char) for char in text)
