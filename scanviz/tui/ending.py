"""Signals that end the application: the terminal is left as it was, and a script that runs is let run on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from functools import partial
from typing import Any

from textual.app import App


def leave_on_signals(app: App[Any]) -> None:
    """Leave the terminal as it was when SIGTERM or SIGHUP ends an application; whoever listens already is left alone."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(NotImplementedError, RuntimeError):  # not here, or not in this thread
                leave = partial(app.exit, return_code=128 + number)
                asyncio.get_running_loop().add_signal_handler(number, leave)


__all__ = ["leave_on_signals"]
