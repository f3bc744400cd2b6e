"""Signals that wait while something short is done that must not stop in its middle: a file that is written.

Ctrl+c, SIGTERM and SIGHUP that come meanwhile are noted and delivered afterwards, so a signal ends a program a moment later, and
not with half of a profile.

Limits: only the main thread can hold signals back, since Python runs their handlers there; what another thread writes is whole or
not there all the same, because a file takes its place in one step.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Ctrl+c last: while others are exchanged it still does what it did, and it is the first to do so again.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name))


@contextmanager
def signals_wait() -> Iterator[None]:
    """Hold back what would end the process until the block is over, then deliver it in the order in which it came.

    Signals that are ignored stay ignored; those that the program handles itself reach its handlers.

    Examples
    --------
    >>> told = []
    >>> before = signal.signal(signal.SIGINT, lambda number, frame: told.append("interrupted"))
    >>> with signals_wait():
    ...     signal.raise_signal(signal.SIGINT)
    ...     told.append("saved")
    >>> _ = signal.signal(signal.SIGINT, before)
    >>> told
    ['saved', 'interrupted']
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    handlers = {number: signal.getsignal(number) for number in _ENDING}
    exchanged = [number for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)]
    try:
        for number in exchanged:
            signal.signal(number, note)
        yield
    finally:
        for number in exchanged:
            signal.signal(number, handlers[number])
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
