"""Sorting along an axis, searching in sorted arrays, and counting.

``argsort`` is stable on every backend, so that it gives one answer for equal elements everywhere.  ``sort`` need not be: equal
elements are the same but for the sign of zero, and the quick way is up to fifty times quicker.  NaN comes last, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine import cost
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import BOOLEAN, INTEGERS, TensorType
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.reduce import along_axis, single_axis
from scanviz.engine.ops.support import as_integer, as_variable, infer_by, kept_dtype, one_of


class SortParameters(NamedTuple):
    """Parameters of sorting: the axis, None for the flattened array."""

    axis: int | None


def _places(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return ("int64",)


def _sorted(value: Array, axis: int | None) -> Array:
    small = value.dtype.kind != "f" and value.dtype.itemsize <= 2  # NumPy counts digits of these, stably
    return np.sort(value, axis, "stable" if small else None)


def _order(value: Array, axis: int | None) -> Array:
    return np.argsort(value, axis, "stable")


_along_axis = partial(
    along_axis, family="sort", facts=Facts(cost.of_input, weight="heavy", axes=axes.but("axis"), calls=4)
)
SORT = _along_axis("sort", _sorted, "Elements in ascending order along an axis.", dtypes=kept_dtype)
ARGSORT = _along_axis(
    "argsort",
    _order,
    "Indices that would sort along an axis; equal elements keep their order.",
    dtypes=_places,
)


@meaning("method:sort")
def sort(x: Any, axis: int | None = -1) -> Variable:
    """Elements in ascending order along an axis, NaN last.

    Unlike the method of a NumPy array, ``x.sort()`` gives a new tensor: variables are immutable.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int, optional
        The axis, by default the last; None sorts the flattened tensor.

    Returns
    -------
    Variable
        Tensor of the shape and dtype of ``x``, or a vector where ``axis`` is None.

    Raises
    ------
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.sort(x).eval({x: [3.0, 1.0, 2.0]})
    array([1., 2., 3.])
    """
    return _build(SORT, x, axis)


@meaning("method:argsort")
def argsort(x: Any, axis: int | None = -1) -> Variable:
    """Indices that would sort along an axis; equal elements keep their order.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int, optional
        As in :func:`sort`.

    Returns
    -------
    Variable
        int64 tensor of the shape of ``x``, or a vector where ``axis`` is None.

    Raises
    ------
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.argsort(x).eval({x: [3.0, 1.0, 2.0]})
    array([1, 2, 0])
    """
    return _build(ARGSORT, x, axis)


def _build(declaration: Declaration, value: Any, axis: int | None) -> Variable:
    variable = as_variable(value)
    return build_one(Op(declaration, SortParameters(single_axis(axis, variable, declaration.name))), variable)


class SideParameters(NamedTuple):
    """On which side of equal elements a place is: ``"left"`` or ``"right"``."""

    side: str


SEARCHSORTED = Declaration(
    "searchsorted",
    "sort",
    arity=2,
    doc="Places in a sorted vector at which elements would keep it sorted.",
    infer=infer_by(_places),
    perform=lambda op, values: (np.asarray(np.searchsorted(values[0], values[1], op.parameters.side)),),
    shapes=lambda op, dims: (dims.shapes[1],),
    facts=Facts(cost.elementary, weight="heavy", raises=False, axes=axes.sought, calls=4),
)


@meaning("method:searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Variable:
    """Places in a sorted vector at which elements would keep it sorted.

    Parameters
    ----------
    a : array_like
        Vector in ascending order, NaN last; whether it is sorted is not checked.
    v : array_like
        Values to find a place for, of any shape.
    side : {"left", "right"}
        Whether the place is before or after equal elements.
    sorter : array_like, optional
        Indices that sort ``a``, as :func:`argsort` gives them, where ``a`` is not sorted itself.

    Returns
    -------
    Variable
        int64 tensor of the shape of ``v``, from 0 to the length of ``a``.  It has no derivative.

    Raises
    ------
    ScanvizTypeError
        If ``a`` is no vector.
    ScanvizValueError
        If ``side`` is neither.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.searchsorted([1.0, 2.0, 3.0], x).eval({x: [0.0, 2.0, 9.0]})
    array([0, 1, 3])
    """
    variable = _vector(a if sorter is None else getitem(a, sorter), "searchsorted")
    return build_one(
        Op(SEARCHSORTED, SideParameters(one_of(side, ("left", "right"), "searchsorted: side"))),
        variable,
        as_variable(v),
    )


def _vector(value: Any, what: str) -> Variable:
    variable = as_variable(value)
    if tensor_type(variable).ndim != 1:
        raise ScanvizTypeError.here(
            f"{what}: `{describe(variable)}` is no vector", expected="1 dimension", found=variable.type
        )
    return variable


def _bincount(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    numbers, least, *weights = values
    check_counted(int(np.min(numbers, initial=0)), len(numbers), int(least), weights)
    counts = np.bincount(numbers, weights[0] if weights else None, int(least))
    return (counts.astype("float64" if weights else "int64", copy=False),)  # NumPy counts nothing in int64


def check_counted(smallest: int, count: int, least: int, weights: Sequence[Any]) -> None:
    """Raise for arguments that ``bincount`` refuses: negative numbers or lengths, or not one weight per number."""
    if smallest < 0:
        raise ScanvizValueError("a number is negative", expected="0 or more", found=smallest)
    if least < 0:
        raise ScanvizValueError("minlength is negative", expected="0 or more", found=least)
    if weights and len(weights[0]) != count:
        raise ShapeError(
            "one weight is needed for each number", expected=f"{count} weights", found=len(weights[0])
        )


BINCOUNT = Declaration(
    "bincount",
    "sort",
    arity=(2, 3),
    doc="How often each number from 0 occurs, or the sum of its weights.",
    infer=infer_by(lambda op, kinds: ("int64" if len(kinds) < 3 else "float64",)),
    perform=_bincount,
    shapes=lambda op, dims: ((None,),),
    facts=Facts(cost.of_input, weight="heavy", axes=axes.nowhere, calls=11),
)


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Variable:
    """Count each number from 0 in a vector, or sum the weights at its places.

    Parameters
    ----------
    x : array_like
        Vector of whole numbers, none below 0.
    weights : array_like, optional
        Weight of each number, by default 1.
    minlength : int or integer scalar variable
        Least number of counts.

    Returns
    -------
    Variable
        Vector of a length of the largest number + 1: int64, or float64 of weights.  It has a derivative with respect to weights.

    Raises
    ------
    ScanvizTypeError
        If ``x`` is no vector of whole numbers, or ``weights`` are no vector.
    ScanvizValueError
        At run time, if a number or ``minlength`` is negative.
    ShapeError
        At run time, if there is not one weight for each number.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.bincount([0, 1, 1, 3]).eval()
    array([1, 2, 0, 1])
    """
    variable = _vector(x, "bincount")
    if tensor_type(variable).dtype not in (*INTEGERS, BOOLEAN):
        raise ScanvizTypeError.here(
            f"bincount: `{describe(variable)}` holds no whole numbers",
            found=variable.type,
            fix='T.bincount(T.cast(x, "int64"))',
        )
    more = [] if weights is None else [cast(_vector(weights, "bincount"), "float64")]
    least = as_integer(minlength, "bincount: minlength")
    return build_one(Op(BINCOUNT), cast(variable, "int64"), least, *more)
