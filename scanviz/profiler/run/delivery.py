"""A signal that reaches Python's handler even where it came in the moment before the main thread began to wait.

What C does at a signal is to note it; Python calls the handler before its next instruction.  Where a wait for a lock begins in
between, nothing wakes it, and the handler is never called: a worker of a pool that the pool ended this way was waited for for ever,
where the signal's default would have ended it.  So a thread is told of the signal too (``signal.set_wakeup_fd``), and sends it
again until it was handled.

Limits: a program that sets a wakeup descriptor of its own, as asyncio does, is without it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

PAUSE = 0.1  # seconds between two sendings, more than Python needs where nothing is lost


def insist_on(number: int, handler: Callable[[int, FrameType | None], None]) -> None:
    """Send a signal again until it is no more this handler's; call it in the main thread, after the handler was set."""
    if not hasattr(os, "register_at_fork"):
        return  # a system that ends processes without asking them
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)  # a process made here would tell of its own signals
    main = threading.get_ident()

    def insist() -> None:
        while number not in os.read(reading, 64):
            pass
        while True:
            time.sleep(PAUSE)
            if signal.getsignal(number) is not handler:
                return
            signal.pthread_kill(main, number)

    threading.Thread(target=insist, name="scanviz signals", daemon=True).start()


def _forget() -> None:
    signal.set_wakeup_fd(-1)


__all__ = ["insist_on"]
