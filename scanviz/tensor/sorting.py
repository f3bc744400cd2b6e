"""Sorting along an axis, searching and counting, under NumPy's names."""

from __future__ import annotations

from typing import Any

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import sort as s
from scanviz.tensor.indexing import take

__all__ = ["argsort", "bincount", "searchsorted", "sort"]


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
    return s.sort(x, axis)


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
    return s.argsort(x, axis)


@meaning("method:searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Variable:
    """Places in a sorted vector at which elements would keep it sorted.

    Parameters
    ----------
    a : array_like
        Vector in ascending order, NaN last; whether it is sorted is not checked.
    v : array_like
        What to find a place for, of any shape.
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
    return s.searchsorted(a if sorter is None else take(a, sorter, 0), v, side)


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Variable:
    """How often each number from 0 occurs in a vector, or the sum of the weights where it does.

    Parameters
    ----------
    x : array_like
        Vector of whole numbers, none below 0.
    weights : array_like, optional
        What each counts, by default 1.
    minlength : int or integer scalar variable
        How many counts there are at least.

    Returns
    -------
    Variable
        Vector as long as its largest number says: int64, or float64 of weights.  It has a derivative with respect to weights.

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
    return s.bincount(x, weights, minlength)
