"""New arrays under NumPy's names."""

from __future__ import annotations

from typing import Any

from scanviz.engine.config import config
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import canonical_dtype
from scanviz.engine.ops import creation as create
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.support import as_variable

__all__ = [
    "alloc",
    "arange",
    "diag",
    "diagonal",
    "eye",
    "full",
    "full_like",
    "identity",
    "ones",
    "ones_like",
    "tri",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: object = None) -> Variable:
    """Evenly spaced numbers.

    Parameters
    ----------
    start, stop, step : int, float or scalar variable
        As for ``numpy.arange``; one argument alone is ``stop``.
    dtype : dtype, optional
        By default as NumPy: int64 for whole numbers, float64 for floats; ``config.floatX`` for Python floats alone.

    Returns
    -------
    Variable
        Vector.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.iscalar("n")
    >>> T.arange(n).eval({n: 4})
    array([0, 1, 2, 3])
    """
    return create.arange(start, stop, step, dtype)


def full(shape: Any, fill_value: Any, dtype: object = None) -> Variable:
    """Array of a shape filled with one value.

    Parameters
    ----------
    shape : int, scalar variable, list of these or vector variable of known length
        Sizes.
    fill_value : array_like
        Broadcast to the shape.
    dtype : dtype, optional
        By default that of ``fill_value``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.full((2,), 7).eval()
    array([7, 7])
    """
    value = as_variable(fill_value)
    return alloc(value if dtype is None else cast(value, dtype), shape)


def zeros(shape: Any, dtype: object = None) -> Variable:
    """Array of zeros.

    Parameters
    ----------
    shape : int, scalar variable, list of these or vector variable of known length
        Sizes.
    dtype : dtype, optional
        ``config.floatX`` by default.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.zeros((2, 2)).eval()
    array([[0., 0.],
           [0., 0.]])
    """
    return alloc(as_variable(0, canonical_dtype(config.floatX if dtype is None else dtype)), shape)


def ones(shape: Any, dtype: object = None) -> Variable:
    """Array of ones; parameters as for :func:`zeros`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.ones(3, dtype="int64").eval()
    array([1, 1, 1])
    """
    return alloc(as_variable(1, canonical_dtype(config.floatX if dtype is None else dtype)), shape)


@meaning("method:zeros_like")
def zeros_like(x: Any, dtype: object = None) -> Variable:
    """Zeros of the shape of ``x``, in its dtype or another.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.zeros_like([1.0, 2.0]).eval()
    array([0., 0.])
    """
    return create.filled_like(x, 0, dtype)


@meaning("method:ones_like")
def ones_like(x: Any, dtype: object = None) -> Variable:
    """Ones of the shape of ``x``, in its dtype or another.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.ones_like([1, 2]).eval()
    array([1, 1])
    """
    return create.filled_like(x, 1, dtype)


def full_like(x: Any, fill_value: Any, dtype: object = None) -> Variable:
    """One value in the shape of ``x``, in its dtype or another.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.full_like([1.0, 2.0], 5).eval()
    array([5., 5.])
    """
    return create.filled_like(x, fill_value, dtype)


def eye(n: Any, m: Any = None, k: int = 0, dtype: object = None) -> Variable:
    """Matrix with ones on its k-th diagonal, n × m (square by default).

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.eye(2).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    return create.eye(n, m, k, dtype)


def identity(n: Any, dtype: object = None) -> Variable:
    """Identity matrix.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.identity(1).eval()
    array([[1.]])
    """
    return create.eye(n, None, 0, dtype)


def tri(n: Any, m: Any = None, k: int = 0, dtype: object = None) -> Variable:
    """Matrix with ones at and below its k-th diagonal.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tri(2).eval()
    array([[1., 0.],
           [1., 1.]])
    """
    return create.triangle(ones((n, n if m is None else m), dtype), k, True)


def tril(x: Any, k: int = 0) -> Variable:
    """Lower triangle of the last two axes, zeros above the k-th diagonal.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    return create.triangle(x, k, True)


def triu(x: Any, k: int = 0) -> Variable:
    """Upper triangle of the last two axes, zeros below the k-th diagonal.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    return create.triangle(x, k, False)


@meaning("method:diagonal")
def diagonal(x: Any, offset: int = 0) -> Variable:
    """Diagonal of the last two axes.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diagonal([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    return create.diagonal(x, offset)


def diag(x: Any, k: int = 0) -> Variable:
    """Diagonal of a matrix, or the matrix that has a vector on its diagonal.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diag([1, 2]).eval()
    array([[1, 0],
           [0, 2]])
    """
    variable = as_variable(x)
    return (
        create.from_diagonal(variable, k) if tensor_type(variable).ndim == 1 else create.diagonal(variable, k)
    )
