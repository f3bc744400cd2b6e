"""Where the elements of an array lie in memory, found in a tenth of a microsecond.

NumPy tells it by ``__array_interface__``, which builds a dictionary in a microsecond, and a loop in machine code is handed a dozen
addresses.  The structure behind an array begins, after what every Python object has, with the pointer to its elements: NumPy's C
interface promises that (``PyArrayObject`` in ``numpy/ndarraytypes.h``).  It is tried once; where it is not so, NumPy is asked,
as it is where Python is not CPython: its ``id`` need be no address.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array

_word = ctypes.c_size_t.from_address
_POINTER = getattr(object, "__basicsize__", 0)  # bytes in front of it


def _told(array: Array) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def _read(array: Array) -> int:
    return _word(id(array) + _POINTER).value


def _can_be_read() -> bool:
    """Return whether the pointer is where it is read: of arrays that own memory, and of views that begin elsewhere."""
    if sys.implementation.name != "cpython":
        return False
    whole = np.arange(24.0).reshape(4, 6)
    if type(whole).__basicsize__ < _POINTER + ctypes.sizeof(ctypes.c_size_t):
        return False
    return all(_read(array) == _told(array) for array in (whole, whole[1:, ::-2], whole.T[3], whole[2, 2:3]))


address = _read if _can_be_read() else _told
"""Return where the first element of a NumPy array lies, as a number."""
