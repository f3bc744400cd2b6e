"""A pool of memory for long arrays, reused once no array refers to it any more.

The rows of a loop are new arrays in every call, since the caller may keep them.  Fresh memory of the system has no pages yet: the
first write to each page faults and fills it with zeros, which takes longer than many a step.  So long arrays are views of *lent*
memory: the last array that refers to it (a row that the user kept, a view of that) keeps it lent, and after that the memory waits
for the next request of the same size.

Waiting memory is bounded (``scanviz.config.kept_memory``); the oldest is released first.  New memory also releases some of it
if both together far exceed the largest use so far: arrays of other sizes replace it and do not add to it.  Longer pieces are the
system's own pages (:mod:`scanviz.engine.runtime.pages`) and return to the system.  While ``tracemalloc`` traces, nothing is lent:
it then sees the real use.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.config import Config, config
from scanviz.engine.program.plan.location import ALIGNMENT
from scanviz.engine.runtime.address import address

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array

SHORTEST = 32_768  # bytes: the system's allocator keeps the pages of shorter arrays itself, mostly
_FINENESS = (
    8  # rooms have sizes that are this many to each power of two, so that one serves arrays of about a size
)
_MOST_WAITING = 64
_BYTE = np.dtype(np.uint8)

# Memory in nobody's hands, the oldest first.  Its methods are atomic, and no lock is taken: what is lent may end wherever
# Python collects garbage.
_waiting: deque[Array] = deque(maxlen=_MOST_WAITING)
_BESIDE = 4  # of what may wait a quarter may come on top of what was ever in use at once
_RECOUNTED = 64  # of so many that are given back, one is weighed together with all that wait


class _Weight:
    """About how many bytes wait and are lent: adding all up takes longer than a short call.

    What waits is never more than that, but for what threads lose of each other's sums until the next time that all is weighed.

    Attributes
    ----------
    waiting, lent : int
        The bytes.
    most_lent : int
        How many were lent at once at most.
    """

    __slots__ = ("given_back", "lent", "most_lent", "waiting")

    def __init__(self) -> None:
        self.waiting = self.lent = self.most_lent = self.given_back = 0

    def give_back(self, size: int, most: int) -> bool:
        """Count what was given back; return whether all is to be weighed."""
        self.lent -= size
        self.waiting += size
        self.given_back += 1
        return self.waiting > most or not self.given_back % _RECOUNTED

    def lend(self, size: int) -> None:
        """Count what is lent, which does not wait."""
        self.lent += size
        if self.lent > self.most_lent:
            self.most_lent = self.lent


_weight = _Weight()


def _let_go(most: int, waiting: deque[Array] = _waiting, weight: _Weight = _weight) -> None:
    """Weigh what waits, and let the oldest go until no more than ``most`` bytes do."""
    held = sum([other.nbytes for other in list(waiting)])
    while held > most:
        try:
            held -= waiting.popleft().nbytes
        except IndexError:  # another thread has taken what was there
            break
    weight.waiting = held


class LentMemory:
    """Memory in the hands of the arrays that look into it; as their base it lives as long as the last of them.

    Parameters
    ----------
    memory : array
        The room.
    shape : tuple of int
        Of the array that looks into it.
    kind : str
        Its dtype, as NumPy writes it with the order of the bytes.
    """

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, memory: Array, shape: tuple[int, ...], kind: str) -> None:
        self._memory = memory
        start = address(memory)
        self.__array_interface__ = {
            "data": (start + -start % ALIGNMENT, False),
            "shape": shape,
            "typestr": kind,
            "version": 3,
        }

    def __del__(self) -> None:
        self._give_back(self._memory)

    @staticmethod
    def _give_back(
        memory: Array,
        waiting: deque[Array] = _waiting,
        settings: Config = config,
        weight: _Weight = _weight,
        let_go: Callable[[int], None] = _let_go,
    ) -> None:
        """Let memory wait for the next; a default is there still when Python ends, and a module's name is not."""
        waiting.append(memory)
        most = settings.kept_memory
        if weight.give_back(memory.nbytes, most):
            let_go(most)


def lent_bytes(size: int) -> Array:
    """Return memory that begins at a multiple of 64 bytes, used before or new; its bytes are anything.

    Examples
    --------
    >>> first = lent_bytes(100_000)
    >>> kept, place = first[5:6], first.ctypes.data
    >>> del first
    >>> other = lent_bytes(100_000)  # somebody still looks into the first
    >>> other.ctypes.data == place
    False
    >>> del kept
    >>> lent_bytes(100_000).ctypes.data == place
    True
    """
    return lent_array((size,), _BYTE, size)


def lent_array(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
    """Return an array in such memory; ``size`` is how many bytes it has."""
    room = 0 if size < SHORTEST else _room(size)
    if not room or room > config.kept_memory or _is_traced():
        try:
            memory = np.empty(size + ALIGNMENT, np.uint8)
        except MemoryError:
            np.empty(shape, dtype)  # NumPy says which array has no room, not how many bytes
            raise
        start = -address(memory) % ALIGNMENT
        return np.ndarray(shape, dtype, memory, start)
    found = _taken(room)
    return np.asarray(LentMemory(_new(room) if found is None else found, shape, dtype.str))


def _new(room: int) -> Array:
    """Return new memory, which what waits makes room for."""
    more = max(0, _weight.most_lent - _weight.lent - room) + config.kept_memory // _BESIDE
    if _weight.waiting > more:
        _let_go(more)
    from scanviz.engine.runtime.pages import new_bytes  # short loops lend nothing

    made = new_bytes(room)
    _weight.lend(room)  # not before: there may be no memory
    return made


def waiting_bytes() -> int:
    """Return how much memory waits to be used again."""
    return sum(memory.nbytes for memory in list(_waiting))


def _taken(room: int) -> Array | None:
    """Return memory of a size that waits, the one given back last; None if there is none."""
    others: list[Array] = []
    found: Array | None = None
    while found is None:
        try:
            memory = _waiting.pop()
        except IndexError:
            break
        if memory.nbytes == room:
            found = memory
        else:
            others.append(memory)
    if others:
        _waiting.extend(reversed(others))
    if found is not None:
        _weight.waiting -= room
        _weight.lend(room)
    return found


def _room(size: int) -> int:
    """Return the bytes of the room that an array of a size gets, which is no short one."""
    step = max(4096, 1 << size.bit_length() - _FINENESS.bit_length())
    return -(-size // step) * step + ALIGNMENT


def _is_traced() -> bool:
    tracing = sys.modules.get("tracemalloc")
    return tracing is not None and tracing.is_tracing()
