"""Arrays that machine code works on: long ones begin where a line of the cache does, as the registers of lanes want it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.buffer_pool import lent_array

LONG = 2048  # bytes: of shorter arrays making one takes longer than what is gained


class AlignedArrays(ArrayModule):
    """NumPy's arrays, the long ones aligned."""

    __slots__ = ()

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array."""
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        return np.empty(shape, kind) if size < LONG else lent_array(shape, kind, size)

    def copy(self, value: Any) -> Any:
        """Return a copy of an array that nothing else holds."""
        made = self.empty(np.shape(value), str(np.asarray(value).dtype))
        made[...] = value
        return made
