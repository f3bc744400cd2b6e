"""Fewer collections of cyclic garbage while much is made that stays: graphs and code.

Python looks for cycles whenever 700 more objects were made than went.  While a graph is built and rewritten nearly all of
them stay, so the search finds nothing and takes a tenth of the time.  It is not switched off: a large graph's garbage is
still found.

Where much was imported meanwhile, that is taken for old when the work ends: modules stay.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

from scanviz.engine.locks import lock
from scanviz.starting import SELDOM, modules_stay

MANY = 20  # modules: their objects are most of those that were made

_lock = lock()
# the program's own threshold and how many modules there were, once for each that asked for fewer, and its thread
_before: list[tuple[int, int, int]] = []


def begin() -> None:
    """Collect seldom from now on, until as many calls of :func:`end`."""
    with _lock:
        threshold = gc.get_threshold()
        _before.append((threshold[0], len(sys.modules), get_ident()))
        if 0 < threshold[0] < SELDOM:  # 0 is never
            gc.set_threshold(SELDOM, *threshold[1:])


def end() -> None:
    """Collect as before, where nobody else asked for fewer: at once, for what was made since belongs to whoever made it."""
    with _lock:
        own, modules, _ = _before.pop()
        now, *older = gc.get_threshold()
        is_last = not _before and now == SELDOM  # else somebody has set another meanwhile
        if is_last:
            if len(sys.modules) - modules > MANY:
                modules_stay()
            gc.set_threshold(own, *older)
    if is_last:
        # Python looks whether to collect whenever it makes such an object, and how far back: gc.collect(0) would look at the
        # youngest alone, and a program that builds functions in turn would keep all that it has dropped.
        _ = set[int]()


@contextmanager
def seldom() -> Iterator[None]:
    """Collect seldom inside the block.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> with seldom():
    ...     gc.get_threshold()[0] >= 50_000
    True
    >>> gc.get_threshold() == before
    True
    """
    begin()
    try:
        yield
    finally:
        end()


def _end_those_of_other_threads() -> None:
    """In a process that was forked: threads that asked for fewer are not there."""
    own = get_ident()
    for _ in [thread for _, _, thread in _before if thread != own]:
        end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_those_of_other_threads)
