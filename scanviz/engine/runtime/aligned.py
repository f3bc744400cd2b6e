"""Arrays that machine code works on: long ones begin where a line of the cache does, as the registers of lanes want it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.recycled import lent_bytes

LONG = 2048  # bytes: of shorter arrays making one takes longer than what is gained


def address(array: Array) -> int:
    """Return where an array's first element lies."""
    found: int = array.__array_interface__["data"][0]
    return found


class AlignedArrays(ArrayModule):
    """NumPy's arrays, the long ones aligned."""

    __slots__ = ()

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if size < LONG:
            return np.empty(shape, dtype)
        return lent_bytes(size).view(dtype).reshape(shape)

    def copy(self, value: Any) -> Any:
        """Return a copy of an array that nothing else holds."""
        made = self.empty(np.shape(value), str(np.asarray(value).dtype))
        made[...] = value
        return made
