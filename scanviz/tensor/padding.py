"""Arrays made larger at their edges, under NumPy's name.

Constants are joined before and after.  Every other mode takes rows by an index that runs beyond the edges and is folded back.
So derivatives and unknown sizes follow from ``concatenate`` and ``take``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import alloc, dimension
from scanviz.engine.ops.support import as_integer, as_value, as_variable, constant_integer, one_of
from scanviz.tensor.indexing import take

Pair = tuple[Any, Any]


def _at_edge(place: Variable, size: Variable) -> Variable:
    return e.maximum(e.minimum(place, e.subtract(size, 1)), 0)


def _wrapped(place: Variable, size: Variable) -> Variable:
    return e.mod(place, size)


def _reflected(place: Variable, size: Variable) -> Variable:
    """Return places reflected at the first and the last element, which are not repeated."""
    last = e.subtract(size, 1)
    folded = e.mod(place, e.maximum(e.multiply(last, 2), 1))
    return e.subtract(last, e.absolute(e.subtract(folded, last)))


def _symmetric(place: Variable, size: Variable) -> Variable:
    """Return places reflected at the edges, so that the first and the last element come twice."""
    twice = e.multiply(size, 2)
    folded = e.mod(place, twice)
    return e.minimum(folded, e.subtract(e.subtract(twice, 1), folded))


_FOLDS: dict[str, Callable[[Variable, Variable], Variable]] = {
    "edge": _at_edge,
    "reflect": _reflected,
    "symmetric": _symmetric,
    "wrap": _wrapped,
}
_MODES = ("constant", *_FOLDS)


def pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = None,
    reflect_type: str | None = None,
) -> Variable:
    """An array made larger at its edges.

    Parameters
    ----------
    array : array_like
        Any tensor.
    pad_width : int, pair, list of pairs, or dict
        Number of elements before and after: one number for all edges, a pair (before, after) for all axes, a pair for each
        axis, or a dict from axis to either.  Numbers may be integer scalar variables.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}
        The new elements: a constant, the nearest one, or the array reflected at its last elements, reflected at its
        edges, or begun again from the other side.
    constant_values : scalar, pair, list of pairs, or dict
        The constants of ``mode="constant"``, given as ``pad_width`` is; 0 by default.
    reflect_type : {"even"}
        NumPy's ``"odd"`` is not there.

    Returns
    -------
    Variable
        Of the dtype of ``array``, to which constants are converted.  Derivatives are summed over the copies of an element.

    Raises
    ------
    ScanvizValueError
        If the mode is not there, a width is known to be negative, or there is not one pair for each axis.
    ScanvizTypeError
        If a width is no integer.
    ShapeError, ScanvizIndexError
        At run time, if a width is negative, or elements are asked of an axis that has none.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.pad([1, 2, 3], 2, "reflect").eval()
    array([3, 2, 1, 2, 3, 2, 1])
    >>> T.pad([1, 2, 3], (0, 2), constant_values=9).eval()
    array([1, 2, 3, 9, 9])
    """
    _check_mode(mode, constant_values, reflect_type)
    variable = as_variable(array)
    rank = tensor_type(variable).ndim
    dtype = tensor_type(variable).dtype
    widths = [
        (as_integer(before, "pad: a width"), as_integer(after, "pad: a width"))
        for before, after in _pairs(pad_width, rank, "pad_width")
    ]
    constants = _pairs(0 if constant_values is None else constant_values, rank, "constant_values")
    found = variable
    for axis, (pair, values) in enumerate(zip(widths, constants, strict=True)):
        known = [constant_integer(count) for count in pair]
        if any(width is not None and width < 0 for width in known):
            raise ScanvizValueError.here(
                f"pad: a width of `{describe(variable)}` is negative", found=tuple(known)
            )
        if known == [0, 0]:
            continue
        if mode == "constant":
            edges = [e.cast(as_value(value), dtype) for value in values]
            found = _with_constants(found, axis, pair, edges)
        else:
            found = _folded(found, axis, pair, _FOLDS[mode])
    return found


def _check_mode(mode: Any, constant_values: Any, reflect_type: Any) -> None:
    one_of(mode, _MODES, "pad: mode", "T.concatenate([before, x, after], axis) for edges of your own")
    if reflect_type is not None:
        one_of(reflect_type, ("even",), "pad: reflect_type")
    for name, given, fitting in (
        ("constant_values", constant_values, ("constant",)),
        ("reflect_type", reflect_type, ("reflect", "symmetric")),
    ):
        if given is not None and mode not in fitting:
            raise ScanvizValueError.here(f"pad: {name} has no meaning for mode {mode!r}")


def _pairs(given: Any, rank: int, what: str) -> list[Pair]:
    """Return the padding before and after each axis."""
    if isinstance(given, dict):
        found: list[Pair] = [(0, 0)] * rank
        for axis, counts in given.items():
            if not isinstance(axis, int) or not -rank <= axis < rank:
                raise _unfit(what, given, rank)
            found[axis] = _pair(counts, what, given, rank)
        return found
    plain = given.tolist() if isinstance(given, np.ndarray) else given
    if _is_one(plain) or (len(plain) == 1 and _is_one(plain[0])):
        one = plain if _is_one(plain) else plain[0]
        return [(one, one)] * rank
    if len(plain) == 2 and all(map(_is_one, plain)):
        return [(plain[0], plain[1])] * rank
    if len(plain) == 1:
        return [_pair(plain[0], what, given, rank)] * rank
    if len(plain) != rank:
        raise _unfit(what, given, rank)
    return [_pair(counts, what, given, rank) for counts in plain]


def _is_one(value: Any) -> bool:
    return not isinstance(value, list | tuple)


def _pair(value: Any, what: str, given: Any, rank: int) -> Pair:
    if _is_one(value):
        return value, value
    if len(value) not in (1, 2) or not all(map(_is_one, value)):
        raise _unfit(what, given, rank)
    return value[0], value[-1]


def _unfit(what: str, given: Any, rank: int) -> Exception:
    pairs = ", ".join(f"(before{k}, after{k})" for k in range(rank))
    error = ScanvizTypeError if isinstance(given, dict) else ScanvizValueError
    return error(
        f"pad: {what} does not fit an array of {rank} dimensions",
        where=user_line(),
        expected=f"a number, (before, after), or [{pairs}]",
        found=repr(given),
    )


def _with_constants(
    x: Variable, axis: int, widths: Sequence[Variable], values: Sequence[Variable]
) -> Variable:
    rank = tensor_type(x).ndim
    before, after = (
        alloc(value, [width if k == axis else dimension(x, k) for k in range(rank)])
        for width, value in zip(widths, values, strict=True)
    )
    return concatenate([before, x, after], axis)


def _folded(
    x: Variable, axis: int, widths: Sequence[Variable], fold: Callable[[Variable, Variable], Variable]
) -> Variable:
    """Return rows at places from beyond one edge to beyond the other, each folded back into the array."""
    size = dimension(x, axis)
    places = arange(e.negative(widths[0]), e.add(size, widths[1]))
    return take(x, fold(places, size), axis)
