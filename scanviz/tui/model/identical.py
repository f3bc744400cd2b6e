"""A thing that is known by being the same object: what was computed of a record is remembered by this."""

from __future__ import annotations

from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Identical(Generic[Thing]):
    """A thing.

    Examples
    --------
    >>> numbers = [1, 2]
    >>> Identical(numbers) == Identical(numbers), Identical(numbers) == Identical([1, 2])
    (True, False)
    """

    __slots__ = ("thing",)

    def __init__(self, thing: Thing) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identical) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)
