"""Medians and quantiles under NumPy's names: sorted elements, and numbers between two of them.

They are compositions of ``sort``, so each has the derivative of the elements that it is made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Constant, Variable, describe, tensor_type
from scanviz.engine.graph.types import BOOLEAN, FLOATS, INTEGERS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.effects import Assert
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import alloc, dimension, dimshuffle, reshape
from scanviz.engine.ops.sizes import product_of
from scanviz.engine.ops.sort import sort
from scanviz.engine.ops.support import as_variable, constant, constant_integer, float_dtype, one_of, truth
from scanviz.tensor.indexing import take
from scanviz.tensor.statistics import mean

Axis = int | Sequence[int] | None


def median(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Middle of the sorted elements along axes: of an even number, the mean of both.

    Parameters
    ----------
    a : array_like
        Tensor of any shape.
    axis : int or sequence of int, optional
        Axes along which elements are sorted together; all by default.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Variable
        Floating: float64 for ints and bools.  NaN where one element is NaN, or there are none.  Its derivative is that of the
        elements in the middle; among equal ones, of those that come there if all keep their order.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.median(x).eval({x: [9.0, 1.0, 2.0, 4.0]})
    array(3.)
    """
    variable = as_variable(a)
    axes = r.normal_axes(axis, tensor_type(variable).ndim, f"median of `{describe(variable)}`")
    line = sort(e.as_floating(_lines(variable, axes)), -1)
    size = dimension(line, tensor_type(line).ndim - 1)
    known = constant_integer(size)
    if known == 0:
        return _with_axes(_filled(line, math.nan), variable, axes, keepdims)
    if known is None:  # one NaN more is what there is in the middle of nothing
        line = _and_nan(line)
    upper, lower = e.floor_divide(size, 2), e.maximum(e.floor_divide(e.subtract(size, 1), 2), 0)
    if known is not None:
        upper, lower = constant(known // 2, "int64"), constant((known - 1) // 2, "int64")
    high, low, last = (getitem(line, (..., row)) for row in (upper, lower, _last_place(size, known)))
    even = mean(_stacked(low, high), 0)
    found = even if known is not None and known % 2 == 0 else e.where(e.equal(upper, lower), high, even)
    if known is not None and known % 2:
        found = high
    return _with_axes(_or_nan(found, last), variable, axes, keepdims)


def _stacked(low: Variable, high: Variable) -> Variable:
    rank = tensor_type(low).ndim
    return concatenate([dimshuffle(variable, ["x", *range(rank)]) for variable in (low, high)], 0)


def _last_place(size: Variable, known: int | None) -> Variable:
    return e.maximum(e.subtract(size, 1), 0) if known is None else constant(known - 1, "int64")


def _or_nan(found: Variable, last: Variable) -> Variable:
    """Return the result, or the last of the sorted elements if that is NaN."""
    if tensor_type(last).dtype not in FLOATS:
        return found
    return e.where(e.isnan(last), e.cast(last, tensor_type(found).dtype), found)


def _lines(variable: Variable, axes: Sequence[int]) -> Variable:
    """Return elements with some axes made one, which comes last."""
    rank = tensor_type(variable).ndim
    rest = [k for k in range(rank) if k not in axes]
    if len(axes) == 1:
        return variable if axes[0] == rank - 1 else dimshuffle(variable, [*rest, *axes])
    sizes = [dimension(variable, k) for k in rest]
    joined = product_of([dimension(variable, k) for k in axes])
    return reshape(dimshuffle(variable, [*rest, *axes]), [*sizes, joined], ndim=len(rest) + 1)


def _and_nan(line: Variable) -> Variable:
    """Return lines with a NaN at the end."""
    rank = tensor_type(line).ndim
    sizes = [dimension(line, k) for k in range(rank - 1)]
    nan = alloc(constant(math.nan, tensor_type(line).dtype), [*sizes, constant(1, "int64")])
    return concatenate([line, nan], rank - 1)


def _filled(line: Variable, value: float) -> Variable:
    sizes = [dimension(line, k) for k in range(tensor_type(line).ndim - 1)]
    return alloc(constant(value, tensor_type(line).dtype), sizes)


def _with_axes(
    found: Variable, variable: Variable, axes: Sequence[int], keepdims: bool, front: int = 0
) -> Variable:
    """Return what was found with the axes again, with size 1, where they are kept; ``front`` axes come before all."""
    if not truth(keepdims, "keepdims"):
        return found
    rest = iter(range(front, tensor_type(found).ndim))
    order = ["x" if k in axes else next(rest) for k in range(tensor_type(variable).ndim)]
    return dimshuffle(found, [*range(front), *order])


def quantile(
    a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """Number below which a share ``q`` of the elements along axes lies, between two of them where need be.

    Parameters
    ----------
    a : array_like
        Tensor of any shape.
    q : array_like
        Shares from 0 to 1, of any shape.
    axis : int or sequence of int, optional
        Axes along which elements are sorted together; all by default.
    method : {"linear"}
        Interpolation between two elements: on the line from one to the other.  NumPy's others are not there.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Variable
        The axes of ``q``, then those of ``a`` that are left; floating, but of whole numbers and a whole ``q`` whole.
        NaN where one element is.  Its derivative with respect to ``a`` is that of the two elements, with respect to ``q`` the
        slope between them.

    Raises
    ------
    ScanvizValueError
        If the method is not there, a share is known not to be from 0 to 1, or an axis does not exist.
    ScanvizTypeError
        If elements are truth values.
    AssertFailedError
        At run time, if a share is not from 0 to 1.
    ScanvizIndexError
        At run time, if there are no elements.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.quantile(x, [0.25, 0.5]).eval({x: [4.0, 1.0, 2.0]})
    array([1.5, 2. ])
    """
    return _quantile(a, q, 1, axis, method, keepdims, "quantile")


def percentile(
    a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """Number below which ``q`` per cent of the elements along axes lie; as :func:`quantile` of ``q / 100``.

    Parameters
    ----------
    a : array_like
        Tensor of any shape.
    q : array_like
        Percentages from 0 to 100, of any shape.
    axis, method, keepdims
        As in :func:`quantile`.

    Returns
    -------
    Variable
        As of :func:`quantile`, floating.

    Raises
    ------
    ScanvizValueError, ScanvizTypeError, AssertFailedError, ScanvizIndexError
        As in :func:`quantile`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.percentile(x, 50).eval({x: [4.0, 1.0, 2.0]})
    array(2.)
    """
    return _quantile(a, q, 100, axis, method, keepdims, "percentile")


def _quantile(a: Any, q: Any, whole: int, axis: Axis, method: str, keepdims: bool, what: str) -> Variable:
    one_of(method, ("linear",), f"{what}: method")
    variable, share = as_variable(a), as_variable(q)
    if tensor_type(variable).dtype == BOOLEAN:
        raise ScanvizTypeError.here(
            f"{what}: `{describe(variable)}` holds truth values", fix='T.cast(x, "float64")'
        )
    share = _checked(share, whole, what)
    axes = r.normal_axes(axis, tensor_type(variable).ndim, f"{what} of `{describe(variable)}`")
    line = sort(_lines(variable, axes), -1)
    if whole != 1:
        share = e.divide(share, whole)
    last = e.subtract(dimension(line, tensor_type(line).ndim - 1), 1)
    weak = type(q) in (int, float)
    made = _at_whole_places(line, share, last) if _is_whole(share) else _between(line, share, last, weak)
    highest = getitem(line, (..., -1))
    return _with_axes(_or_nan(made, highest), variable, axes, keepdims, tensor_type(share).ndim)


def _is_whole(share: Variable) -> bool:
    return tensor_type(share).dtype in INTEGERS


def _checked(share: Variable, whole: int, what: str) -> Variable:
    """Return shares that are from 0 to 1, or to another whole: looked at when building if they are known, else when run."""
    if not isinstance(share, Constant):
        inside = e.greater_equal(share, 0), e.less_equal(share, whole)
        return Assert(f"{what}: q is not from 0 to {whole}")(share, *inside)
    if not np.all((share.value >= 0) & (share.value <= whole)):
        raise ScanvizValueError.here(
            f"{what}: q cannot be used", expected=f"from 0 to {whole}", found=share.value
        )
    return share


def _at_places(line: Variable, places: Variable) -> Variable:
    """Return the elements at places along the last axis, whose own axes come first."""
    front, rank = tensor_type(places).ndim, tensor_type(line).ndim
    return (
        take(dimshuffle(line, [rank - 1, *range(rank - 1)]), places, 0) if rank > 1 or front else line[places]
    )


def _at_whole_places(line: Variable, share: Variable, last: Variable) -> Variable:
    return _at_places(line, e.multiply(e.cast(share, "int64"), last))


def _between(line: Variable, share: Variable, last: Variable, weak: bool) -> Variable:
    """Return numbers between neighbours, computed from the nearer one as NumPy does."""
    computed = "float64" if weak else tensor_type(share).dtype
    place = e.multiply(e.cast(share, computed), e.cast(last, computed))
    below = e.floor(place)
    lower = e.minimum(e.cast(below, "int64"), last)
    upper = e.minimum(e.add(lower, 1), last)
    part = e.subtract(place, e.cast(lower, computed))
    first, second = _at_places(line, lower), _at_places(line, upper)
    made = np.result_type(*([] if weak else [computed]), float_dtype(tensor_type(line).dtype)).name
    order = [*range(tensor_type(share).ndim), *["x"] * (tensor_type(line).ndim - 1)]
    near, far = (e.cast(dimshuffle(variable, order), made) for variable in (part, e.subtract(1, part)))
    apart = e.subtract(second, first)
    up, down = e.add(first, e.multiply(apart, near)), e.subtract(second, e.multiply(apart, far))
    return e.where(e.greater_equal(dimshuffle(part, order), 0.5), down, up)
