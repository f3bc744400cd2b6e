"""Values, types and constants of LLVM IR as text."""

from __future__ import annotations

import re
import struct
from functools import cache
from typing import NamedTuple

import numpy as np

from scanviz.engine.graph.types import BOOLEAN, SIGNED, UNSIGNED

_FLOATS = {
    "float64": "double",
    "float32": "float",
    "float16": "half",
}  # float16 is only stored: computations take float32
_BITS = re.compile(r"0x([0-9A-F]{16})")


class Value(NamedTuple):
    """A value of the code.

    Attributes
    ----------
    text : str
        Its name in the code, or the constant.
    dtype : str
        NumPy's dtype of an element; ``"address"`` for a pointer.
    lanes : int
        The number of elements.
    """

    text: str
    dtype: str
    lanes: int = 1

    @property
    def type(self) -> str:
        """The LLVM type."""
        return type_of(self.dtype, self.lanes)

    @property
    def typed(self) -> str:
        """Type and text."""
        return f"{self.type} {self.text}"


@cache
def type_of(dtype: str, lanes: int = 1) -> str:
    """Return the LLVM type of lanes of a dtype; booleans are single bits.

    Examples
    --------
    >>> type_of("float32", 8), type_of("uint8"), type_of("bool", 2)
    ('<8 x float>', 'i8', '<2 x i1>')
    """
    if dtype == "address":
        one = "ptr"
    elif dtype == BOOLEAN:
        one = "i1"
    else:
        one = _FLOATS.get(dtype) or f"i{dtype.lstrip('uint')}"
    return one if lanes == 1 else f"<{lanes} x {one}>"


def literal(number: object, dtype: str) -> str:
    """Return an LLVM literal; floating-point numbers are written by their bits.

    Examples
    --------
    >>> literal(0.5, "float64"), literal(True, "bool"), literal(-3, "int8")
    ('0x3FE0000000000000', 'true', '-3')
    """
    if is_integer(dtype):  # the usual case
        return str(int(number))  # type: ignore[call-overload]
    if dtype == "float16":
        return f"0xH{np.float16(number).view(np.uint16):04X}"  # type: ignore[arg-type]
    if dtype in _FLOATS:
        with np.errstate(over="ignore"):
            rounded = float(np.dtype(dtype).type(number))
        return f"0x{struct.unpack('>Q', struct.pack('>d', rounded))[0]:016X}"
    return "true" if number else "false"


def constant(number: object, dtype: str, lanes: int = 1) -> Value:
    """Return a constant, the same in each lane."""
    text = literal(number, dtype)
    return Value(text if lanes == 1 else f"splat ({type_of(dtype)} {text})", dtype, lanes)


def known_number(value: Value) -> float | None:
    """Return the value of a constant of floats, None for other values.

    Examples
    --------
    >>> known_number(constant(-1.5, "float64", 8)), known_number(Value("%v1", "float64"))
    (-1.5, None)
    """
    bits = None if value.text.startswith("%") else _BITS.search(value.text)
    if bits is None:
        return None
    number: float = struct.unpack(">d", bytes.fromhex(bits[1]))[0]
    return number


def is_integer(dtype: str) -> bool:
    """Return whether a dtype is one of signed or unsigned integers."""
    return dtype in SIGNED or dtype in UNSIGNED


@cache
def size_of(dtype: str) -> int:
    """Return the bytes of a number in memory."""
    return np.dtype(dtype).itemsize
