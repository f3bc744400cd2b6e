"""Locks that are open in a forked process.

``fork`` copies the memory of a process but only the calling thread.  A lock of another thread would stay held in the copy for ever.
So a forked process opens all locks made here, except those of its own thread.  The guarded data is consistent: each change is
published last, by one assignment.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import compress
from operator import methodcaller
from typing import Any, TypeVar
from weakref import WeakSet

Result = TypeVar("Result")

_MADE: WeakSet[Any] = WeakSet()
_TAKE, _GIVE_BACK = methodcaller("acquire"), methodcaller("release")


def lock() -> Any:  # an RLock: a function in Python 3.11, a type in 3.13
    """Return a reentrant lock that is open in a process forked while another thread holds it.

    Examples
    --------
    >>> with lock() as taken:
    ...     taken
    True
    """
    made = threading.RLock()
    _MADE.add(made)
    return made


def acquire_all(locks: Sequence[Any], do: Callable[..., Result], *arguments: Any) -> Result:
    """Acquire all locks, call a function, release the locks, and return the function's result.

    Python handles ctrl+c whenever a call returns, so a loop that acquires locks one by one may lose the latest one.  Here one call
    acquires all of them and notes each, and one call releases them.

    Examples
    --------
    >>> acquire_all([lock(), lock()], max, 2, 3)
    3
    """
    taken: list[bool] = []
    giving_back = map(_GIVE_BACK, compress(locks, taken))
    try:
        taken.extend(map(_TAKE, locks))
        return do(*arguments)
    finally:
        deque(giving_back, 0)


def _open_those_of_other_threads() -> None:
    for made in list(_MADE):
        if not made._is_owned():
            made._at_fork_reinit()  # as Python does with its own


if hasattr(os, "register_at_fork"):  # not on Windows, where no process is forked
    os.register_at_fork(after_in_child=_open_those_of_other_threads)
