"""Elementwise functions with arguments that may be left out, or with two results: no table of declarations makes them."""

from __future__ import annotations

import math
from typing import Any, overload

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import BOOLEAN, FLOATS, INTEGERS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.support import as_variable, whole
from scanviz.tensor.indexing import nonzero


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Variable:
    """Numbers limited to an interval, which may be open to one side.

    Parameters
    ----------
    a : array_like
        The array to limit.
    a_min, a_max : array_like, optional
        The least and the largest; None for no limit.  They broadcast with ``a``.
    min, max : array_like, optional
        The same, by NumPy's newer names.

    Returns
    -------
    Variable
        Element by element; where both limits cross, the upper one.  The derivative is 1 at the limits too.

    Raises
    ------
    ScanvizValueError
        If a limit is given by both of its names.
    ScanvizTypeError
        If it has no meaning for the dtypes.
    ShapeError
        If shapes are known not to broadcast.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.clip([-1.0, 0.5, 2.0], 0, None).eval()
    array([0. , 0.5, 2. ])
    """
    for name, old, new in (("min", a_min, min), ("max", a_max, max)):
        if old is not None and new is not None:
            raise ScanvizValueError.here(
                f"clip: a_{name} and {name} are two names of one limit", fix="one of them"
            )
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None and high is not None:
        return e.clip(a, low, high)
    if low is None and high is None:
        return as_variable(a)
    limited = (e.minimum if low is None else e.maximum)(a, high if low is None else low)
    if tensor_type(limited).dtype not in FLOATS:
        return limited
    # with the derivatives of clip, which are not those of an extreme where both numbers are equal
    return e.clip(a, -math.inf if low is None else low, math.inf if high is None else high)


@meaning("method:clip")
def _clipped(x: Variable, min: Any = None, max: Any = None) -> Variable:
    return clip(x, min, max)


@meaning("round", "method:round")
def round(a: Any, decimals: int = 0) -> Variable:
    """Numbers rounded to decimals, halves to even.

    Parameters
    ----------
    a : array_like
        The array to round.
    decimals : int
        Number of decimals; negative ones are places before the point.

    Returns
    -------
    Variable
        Of the dtype of ``a``, as NumPy computes it: scaled, rounded, scaled back.  Its derivative is 0.

    Raises
    ------
    ScanvizTypeError
        If ``decimals`` is no integer that is known when building, or truth values are rounded to other than 0 decimals.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.round([1.234, -5.678], 2).eval()
    array([ 1.23, -5.68])
    """
    places = whole(decimals, "round: decimals", -400, 400)
    variable = as_variable(a)
    dtype = tensor_type(variable).dtype
    if not places or (places > 0 and dtype in INTEGERS):
        return e.round(variable)
    if dtype == BOOLEAN:
        raise ScanvizTypeError.here(
            f"round: truth values have no {places} decimals", fix='T.cast(x, "float64")'
        )
    scale = math.inf if abs(places) > 308 else 10.0 ** abs(places)
    if places > 0:
        return e.divide(e.round(e.multiply(variable, scale)), scale)
    return e.cast(e.multiply(e.round(e.divide(variable, scale)), scale), dtype)


def divmod(x1: Any, x2: Any) -> tuple[Variable, Variable]:
    """Quotient rounded down and remainder, as Python's ``divmod`` gives them.

    Parameters
    ----------
    x1, x2 : array_like
        Arrays of shapes that broadcast together.

    Returns
    -------
    quotient, remainder : Variable
        ``x1 // x2`` and ``x1 % x2``; their derivatives are those of :func:`floor_divide` and :func:`mod`.

    Raises
    ------
    ScanvizTypeError
        If it has no meaning for the dtypes.
    ShapeError
        If shapes are known not to broadcast.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> quotient, remainder = T.divmod([7, -7], 2)
    >>> quotient.eval(), remainder.eval()
    (array([ 3, -4]), array([1, 1]))
    """
    first, second = (x if isinstance(x, int | float) else as_variable(x) for x in (x1, x2))
    return e.floor_divide(first, second), e.mod(first, second)


_NOT_GIVEN: Any = object()


@overload
def where(condition: Any) -> tuple[Variable, ...]: ...
@overload
def where(condition: Any, x: Any, y: Any) -> Variable: ...
def where(condition: Any, x: Any = _NOT_GIVEN, y: Any = _NOT_GIVEN) -> Variable | tuple[Variable, ...]:
    """Elements of ``x`` where a condition is true, of ``y`` elsewhere; of a condition alone, where it is true.

    Parameters
    ----------
    condition : array_like
        Truth values, or numbers that are true where they are not 0.
    x, y : array_like, optional
        Both or neither; they broadcast with the condition.

    Returns
    -------
    Variable or tuple of Variable
        Element by element; or one vector of indices for each axis, as :func:`nonzero` gives them.

    Raises
    ------
    ScanvizTypeError
        If only one of them is given, or the dtypes have nothing in common.
    ShapeError
        If shapes are known not to broadcast.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.where(x > 0, x, 0.0).eval({x: [-1.0, 2.0]})
    array([0., 2.])
    >>> T.where(x > 0)[0].eval({x: [-1.0, 2.0]})
    array([1])
    """
    if x is _NOT_GIVEN and y is _NOT_GIVEN:
        return nonzero(condition)
    if x is _NOT_GIVEN or y is _NOT_GIVEN:
        raise ScanvizTypeError.here(
            "where takes a condition, or a condition and two values to choose from",
            fix="T.where(condition, x, y)\nT.where(condition) for the places where it is true",
        )
    return e.where(condition, x, y)


switch = where
