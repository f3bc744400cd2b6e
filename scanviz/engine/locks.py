"""Locks that a process made by ``fork`` finds open.

``fork`` copies the memory of a process and, of its threads, only the one that asks.  A lock that another thread held stays held
in the copy, by a thread that is not there: whoever waits for it there waits without end.  So the copy opens all locks made here but
those of its own thread.  What they guard is whole, for it is put in its place last, by one assignment.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_MADE: WeakSet[Any] = WeakSet()


def lock() -> Any:  # an RLock: a function in Python 3.11, a type in 3.13
    """Return a lock that its holder may take again, open in a process that is forked while another thread holds it.

    Examples
    --------
    >>> with lock() as taken:
    ...     taken
    True
    """
    made = threading.RLock()
    _MADE.add(made)
    return made


def _open_those_of_other_threads() -> None:
    for made in list(_MADE):
        if not made._is_owned():
            made._at_fork_reinit()  # as Python does with its own


if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=_open_those_of_other_threads)

__all__ = ["lock"]
