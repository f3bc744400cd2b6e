"""New memory for long arrays, by pages of the system's own, which has them again as soon as the memory goes.

The system's allocator learns from long arrays that come and go: it then keeps their memory, up to twice 32 MB and what lies between
others, for arrays that may never come.  Whoever keeps memory to use it again needs that twice as little.

Limits: elsewhere than on Linux memory comes from NumPy.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array

SHORTEST = 1 << 20  # bytes: of less, what a call of the system takes counts
HUGE = 1 << 22  # as of NumPy's own arrays: pages of 2 MB, where the system has them
_PAGE = 1 << 21


def new_bytes(size: int) -> Array:
    """Return new memory of this many bytes, which are anything.

    Examples
    --------
    >>> len(new_bytes(3_000_000))
    3000000
    """
    if size < SHORTEST or sys.platform != "linux":
        return np.empty(size, np.uint8)
    import mmap  # short arrays do without it

    huge = size >= HUGE
    # addresses cost nothing: of whole pages alone Linux lets the first begin where a page does
    room = -(-size // _PAGE) * _PAGE if huge else size
    try:
        pages = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:  # NumPy says in its words that there is no memory
        return np.empty(size, np.uint8)
    if huge:
        whole = (size + _PAGE // 2) // _PAGE * _PAGE  # of which the last is needed at least by half
        with suppress(OSError, AttributeError):  # a system without them
            pages.madvise(mmap.MADV_HUGEPAGE, 0, whole)
    return np.frombuffer(pages, np.uint8, size)
