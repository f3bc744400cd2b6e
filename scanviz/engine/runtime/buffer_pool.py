"""A pool of memory for long arrays, reused once no array refers to it any more.

The rows of a loop are new arrays in every call, since the caller may keep them.  Fresh memory of the system has no pages yet:
the first write to each page faults and fills it with zeros, which takes longer than many a step.  So long arrays are views of
*lent* memory.  An array that refers to it (a row that the user kept, a view of that) keeps it lent.  After the last such array,
the memory waits for the next request of the same size.

Waiting memory is bounded (``scanviz.config.kept_memory``); the oldest is released first.  While ``tracemalloc`` traces, nothing is
lent: it then sees the real use.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.config import Config, config
from scanviz.engine.program.plan.location import ALIGNMENT
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.array_module import ArrayModule

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array

SHORTEST = 32_768  # bytes: the system's allocator mostly keeps the pages of shorter arrays itself
_FINENESS = 8  # sizes of memory per power of two, so that one piece serves arrays of about a size
_MOST_WAITING = 64  # pieces
_BYTE = np.dtype(np.uint8)

# Unused memory, the oldest first.  Its methods are atomic, and no lock is taken: an array may be released wherever Python collects
# garbage.
_waiting: deque[Array] = deque(maxlen=_MOST_WAITING)


def _release(most: int, waiting: deque[Array] = _waiting) -> None:
    """Release the oldest waiting memory until at most ``most`` bytes wait."""
    held = sum([memory.nbytes for memory in list(waiting)])
    while held > most:
        try:
            held -= waiting.popleft().nbytes
        except IndexError:  # another thread has taken it
            break


class LentMemory:
    """Memory lent to the arrays that refer to it: it is their base, and lives as long as the last of them.

    Parameters
    ----------
    memory : array
        The memory.
    shape : tuple of int
        Shape of the array.
    kind : str
        Its dtype, as NumPy writes it with the byte order.
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
        release: Callable[[int], None] = _release,
    ) -> None:
        """Keep memory for the next request; defaults exist until Python ends, names of modules do not."""
        waiting.append(memory)
        release(settings.kept_memory)


def lent_bytes(size: int) -> Array:
    """Return memory aligned to 64 bytes, used before or new; its content is arbitrary.

    Examples
    --------
    >>> first = lent_bytes(100_000)
    >>> kept, place = first[5:6], first.ctypes.data
    >>> del first
    >>> other = lent_bytes(100_000)  # a view of the first is in use
    >>> other.ctypes.data == place
    False
    >>> del kept
    >>> lent_bytes(100_000).ctypes.data == place
    True
    """
    return lent_array((size,), _BYTE, size)


def lent_array(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
    """Return an array of ``size`` bytes in such memory."""
    room = 0 if size < SHORTEST else _room(size)
    if not room or room > config.kept_memory or _is_traced():
        try:
            memory = np.empty(size + ALIGNMENT, np.uint8)
        except MemoryError:
            np.empty(shape, dtype)  # the error of NumPy names the array's shape and dtype
            raise
        start = -address(memory) % ALIGNMENT
        return np.ndarray(shape, dtype, memory, start)
    found = _taken(room)
    if found is None:
        _release(config.kept_memory)
        found = np.empty(room, np.uint8)
    return np.asarray(LentMemory(found, shape, dtype.str))


def _taken(room: int) -> Array | None:
    """Take the latest waiting memory of a size; return None if there is none."""
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
    return found


def _room(size: int) -> int:
    """Return the bytes of the memory for an array of a size."""
    step = max(4096, 1 << size.bit_length() - _FINENESS.bit_length())
    return -(-size // step) * step + ALIGNMENT


def _is_traced() -> bool:
    tracing = sys.modules.get("tracemalloc")
    return tracing is not None and tracing.is_tracing()


LONG = 2048  # bytes: for shorter arrays alignment costs more than it gains


class AlignedArrays(ArrayModule):
    """NumPy arrays for machine code: long ones are aligned to cache lines, for vector registers."""

    __slots__ = ()

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array."""
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        return np.empty(shape, kind) if size < LONG else lent_array(shape, kind, size)

    def copy(self, value: Any) -> Any:
        """Return an independent copy of an array."""
        made = self.empty(np.shape(value), str(np.asarray(value).dtype))
        made[...] = value
        return made
