"""Types of variables.

A :class:`TensorType` has a dtype and a shape in which each dimension is an int or None for unknown.  There are no
broadcast flags: a dimension of size 1 is known to be 1, an unknown one is checked when values are there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import index
from typing import Any, Final, NoReturn

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError

Dimension = int | None
Shape = tuple[Dimension, ...]

BOOLEAN = "bool"
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "float32", "float64")
DTYPES = (BOOLEAN, *INTEGERS, *FLOATS)
_CANONICAL: dict[object, str] = {name: name for name in DTYPES}
_KINDS_OF_NUMPY = frozenset(type(np.dtype(name)) for name in DTYPES)


def canonical_dtype(dtype: object) -> str:
    """Return the name of a dtype, such as ``"float64"``, from anything NumPy understands.

    Raises
    ------
    ScanvizTypeError
        If it is no dtype, or one that scanviz does not compute with (complex, object, strings, dates).

    Examples
    --------
    >>> canonical_dtype(float)
    'float64'
    """
    try:
        known = _CANONICAL.get(dtype)
    except TypeError:
        known = None
    if known is not None:
        return known
    try:
        name = str(np.dtype(dtype).name)  # type: ignore[call-overload]  # anything: NumPy decides
    except Exception as error:  # anything may be asked for its dtype, and fail in its own way
        fix = None
        if isinstance(dtype, tuple | list) or hasattr(dtype, "__index__"):
            fix = "sizes as one tuple, T.zeros((rows, columns)) and T.tensor(dtype, (rows, columns), name)"
        raise ScanvizTypeError.here(
            f"{dtype!r} is not a dtype", expected=", ".join(DTYPES), fix=fix
        ) from error
    if name not in _CANONICAL:
        two_parts = "carry the real and the imaginary part as two real variables"
        fix = two_parts if name.startswith("complex") else None
        raise ScanvizTypeError.here(f"dtype {name} is not supported", expected=", ".join(DTYPES), fix=fix)
    if type(dtype) in _KINDS_OF_NUMPY:
        _CANONICAL[dtype] = name  # there are few; NumPy makes a name anew each time
    return name


def _checked_sizes(shape: object) -> tuple[int | None, ...]:
    """Return a shape as a tuple of int or None, or raise."""
    if type(shape) is tuple:
        for size in shape:
            if size is not None and (type(size) is not int or size < 0):
                break
        else:
            return shape  # as rules of operations give it
    if isinstance(shape, tuple | list) and any(isinstance(size, bool) for size in shape):
        meant = tuple((1 if size else None) if isinstance(size, bool) else size for size in shape)
        raise ScanvizTypeError.here(
            "a shape consists of sizes, not of broadcast flags: axes of size 1 broadcast",
            expected="sizes, or None where unknown",
            found=repr(shape),
            fix=repr(meant),
        )
    try:
        sizes = tuple(None if size is None else index(size) for size in shape)  # type: ignore[attr-defined]  # anything
    except TypeError:
        raise ScanvizTypeError.here(
            "a shape is a tuple with one entry a dimension",
            expected="sizes, or None where unknown",
            found=repr(shape),
            fix='T.tensor("float64", (3, None), "x")',
        ) from None
    if any(size is not None and size < 0 for size in sizes):
        raise ScanvizValueError.here(
            "a dimension cannot be negative", expected="sizes of 0 or more, or None", found=sizes
        )
    return sizes


class AnyType:
    """Base of the types, needed by msgspec."""

    __slots__ = ()


class TensorType(AnyType):
    """An array of a dtype, with a shape whose dimensions may be unknown.

    Attributes
    ----------
    dtype : str
        Name of the dtype.
    shape : tuple of (int or None)
        One entry a dimension; None is unknown until run time.

    Examples
    --------
    >>> TensorType("float64", (3, None))
    TensorType('float64', (3, None))
    """

    __slots__ = ("_hash", "dtype", "shape")
    dtype: str
    shape: Shape

    def __init__(self, dtype: object, shape: tuple[int | None, ...] | list[int | None] = ()) -> None:
        sizes = _checked_sizes(shape)
        name = canonical_dtype(dtype)
        object.__setattr__(self, "dtype", name)
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "_hash", hash((name, sizes)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"types are immutable: make a new TensorType instead of setting {name}")

    def __call__(self, name: str | None = None) -> NoReturn:
        """Raise for a type that is called as in Theano, naming the function to use instead."""
        given = "" if name is None else f', "{name}"'
        raise ScanvizTypeError.here(
            "a type cannot be called", fix=f'T.tensor("{self.dtype}", {self.shape}{given})'
        )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return np.dtype(self.dtype).itemsize

    def with_shape(self, shape: tuple[int | None, ...]) -> TensorType:
        """Return the type with another shape."""
        return self if shape == self.shape else known_type(self.dtype, shape)

    def with_dtype(self, dtype: object) -> TensorType:
        """Return the type with another dtype."""
        return TensorType(dtype, self.shape)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, TensorType) and self.dtype == other.dtype and self.shape == other.shape

    def __hash__(self) -> int:
        return int(self._hash)  # type: ignore[attr-defined]  # set in __init__ behind the guard

    def __reduce__(self) -> tuple[object, ...]:
        return (TensorType, (self.dtype, self.shape))

    def __repr__(self) -> str:
        return f"TensorType({self.dtype!r}, {self.shape})"

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]"


class RandomStateType(AnyType):
    """The state of a counter-based random generator: a key and a counter, never a number to compute with.

    Its values are uint64 arrays of shape (4,), treated as immutable: a draw returns a new one.
    """

    __slots__ = ()
    dtype: Final = "uint64"
    shape: Final = (4,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RandomStateType)

    def __hash__(self) -> int:
        return hash("RandomStateType")

    def __repr__(self) -> str:
        return "RandomStateType()"

    def __str__(self) -> str:
        return "random state"


Type = TensorType | RandomStateType
RANDOM_STATE = RandomStateType()


_KNOWN: dict[tuple[str, Shape], TensorType] = {}
MOST_KNOWN = 4096


def known_type(dtype: str, shape: Shape) -> TensorType:
    """Intern a type: the variables of a graph have few."""
    found = _KNOWN.get((dtype, shape))
    if found is None:
        found = TensorType(dtype, shape)
        if len(_KNOWN) < MOST_KNOWN:
            _KNOWN[dtype, found.shape] = found
    return found


def shape_text(shape: Sequence[int | None]) -> str:
    """Return a shape as Python writes it, with ? for sizes that are not known."""
    sizes = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({sizes}{',' if len(shape) == 1 else ''})"


def fits(given: Type, wanted: Type) -> bool:
    """Return whether every value of type ``given`` fits ``wanted``, as far as shapes are known."""
    if given is wanted:
        return True
    if not (isinstance(given, TensorType) and isinstance(wanted, TensorType)):
        return given == wanted
    if given.dtype != wanted.dtype or len(given.shape) != len(wanted.shape):
        return False
    return given.shape == wanted.shape or all(
        a is None or b is None or a == b for a, b in zip(given.shape, wanted.shape, strict=True)
    )


def common_shape(first: Shape, second: Shape) -> Shape:
    """Merge two static shapes of the same value."""
    if first == second:
        return first
    return tuple(a if a is not None else b for a, b in zip(first, second, strict=True))


def refuse_masked(value: Any, what: str) -> None:
    """Raise for a masked array with masked values.

    Parameters
    ----------
    value : object
        The value to check.
    what : str
        The role of the value, as the message calls it.
    """
    module = sys.modules.get("numpy.ma")  # without it there is no masked array
    if module is None or not isinstance(value, module.MaskedArray) or not module.is_masked(value):
        return
    raise ScanvizTypeError.here(
        f"{what} has masked values, which scanviz does not support",
        expected="an array without a mask",
        found=f"{int(module.getmaskarray(value).sum())} of {value.size} values masked",
        fix="value.filled(0), and numpy.ma.getmaskarray(value) as an input of its own",
    )
