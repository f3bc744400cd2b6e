"""Reductions under NumPy's names: sums, means, extremes, cumulative sums.

``axis`` is an int, several ints, or None for all; dtypes of results are NumPy's.  Means, variances and what is written
with several reductions stand in :mod:`scanviz.tensor.statistics`, sorting in :mod:`scanviz.tensor.sorting`.
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
    """Whether all elements along axes are non-zero.

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
    """Whether at least one element along axes is non-zero.

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


@meaning("method:argmax")
def argmax(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """Index of the first largest element along an axis; NaN counts as largest.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int, optional
        The axis; by default the index is that into the flattened tensor.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    Variable
        int64 indices.

    Raises
    ------
    ShapeError
        If there are no elements along the axis, when building or at run time.
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.argmax(x).eval({x: [1.0, 7.0, 3.0]})
    array(1)
    """
    return r.argmax(x, axis, keepdims=keepdims)


@meaning("method:argmin")
def argmin(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """Index of the first smallest element along an axis; NaN counts as smallest.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, keepdims
        As in :func:`argmax`.

    Returns
    -------
    Variable
        int64 indices.

    Raises
    ------
    ShapeError
        If there are no elements along the axis, when building or at run time.
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.argmin(x).eval({x: [1.0, 7.0, 3.0]})
    array(0)
    """
    return r.argmin(x, axis, keepdims=keepdims)


@meaning("method:cumsum")
def cumsum(x: Any, axis: int | None = None, dtype: object = None) -> Variable:
    """Sums of the elements so far along an axis.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int, optional
        The axis; by default that of the flattened tensor.
    dtype : dtype, optional
        As in :func:`sum`.

    Returns
    -------
    Variable
        Tensor of the shape of ``x``, or a vector where ``axis`` is None.

    Raises
    ------
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.cumsum(T.arange(5)).eval()
    array([ 0,  1,  3,  6, 10])
    """
    return r.cumsum(x, axis, dtype=dtype)


@meaning("method:cumprod")
def cumprod(x: Any, axis: int | None = None, dtype: object = None) -> Variable:
    """Products of the elements so far along an axis.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, dtype
        As in :func:`cumsum`.

    Returns
    -------
    Variable
        Tensor of the shape of ``x``, or a vector where ``axis`` is None.

    Raises
    ------
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.cumprod(T.arange(1, 5)).eval()
    array([ 1,  2,  6, 24])
    """
    return r.cumprod(x, axis, dtype=dtype)
