"""Sorting along an axis, under NumPy's names."""

from __future__ import annotations

from typing import Any

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import sort as s

__all__ = ["argsort", "sort"]


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
