"""Symbolic inputs: ``T.vector("x")`` and its kin.

A prefix gives the dtype, as in Theano: ``b`` int8, ``w`` int16, ``i`` int32, ``l`` int64, ``f`` float32, ``d`` float64;
without one it is ``config.floatX``.  ``T.row`` and ``T.col`` are matrices with one row or one column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Constant, Variable
from scanviz.engine.graph.types import DTYPES, TensorType, canonical_dtype
from scanviz.engine.ops import support
from scanviz.engine.ops.support import whole

_PREFIXES = {"": None, "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64"}
_SHAPES: dict[str, tuple[int | None, ...]] = {
    "scalar": (),
    "vector": (None,),
    "row": (1, None),
    "col": (None, 1),
    "matrix": (None, None),
    "tensor3": (None,) * 3,
    "tensor4": (None,) * 4,
    "tensor5": (None,) * 5,
}
_MOST = 10_000  # variables from one call: more is a size in the wrong place
_PLURALS = {"matrix": "matrices"}


def tensor(
    dtype_or_name: object = None, /, shape: Any = (), name: str | None = None, *, dtype: object = None
) -> Variable:
    """Return a symbolic tensor.

    Parameters
    ----------
    dtype_or_name : dtype or str, optional
        The dtype, as in Theano; a text that is no dtype, or beside ``dtype=``, is the name, as in PyTensor.
    shape : tuple of (int or None)
        One entry a dimension; None where the size is not known.
    name : str, optional
        Name for messages, dumps and keyword arguments.
    dtype : dtype, optional
        ``config.floatX`` by default.

    Raises
    ------
    ScanvizTypeError
        If the dtype, the shape or the name is none, or is given twice.
    ScanvizValueError
        If a size is negative.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tensor("int32", (3, None), "grid").type
    TensorType('int32', (3, None))
    >>> T.tensor("grid", dtype="int32", shape=(3, None))
    <grid: int32[3, ?]>
    """
    first: object = dtype_or_name
    if isinstance(first, int | float | list | np.ndarray):
        raise ScanvizTypeError.here(
            "T.tensor makes a variable without a value",
            found=repr(first),
            fix="T.constant(…) for a value",
            shown=True,
        )
    if isinstance(first, str) and name is None and (dtype is not None or _is_name(first)):
        first, name = None, first
    if first is not None and dtype is not None:
        raise ScanvizTypeError("T.tensor was given two dtypes", found=f"{first!r} and {dtype!r}")
    wanted = first if dtype is None else dtype
    return Variable(
        TensorType(config.floatX if wanted is None else canonical_dtype(wanted), shape), _checked(name)
    )


def _is_name(text: str) -> bool:
    """Return whether a text names no dtype; codes of NumPy such as ``b`` and ``u1`` could be either, and are refused."""
    try:
        known = np.dtype(text)
    except TypeError:
        return True
    if len(text) <= 2 and known.name not in DTYPES:
        return True
    if len(text) <= 2:
        raise ScanvizTypeError.here(
            f"T.tensor: {text!r} may be a name, and is NumPy's code of {known.name}",
            fix=f"T.tensor(name={text!r}, shape=…) or T.tensor(dtype={known.name!r}, shape=…)",
            shown=True,
        )
    return False


def _checked(name: object) -> str | None:
    if name is not None and not isinstance(name, str):
        raise ScanvizTypeError(
            "a variable's name must be a string",
            found=repr(name),
            fix='T.vector("x"), or T.constant(value) for a value',
        )
    return name


def constant(value: Any, name: str | None = None, dtype: object = None) -> Constant:
    """Return a constant of a value.

    Parameters
    ----------
    value : array_like
        Copied.
    name : str, optional
        Name for messages and dumps.
    dtype : dtype, optional
        By default the value's own; Python floats take ``config.floatX``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.constant(1.5).type
    TensorType('float64', ())
    """
    return support.constant(value, dtype, name)


def as_tensor(value: Any, name: str | None = None, dtype: object = None) -> Variable:
    """Return a symbolic variable as it is, and anything else as a constant; lists may hold symbolic scalars.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> T.as_tensor(x) is x, T.as_tensor([x, 2.0]).type
    (True, TensorType('float64', (2,)))
    """
    made = support.as_value(value, dtype)
    if name is not None and made is not value:
        made.name = name
    return made


as_tensor_variable = as_tensor


def _constructor(prefix: str, kind: str, fixed: str | None) -> Callable[..., Variable]:
    sizes = _SHAPES[kind]

    def make(name: str | None = None, dtype: object = None, shape: Any = None) -> Variable:
        wanted = canonical_dtype(dtype) if dtype is not None else fixed or config.floatX
        if fixed is not None and wanted != fixed:
            raise ScanvizTypeError(
                f"T.{prefix}{kind} is {fixed}", found=wanted, fix=f"T.{kind}({name!r}, dtype={wanted!r})"
            )
        return Variable(TensorType(wanted, sizes if shape is None else _sizes(shape, sizes)), _checked(name))

    make.__name__ = make.__qualname__ = prefix + kind
    make.__doc__ = f"Return a symbolic {kind} of {fixed or 'config.floatX, or of the given dtype'}, with optional name and shape."
    return make


def _sizes(shape: Any, kind: tuple[int | None, ...]) -> Any:
    """Return the requested sizes of a constructor, in place of the unknown ones of its kind."""
    known = list(shape) if isinstance(shape, tuple | list) else [shape]
    if len(known) != len(kind) or any(
        size not in (None, mine) for size, mine in zip(known, kind, strict=True) if mine
    ):
        raise ScanvizTypeError(
            "the shape does not fit this kind of variable",
            expected=f"{kind}, with sizes for None where they are known",
            found=repr(shape),
            fix=f"T.tensor(shape={tuple(known)})",
        )
    return tuple(mine or size for size, mine in zip(known, kind, strict=True))


def _plural(one: Callable[..., Variable], word: str) -> Callable[..., list[Variable]]:
    def make(*names: Any, dtype: object = None) -> list[Variable]:
        if len(names) == 1 and isinstance(names[0], int):
            return [one(None, dtype) for _ in range(whole(names[0], f"{word}: how many", 0, _MOST))]
        return [one(name, dtype) for name in names]

    make.__name__ = make.__qualname__ = word
    make.__doc__ = (
        f"Return several variables as ``{one.__name__}`` makes them: one per name, or an int number of them."
    )
    return make


# What each name makes: the prefix, the kind, and whether it makes several.
_MADE = {prefix + kind: (prefix, kind, False) for prefix in _PREFIXES for kind in _SHAPES} | {
    prefix + _PLURALS.get(kind, kind + "s"): (prefix, kind, True) for prefix in _PREFIXES for kind in _SHAPES
}
CONSTRUCTORS = list(_MADE)
__all__ = ["as_tensor", "as_tensor_variable", "constant", "tensor", *CONSTRUCTORS]


def __getattr__(name: str) -> Any:
    """Return a constructor, created on first use: a program uses few."""
    if name not in _MADE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    prefix, kind, several = _MADE[name]
    one = _constructor(prefix, kind, _PREFIXES[prefix])
    # another thread may have made it meanwhile
    return globals().setdefault(name, _plural(one, name) if several else one)
