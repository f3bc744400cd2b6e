"""Reductions under NumPy's names: sums, products, extremes, and whether all or any are true.

``axis`` is an int, several ints, or None for all; dtypes of results are NumPy's.  Means, variances and what is written
with several reductions stand in :mod:`scanviz.tensor.statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import reduce as r

Axis = int | Sequence[int] | None


@meaning("method:sum")
def sum(x: Any, axis: Axis = None, dtype: object = None, *, keepdims: bool = False) -> Variable:
    """Sum of elements along axes.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int or sequence of int, optional
        Axes to sum over; all by default.
    dtype : dtype, optional
        dtype to sum in.  By default that of ``x``; ints and bools narrower than 64 bits are summed in 64.
    keepdims : bool
        Whether the summed axes stay, with size 1.

    Returns
    -------
    Variable
        The sums; 0 where there are no elements.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> T.sum(x, axis=0).eval({x: [[1.0, 2.0], [3.0, 4.0]]})
    array([4., 6.])
    """
    return r.sum(x, axis, keepdims=keepdims, dtype=dtype)


@meaning("method:prod")
def prod(x: Any, axis: Axis = None, dtype: object = None, *, keepdims: bool = False) -> Variable:
    """Product of elements along axes.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, dtype, keepdims
        As in :func:`sum`.

    Returns
    -------
    Variable
        The products; 1 where there are no elements.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.prod(T.arange(1, 6)).eval()
    array(120)
    """
    return r.prod(x, axis, keepdims=keepdims, dtype=dtype)


@meaning("method:max")
def max(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Largest element along axes; NaN if there is one.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, keepdims
        As in :func:`sum`.

    Returns
    -------
    Variable
        The largest elements, of the dtype of ``x``.

    Raises
    ------
    ShapeError
        If there are no elements along the axes, when building or at run time.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.max(x).eval({x: [1.0, 7.0, 3.0]})
    array(7.)
    """
    return r.max(x, axis, keepdims=keepdims)


@meaning("method:min")
def min(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Smallest element along axes; NaN if there is one.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, keepdims
        As in :func:`sum`.

    Returns
    -------
    Variable
        The smallest elements, of the dtype of ``x``.

    Raises
    ------
    ShapeError
        If there are no elements along the axes, when building or at run time.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.min(x).eval({x: [4.0, 2.0, 3.0]})
    array(2.)
    """
    return r.min(x, axis, keepdims=keepdims)


@meaning("method:all")
def all(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Test whether all elements along axes are non-zero.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    axis, keepdims
        As in :func:`sum`.

    Returns
    -------
    Variable
        bool; true where there are no elements.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.all(x > 0).eval({x: [4.0, 2.0]})
    array(True)
    """
    return r.all(x, axis, keepdims=keepdims)


@meaning("method:any")
def any(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Test whether any element along axes is non-zero.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    axis, keepdims
        As in :func:`sum`.

    Returns
    -------
    Variable
        bool; false where there are no elements.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.any(x < 0).eval({x: [4.0, 2.0]})
    array(False)
    """
    return r.any(x, axis, keepdims=keepdims)
