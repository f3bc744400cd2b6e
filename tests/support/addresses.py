"""Memory by address, for NumPy: bytes that begin at a line, junk in them, and arrays at any offset and strides."""

from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.plan.location import ALIGNMENT, packed

JUNK = 0xFF  # not a number, or -1


def memory(size: int) -> Array:
    """Return so many bytes whose address is a multiple of a line.

    Examples
    --------
    >>> address(memory(100)) % 64
    0
    """
    whole = np.empty(size + ALIGNMENT, np.uint8)
    return whole[-address(whole) % ALIGNMENT :][:size]


def address(array: Array) -> int:
    """Return where the first element of an array lies."""
    return int(array.__array_interface__["data"][0])


def fill(array: Array) -> None:
    """Fill memory with junk."""
    array[...] = np.frombuffer(bytes([JUNK] * array.itemsize), array.dtype)[0]


def array_at(base: Array, offset: int, shape: tuple[int, ...], dtype: str, strides: Any = None) -> Array:
    """Return an array in the memory of another, so many bytes from its first element; in C order without ``strides``.

    Examples
    --------
    >>> array_at(np.arange(6.0), 40, (3,), "float64", (-16,))
    array([5., 3., 1.])
    """
    return np.asarray(_Memory(base, offset, shape, dtype, strides))


class _Memory:
    """Memory as NumPy takes it from others; keeps whose it is alive."""

    def __init__(self, base: Array, offset: int, shape: tuple[int, ...], dtype: str, strides: Any) -> None:
        self.base = base
        self.__array_interface__ = {
            "version": 3,
            "data": (address(base) + offset, False),
            "shape": shape,
            "strides": packed(shape, np.dtype(dtype).itemsize) if strides is None else strides,
            "typestr": np.dtype(dtype).str,
        }
