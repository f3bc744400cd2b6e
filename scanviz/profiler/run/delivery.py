"""Signals that reach Python's handler in the process that they are sent to, at whatever moment they come.

What C does at a signal is to note it; Python calls the handler before its next instruction.  That loses signals which the system's
own answer, ending the process, would not have lost:

- Where a wait for a lock begins in between, nothing wakes it, and the handler is never called: a worker of a pool that the pool
  ended this way was waited for for ever.  So a thread is told of the signal too (``signal.set_wakeup_fd``), and sends it again
  until it was handled (:func:`insist_on`).
- A process that is forked inherits the handler, and the first that Python does there is to forget what C has noted: a signal that
  comes sooner is lost.  So signals are held back while a process forks, and a forked process has the system's answer again, as it
  has under python (:func:`answer`).

Limits: a program that sets a wakeup descriptor of its own, as asyncio does, is without the first.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

Handler = Callable[[int, FrameType | None], None]

PAUSE = 0.1  # seconds between two sendings, more than Python needs where nothing is lost


class _Forks:
    """What is held back while a process forks.

    Attributes
    ----------
    handlers : dict
        By signal the handler that was given to it in this process.
    watched : bool
        Whether forks are watched, in this process or the one that it was forked from.
    """

    def __init__(self) -> None:
        self.handlers: dict[int, Handler] = {}
        self.watched = False
        self._before: dict[int, set[signal.Signals | int]] = {}  # by thread what it held back in any case

    def begin(self) -> None:
        if self.handlers:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, self.handlers)
            self._before[threading.get_ident()] = before

    def end(self) -> None:
        before = self._before.pop(threading.get_ident(), None)
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        elif self.handlers:  # an interrupt came before it was noted
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self.handlers)

    def end_in_child(self) -> None:
        for number, handler in self.handlers.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, signal.SIG_DFL)
        self.end()
        self.handlers = {}
        self._before.clear()


_FORKS = _Forks()


def answer(number: int, handler: Handler) -> None:
    """Let a handler answer a signal in this process, and in none that is forked from it; call it in the main thread.

    Parameters
    ----------
    number : int
        The signal.
    handler : callable
        ``handler(number, frame)`` is called when it has come.
    """
    _FORKS.handlers[number] = handler
    if not _FORKS.watched and hasattr(os, "register_at_fork"):
        _FORKS.watched = True
        os.register_at_fork(
            before=_FORKS.begin, after_in_parent=_FORKS.end, after_in_child=_FORKS.end_in_child
        )
    signal.signal(number, handler)


def insist_on(number: int, handler: Handler) -> None:
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


__all__ = ["answer", "insist_on"]
