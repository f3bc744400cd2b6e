"""Check the shape, dtype and parameters of a distribution.

Messages name the distribution and the parameter as the user wrote them, and show the first value that is
wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.ops.draws.unit_interval import Doubles

Array = npt.NDArray[Any]
Shape = Sequence[int]
Parameter = npt.ArrayLike  # of a distribution: what NumPy makes an array of
DType = npt.DTypeLike

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_BY_NAME = {kind.name: kind for kind in _FLOATS}
PROBABILITY_TOLERANCE = 1e-4


def size_of(distribution: str, shape: Shape) -> int:
    """Return the number of elements of ``shape``; raise ScanvizValueError if a dimension is negative."""
    if shape and min(shape) < 0:
        raise ScanvizValueError(f"{distribution}: a dimension of `size` is negative", found=tuple(shape))
    return math.prod(shape)


def are_numbers(first: Parameter, second: Parameter) -> bool:
    """Return whether two parameters are one number each."""
    if type(first) is np.ndarray and type(second) is np.ndarray:  # as operations have them
        return first.ndim == 0 and second.ndim == 0
    return np.ndim(first) == 0 and np.ndim(second) == 0


def real_dtype(distribution: str, dtype: DType) -> np.dtype[Any]:
    """Return float32 or float64; raise ScanvizTypeError for anything else."""
    if type(dtype) is str and dtype in _BY_NAME:  # as operations have it: the way of every draw
        return _BY_NAME[dtype]
    kind = np.dtype(dtype)
    if kind not in _FLOATS:
        raise ScanvizTypeError(
            f"{distribution} cannot be drawn as {kind}", expected="float32 or float64", found=kind
        )
    return kind


def whole_dtype(distribution: str, dtype: DType) -> np.dtype[Any]:
    """Return an integer dtype; raise ScanvizTypeError for anything else."""
    kind = np.dtype(dtype)
    if kind.kind not in "iu":
        raise ScanvizTypeError(
            f"{distribution} cannot be drawn as {kind}", expected="an integer dtype", found=kind
        )
    return kind


Allowed = Literal["finite numbers", "0 or more", "above 0", "0 to 1"]


def reals(
    distribution: str,
    name: str,
    value: Parameter,
    shape: Shape,
    dtype: DType = np.float64,
    allowed: Allowed = "finite numbers",
) -> Array:
    """Return a parameter as an array of ``dtype`` that broadcasts to ``shape`` and holds finite numbers in a range.

    Raises
    ------
    ShapeError
        If it does not broadcast to ``shape``.
    ScanvizValueError
        If a value is NaN, infinite or outside of the range.
    """
    array: Array = np.asarray(value, dtype)
    broadcasts(distribution, name, array.shape, shape)
    require(np.isfinite(array), distribution, name, array, "finite numbers")
    if allowed == "above 0":
        require(array > 0, distribution, name, array, allowed)
    elif allowed != "finite numbers":
        require(
            (array >= 0) & (array <= (1 if allowed == "0 to 1" else np.inf)),
            distribution,
            name,
            array,
            allowed,
        )
    return array


def wholes(distribution: str, name: str, value: Parameter, shape: Shape) -> Array:
    """Return an integer parameter as an array that broadcasts to ``shape``.

    Raises
    ------
    ScanvizTypeError
        If it is not of an integer dtype.
    ShapeError
        If it does not broadcast to ``shape``.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        found = array.dtype if array.dtype != object else repr(value)
        raise ScanvizTypeError(f"{distribution}: `{name}` must hold integers of at most 64 bits", found=found)
    broadcasts(distribution, name, array.shape, shape)
    return array


def probabilities(distribution: str, name: str, value: Parameter, shape: Shape) -> Doubles:
    """Return probabilities over the last axis as float64, the other axes broadcasting to ``shape``.

    Raises
    ------
    ShapeError
        If there is no last axis or no category, or the other axes do not broadcast to ``shape``.
    ScanvizValueError
        If a value is NaN, negative or infinite, or a sum is further than 1e-4 from 1.
    """
    array = np.asarray(value, np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        expected = "one probability a category on the last axis"
        raise ShapeError(
            f"{distribution}: `{name}` holds no category", expected=expected, found=f"shape {array.shape}"
        )
    broadcasts(distribution, name, array.shape[:-1], shape)
    require((array >= 0) & (array < np.inf), distribution, name, array, "finite numbers of 0 or more")
    sums = array.sum(axis=-1)
    require(
        np.abs(sums - 1) <= PROBABILITY_TOLERANCE,
        distribution,
        f"{name}.sum(-1)",
        sums,
        "1 for each distribution",
    )
    return array


def broadcasts(distribution: str, name: str, given: Shape, shape: Shape) -> None:
    """Raise ShapeError unless an array of shape ``given`` broadcasts to exactly ``shape``."""
    if not given:
        return
    missing = len(shape) - len(given)
    if missing < 0 or any(
        one not in (1, size) for one, size in zip(given, tuple(shape)[missing:], strict=True)
    ):
        what = f"{distribution}: `{name}` does not broadcast to the drawn size"
        raise ShapeError(what, expected=f"a shape that broadcasts to {tuple(shape)}", found=tuple(given))


def require(right: Any, distribution: str, name: str, value: Array, expected: str) -> None:
    """Raise ScanvizValueError showing the first element of ``value`` where ``right`` is False."""
    if right.all():
        return
    at = np.unravel_index(int(np.argmin(right)), np.shape(right))
    place = f"[{', '.join(str(int(index)) for index in at)}]" if at else ""
    raise ScanvizValueError(
        f"{distribution}: `{name}` is out of range", expected=expected, found=f"{name}{place} = {value[at]}"
    )


def flat(array: Array, shape: Shape) -> Array:
    """Return ``array`` broadcast to ``shape`` as one axis."""
    return np.broadcast_to(array, tuple(shape)).reshape(-1)
