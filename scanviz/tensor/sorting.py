"""Sorting along an axis, searching and counting, under NumPy's names."""

from __future__ import annotations

from typing import Any

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import sort as s
from scanviz.tensor.indexing import take


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
