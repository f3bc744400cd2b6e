"""A walk to what something needs, before it: without recursion, for a graph may be deeper than Python's stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def in_turn(
    first: Item, needed: Callable[[Item], Iterable[Item]], done: Callable[[Item], bool]
) -> Iterator[Item]:
    """Iterate over what something needs, and then itself: those that are not done yet when their turn comes.

    Whatever is given, all that it needs is done; the caller does it before it asks for the next.
    """
    stack = [first]
    while stack:
        item = stack[-1]
        if done(item):
            stack.pop()
        elif waiting := [other for other in needed(item) if not done(other)]:
            stack += waiting
        else:
            yield item
            stack.pop()
