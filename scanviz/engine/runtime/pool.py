"""What runs of one loop leave for later ones: taken out while a run uses it, so that no two runs ever share it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Pool(Generic[T]):
    """Things of one kind, each in the hands of one user at a time, whatever thread they are in.

    Parameters
    ----------
    make : callable
        Makes one where none is left.
    most : int
        How many are kept; those given back beyond them are let go.

    Attributes
    ----------
    give_back : callable
        Keeps what a run is done with for a later one.

    Examples
    --------
    >>> pool = Pool(list, 1)
    >>> first, second = pool.take(), pool.take()
    >>> pool.give_back(first)
    >>> pool.take() is first, pool.take() is first
    (True, False)
    """

    __slots__ = ("_kept", "_make", "give_back")

    def __init__(self, make: Callable[[], T], most: int) -> None:
        self._make = make
        self._kept: deque[T] = deque(maxlen=most)  # its methods are atomic: no lock is needed
        self.give_back: Callable[[T], None] = self._kept.append

    def take(self) -> T:
        """Return what was given back last, or a new one."""
        try:
            return self._kept.pop()
        except IndexError:
            return self._make()

    def __len__(self) -> int:
        """Return how many are left by users and in nobody's hands."""
        return len(self._kept)
