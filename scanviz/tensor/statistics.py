"""Means, variances, standard deviations and ``logsumexp``: compositions of reductions and elementwise operations.

A gradient or a backend that knows the parts knows these.  float16 is averaged in float32, ints in float64, as NumPy
does; no elements give NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import FLOATS, canonical_dtype
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.control import disconnected_grad
from scanviz.engine.ops.support import as_variable, constant, constant_integer, float_dtype, real
from scanviz.tensor.shapes import squeeze

Axis = int | Sequence[int] | None


def _dtypes(variable: Variable, dtype: object, what: str) -> tuple[str, str]:
    """Return the dtype to compute in, and that of the result."""
    result = float_dtype(tensor_type(variable).dtype) if dtype is None else canonical_dtype(dtype)
    if result not in FLOATS:
        raise ScanvizTypeError.here(
            f"{what} of `{describe(variable)}` cannot be {result}",
            expected=", ".join(FLOATS),
            fix=f'T.cast(T.{what}({describe(variable)}), "{result}")',
        )
    return ("float32" if result == "float16" else result), result


def root(total: Variable, power: float = 0.5) -> Variable:
    """Return a root of what is 0 or above, with derivative 0 at 0: that of a length or a deviation, which has a kink there."""
    return e.where(e.equal(total, 0), 0, e.sqrt(total) if power == 0.5 else e.power(total, power))


def _axes(variable: Variable, axis: Axis, what: str) -> tuple[int, ...]:
    return r.normal_axes(axis, tensor_type(variable).ndim, f"{what} of `{describe(variable)}`")


def _degrees(variable: Variable, axes: tuple[int, ...], ddof: float, dtype: str) -> Variable:
    """Return the number of elements along axes less ``ddof``, at least 0."""
    size = r.count(variable, axes)
    known = constant_integer(size)
    if known is not None:
        return constant(max(known - ddof, 0), dtype)
    return e.cast(size, dtype) if ddof == 0 else e.maximum(e.subtract(e.cast(size, dtype), ddof), 0)


@meaning("method:mean")
def mean(x: Any, axis: Axis = None, dtype: object = None, *, keepdims: bool = False) -> Variable:
    """Average of elements along axes.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int or sequence of int, optional
        Axes to average over; all by default.
    dtype : dtype, optional
        Floating dtype of the result: by default that of ``x``, float64 for ints and bools.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Variable
        The averages; NaN where there are no elements.

    Raises
    ------
    ScanvizTypeError
        If ``dtype`` is not a floating one.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> T.mean(x, axis=1).eval({x: [[1.0, 2.0], [3.0, 4.0]]})
    array([1.5, 3.5])
    """
    variable = as_variable(x)
    computed, result = _dtypes(variable, dtype, "mean")
    axes = _axes(variable, axis, "mean")
    same = tensor_type(variable).dtype == computed
    total = r.sum(variable, axes, keepdims=keepdims, dtype=None if same else computed)
    return e.cast(e.divide(total, _degrees(variable, axes, 0, computed)), result)


@meaning("method:var")
def var(
    x: Any, axis: Axis = None, dtype: object = None, *, ddof: float = 0, keepdims: bool = False
) -> Variable:
    """Variance of elements along axes: the average of the squared distances from the average.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, dtype
        As in :func:`mean`.
    ddof : float
        Number subtracted from the number of elements before dividing by it; 1 gives the unbiased estimate.
    keepdims
        As in :func:`mean`.

    Returns
    -------
    Variable
        The variances; NaN where no elements are left to divide by.

    Raises
    ------
    ScanvizTypeError
        If ``dtype`` is not a floating one.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.var(x).eval({x: [1.0, 2.0, 3.0, 4.0]})
    array(1.25)
    """
    return _variance(as_variable(x), axis, dtype, ddof, keepdims, "var")


def _variance(
    variable: Variable, axis: Axis, dtype: object, ddof: float, keepdims: bool, what: str
) -> Variable:
    ddof = real(ddof, f"{what}: ddof")
    computed, result = _dtypes(variable, dtype, what)
    axes = _axes(variable, axis, what)
    values = e.cast(variable, computed)
    distances = e.subtract(values, mean(values, axes, keepdims=True))
    total = r.sum(e.square(distances), axes, keepdims=keepdims)
    return e.cast(e.divide(total, _degrees(variable, axes, ddof, computed)), result)


@meaning("method:std")
def std(
    x: Any, axis: Axis = None, dtype: object = None, *, ddof: float = 0, keepdims: bool = False
) -> Variable:
    """Standard deviation of elements along axes: the square root of the variance.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, dtype, ddof, keepdims
        As in :func:`var`.

    Returns
    -------
    Variable
        The standard deviations; their derivative is 0 where all elements are equal.

    Raises
    ------
    ScanvizTypeError
        If ``dtype`` is not a floating one.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.std(x).eval({x: [2.0, 4.0]})
    array(1.)
    """
    return root(_variance(as_variable(x), axis, dtype, ddof, keepdims, "std"))


def logsumexp(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Logarithm of the sum of exponentials along axes, without overflow.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, keepdims
        As in :func:`mean`.

    Returns
    -------
    Variable
        floating; -inf where all elements are, inf where one is.  Its gradient is ``softmax``, 0 where all elements are -inf.

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
    >>> T.logsumexp(x, keepdims=True).eval({x: [1000.0, 1000.0]}).round(6)
    array([1000.693147])
    """
    variable = e.as_floating(x)
    axes = _axes(variable, axis, "logsumexp")
    largest = r.max(variable, axes, keepdims=True)
    # infinities would give inf - inf; the result does not depend on what is taken off, so no derivative goes through it
    shift = disconnected_grad(e.where(e.isfinite(largest), largest, 0))
    sums = r.sum(e.exp(e.subtract(variable, shift)), axes, keepdims=True)
    nothing = e.equal(sums, 0)  # all are minus infinity
    result = e.add(e.where(nothing, -math.inf, e.log(e.where(nothing, 1, sums))), shift)
    return result if keepdims else squeeze(result, axes)
