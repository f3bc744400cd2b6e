"""Context variables: what holds in a block of this thread, and for nothing that runs beside it.

Building asks in many places for what was said once around it: the loop that a node belongs to, the rule that makes it.  Such a
thing is said by ``with holding(…)``, so that no function between has to hand it on and no other thread sees it.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class holding(Generic[T]):  # noqa: N801  # a context manager, written like a function
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

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: T) -> None:
        self._variable, self._value = variable, value
        self._token: Token[Any] | None = None

    def __enter__(self) -> T:
        self._token = self._variable.set(self._value)
        return self._value

    def __exit__(self, *ending: object) -> None:
        assert self._token is not None
        self._variable.reset(self._token)
