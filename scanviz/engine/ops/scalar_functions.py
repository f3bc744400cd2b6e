"""NumPy meanings of elementwise functions that NumPy has no ufunc for.

Each takes ``out`` as last positional argument, like a ufunc, writes there without temporaries where it can, and gives
the same bits with and without it.  The special functions come from SciPy, imported when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array


def _float_out(x: Any, out: Array | None) -> Array:
    if out is not None:
        return out
    dtype: Any = np.exp.resolve_dtypes((np.asarray(x).dtype, None))[-1]
    return np.empty(np.shape(x), dtype)


def sigmoid(x: Any, out: Array | None = None) -> Array:
    """Return 1 / (1 + exp(-x)); exp overflowing to infinity gives the right 0."""
    y = _float_out(x, out)
    np.negative(x, y, dtype=y.dtype)  # in the result's dtype: unsigned ints would wrap around
    np.exp(y, y)
    np.add(y, 1, y)
    np.divide(1, y, y)
    return y


def softplus(x: Any, out: Array | None = None) -> Array:
    """Return log(1 + exp(x))."""
    y = _float_out(x, out)
    np.logaddexp(x, 0, y, casting="unsafe")
    return y


def where(condition: Any, first: Any, second: Any, out: Array | None = None) -> Array:
    """Return first where condition is true, else second; safe when out is one of them."""
    if out is None or np.may_share_memory(out, first) or np.may_share_memory(out, condition):
        chosen: Array = np.where(condition, first, second)
        if out is None:
            return chosen
        np.copyto(out, chosen)
        return out
    np.copyto(out, second)
    np.copyto(out, first, where=np.asarray(condition, dtype=bool))
    return out


def clip(x: Any, low: Any, high: Any, out: Array | None = None) -> Array:
    """Return x limited to [low, high]; NaN stays NaN."""
    if out is None:
        return np.asarray(np.minimum(np.maximum(x, low), high))
    if np.may_share_memory(out, high):
        np.copyto(out, np.minimum(np.maximum(x, low), high))
        return out
    np.minimum(np.maximum(x, low, out=out), high, out=out)
    return out


def multiply_no_nan(x: Any, y: Any, out: Array | None = None) -> Array:
    """Return x * y, 0 where y is 0 whatever x is."""
    nothing = np.equal(y, 0)
    product = np.asarray(np.multiply(x, y, out))
    np.copyto(product, False, where=nothing)  # a 0 that every dtype takes
    return product


def scipy_module(name: str) -> Any:
    """Return a module of SciPy, imported when first used."""
    import importlib

    return importlib.import_module(f"scipy.{name}")


def by_scipy(name: str, arity: int) -> Callable[..., Array]:
    """Return a function of SciPy's, computed in the common dtype of its arguments, float64 for ints."""

    def compute(*values: Any, out: Array | None = None) -> Array:
        given = [np.asarray(value) for value in values[:arity]]
        common = np.result_type(*given)
        dtype = common if common.kind == "f" else np.dtype("float64")
        function = getattr(scipy_module("special"), name)
        value = np.asarray(function(*(array.astype(dtype, copy=False) for array in given)))
        return _given(value, dtype, values[arity] if len(values) > arity else out)

    compute.__name__ = compute.__qualname__ = name
    return compute


def _given(value: Array, dtype: Any, out: Array | None) -> Array:
    """Convert a SciPy result, which is float32 for float16, to the wanted dtype, or write it into an array."""
    if out is None:
        return value.astype(dtype, copy=False)
    np.copyto(out, value, casting="same_kind")
    return out


def rint(x: Any, out: Array | None = None) -> Array:
    """Return x rounded to the nearest integer, halves to even; ints stay what they are."""
    given = np.asarray(x)
    if given.dtype.kind not in "iu":
        return np.asarray(np.rint(given, out))
    return np.asarray(np.positive(given, out))


def polygamma(order: Any, x: Any, out: Array | None = None) -> Array:
    """Return the derivative of digamma of a whole order, which is read as an int64."""
    given = np.asarray(x)
    dtype = given.dtype if given.dtype.kind == "f" else np.dtype("float64")
    # SciPy adds 1, which a small integer cannot hold
    whole = np.asarray(order).astype(np.int64, copy=False).astype(np.float64)
    value = np.asarray(scipy_module("special").polygamma(whole, given.astype(dtype, copy=False)))
    return _given(value, dtype, out)


# They look whether memory is shared, and then take longer than in an array of their own.
LOOKING = (where, clip)
