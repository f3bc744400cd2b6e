"""Evenly spaced numbers between two ends, and differences of neighbours, under NumPy's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import BOOLEAN, INTEGERS, canonical_dtype
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import alloc, dimension, dimshuffle, normal_axis
from scanviz.engine.ops.support import as_integer, as_variable, constant, constant_integer, truth, whole
from scanviz.tensor.shapes import moveaxis


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: object = None,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers from ``start`` to ``stop``, which is the last of them.

    Parameters
    ----------
    start, stop : array_like
        The ends; arrays broadcast together and give a line of numbers for each element.
    num : int or integer scalar variable
        Number of values; none where a variable is negative, as :func:`arange` has it.
    endpoint : bool
        Whether ``stop`` is the last number; otherwise it would be the next.
    retstep : bool
        Whether the distance of neighbours is given too.
    dtype : dtype, optional
        By default the floating dtype of the ends, ``config.floatX`` for Python's numbers; ints are rounded down.
    axis : int
        Along which axis of the result the lines of numbers run.

    Returns
    -------
    Variable, or pair of Variable
        The numbers; with ``retstep`` also the step, NaN where there is none.  Their derivatives are the shares of both ends.

    Raises
    ------
    ScanvizTypeError
        If ``num`` is no integer.
    ScanvizValueError
        If it is known to be negative, or the axis does not exist.
    ShapeError
        If the ends do not broadcast together: at once where sizes are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.iscalar("n")
    >>> T.linspace(0.0, 1.0, n).eval({n: 5})
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    last = truth(endpoint, "linspace: endpoint")
    first, end = (as_variable(bound) for bound in (start, stop))
    computed = _spaced_dtype(start, stop)
    made = computed if dtype is None else canonical_dtype(dtype)
    first, end = e.cast(first, computed), e.cast(end, computed)
    count, places = _places(num, computed)
    divisor = e.subtract(count, 1) if last else count
    known = constant_integer(count)
    apart = max(known - last, 1) if known is not None else e.maximum(divisor, 1)
    whole_way = e.subtract(end, first)
    step = e.divide(whole_way, e.cast(apart, computed))
    rank = tensor_type(whole_way).ndim
    column = dimshuffle(places, 0, *["x"] * rank)
    moved = e.multiply(column, step)
    if made in INTEGERS:  # NumPy rounds in another way where a step is 0, which moves whole numbers
        share = e.multiply(e.divide(column, e.cast(apart, computed)), whole_way)
        moved = e.where(r.any(e.equal(step, 0)), share, moved)
    numbers = e.add(moved, first)
    if last:  # rounding does not move the end
        numbers = e.where(_is_end(column, e.cast(divisor, computed)), end, numbers)
    numbers = numbers if made not in INTEGERS else e.floor(numbers)
    numbers = e.cast(moveaxis(numbers, 0, normal_axis(axis, rank + 1, "linspace")), made)
    if not truth(retstep, "linspace: retstep"):
        return numbers
    return numbers, e.where(e.greater(divisor, 0), step, math.nan)


def _is_end(column: Variable, divisor: Variable) -> Variable:
    """Return whether places are the last of more than one."""
    return e.logical_and(e.equal(column, divisor), e.greater(divisor, 0))


def _spaced_dtype(start: Any, stop: Any) -> str:
    """Return the floating dtype of numbers between two ends, where Python's numbers take that of the other end."""
    given = [bound for bound in (start, stop) if type(bound) not in (int, float)]
    if not given:
        return str(config.floatX)
    return np.result_type(*(np.dtype(tensor_type(as_variable(bound)).dtype) for bound in given), 0.0).name


def _places(num: Any, dtype: str) -> tuple[Variable, Variable]:
    """Return how many numbers there are, and 0, 1, 2, … as many."""
    count = as_integer(num, "linspace: num")
    known = constant_integer(count)
    if known is not None and known < 0:
        raise ScanvizValueError.here("linspace: num cannot be negative", expected="0 or more", found=known)
    return count, e.cast(arange(count), dtype)


_NOT_GIVEN: Any = object()  # None is no value that can be put before or after


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = _NOT_GIVEN, append: Any = _NOT_GIVEN) -> Variable:
    """Differences of neighbours along an axis: each element less the one before it.

    Parameters
    ----------
    a : array_like
        At least one dimension.
    n : int
        Number of times that differences are taken.
    axis : int
        Along which axis.
    prepend, append : array_like, optional
        Values to put before or after along the axis first; a scalar is one element.

    Returns
    -------
    Variable
        Of ``n`` elements less along the axis; of bools, whether neighbours differ.

    Raises
    ------
    ScanvizTypeError
        If ``a`` is a scalar.
    ScanvizValueError
        If ``n`` is negative or the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diff([1, 2, 4, 7]).eval()
    array([1, 2, 3])
    """
    variable = as_variable(a)
    times = whole(n, "diff: n", least=0)
    if not times:
        return variable
    rank = tensor_type(variable).ndim
    if not rank:
        raise ScanvizTypeError.here(
            f"diff: `{describe(variable)}` is a scalar", expected="at least 1 dimension"
        )
    place = normal_axis(axis, rank, "diff")
    edges = [None if edge is _NOT_GIVEN else _edge(edge, variable, place) for edge in (prepend, append)]
    parts = [part for part in (edges[0], variable, edges[1]) if part is not None]
    found = concatenate(parts, place) if len(parts) > 1 else variable
    before = (slice(None),) * place
    subtract = e.not_equal if tensor_type(found).dtype == BOOLEAN else e.subtract
    for _ in range(times):
        later, earlier = (getitem(found, (*before, half)) for half in (slice(1, None), slice(None, -1)))
        found = subtract(later, earlier)
    return found


def _edge(value: Any, variable: Variable, axis: int) -> Variable:
    """Return the values put before or after along an axis; a scalar as one element a line."""
    given = as_variable(value)
    if tensor_type(given).ndim:
        return given
    rank = tensor_type(variable).ndim
    sizes = [constant(1, "int64") if k == axis else dimension(variable, k) for k in range(rank)]
    return alloc(given, sizes)
