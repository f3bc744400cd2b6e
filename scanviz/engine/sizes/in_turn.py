"""Walks from items to their needs without recursion: a graph may be deeper than Python's stack.

Values are found so that need others before them: numbers that stand for variables, shapes, rebuilt graphs.  So is the place where
such a walk ends: what a step takes from outside, what is computed before a loop, what the body of a scalar loop captures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def in_turn(
    first: Item, needed: Callable[[Item], Iterable[Item]], done: Callable[[Item], bool]
) -> Iterator[Item]:
    """Iterate over the needs of an item and then the item, skipping those that are done.

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


def ends(
    first: Sequence[Item], needed: Callable[[Item], Sequence[Item]], stops: Callable[[Item], bool]
) -> list[Item]:
    """Return the items where a walk from items to their needs stops, in the order of the walk."""
    found: dict[Item, None] = {}
    seen: set[Item] = set()
    stack = list(reversed(first))
    while stack:
        item = stack.pop()
        if item in seen:
            continue
        seen.add(item)
        if stops(item):
            found[item] = None
        else:
            stack.extend(reversed(needed(item)))
    return list(found)
