"""Context variables: what holds in a block of this thread, and for nothing that runs beside it.

Building asks in many places for what was said once around it: the loop that a node belongs to, the rule that makes it.  Such a
thing is said by ``with holding(…)``, so that no function between has to hand it on and no other thread sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def holding(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """Let a context variable have a value in the block, and give it; outside of blocks most have another type, as None.

    Examples
    --------
    >>> depth = ContextVar("depth", default=0)
    >>> with holding(depth, depth.get() + 1) as inside:
    ...     depth.get(), inside
    (1, 1)
    >>> depth.get()
    0
    """
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
