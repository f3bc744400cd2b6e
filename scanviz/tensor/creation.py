"""New arrays under NumPy's names."""

from __future__ import annotations

from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import creation as create
from scanviz.engine.ops.shape import dimshuffle, normal_axis
from scanviz.engine.ops.support import as_variable
from scanviz.tensor.filling import ones

__all__ = [
    "arange",
    "diag",
    "diagonal",
    "eye",
    "identity",
    "tri",
    "tril",
    "triu",
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


def eye(n: Any, m: Any = None, k: int = 0, dtype: object = None) -> Variable:
    """Matrix with ones on its k-th diagonal, n × m (square by default).

    Parameters
    ----------
    n, m : int or integer scalar variable
        Rows and columns.
    k : int, optional
        Which diagonal: 0 the main one, above it positive.
    dtype : dtype, optional
        ``config.floatX`` by default.

    Raises
    ------
    ScanvizTypeError
        If a size is no integer.
    ShapeError
        At run time, if a size is negative.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.eye(2).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    return create.eye(n, m, k, dtype)


def identity(n: Any, dtype: object = None) -> Variable:
    """Identity matrix of n rows, in ``config.floatX`` or another dtype.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.identity(1).eval()
    array([[1.]])
    """
    return create.eye(n, None, 0, dtype)


def tri(n: Any, m: Any = None, k: int = 0, dtype: object = None) -> Variable:
    """Matrix with ones at and below its k-th diagonal, zeros above; parameters as for :func:`eye`.

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

    Raises
    ------
    ScanvizTypeError
        If ``x`` has fewer than two dimensions.

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

    Raises
    ------
    ScanvizTypeError
        If ``x`` has fewer than two dimensions.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    return create.triangle(x, k, False)


@meaning("method:diagonal")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Diagonal of two axes, as the last axis of the result.

    Parameters
    ----------
    x : array_like
        Matrix, or more dimensions.
    offset : int, optional
        Which diagonal: 0 the main one, above it positive.
    axis1, axis2 : int, optional
        The axes of the matrices.

    Raises
    ------
    ScanvizTypeError
        If ``x`` has fewer than two dimensions.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diagonal([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim
    if rank < 2:
        return create.diagonal(variable, offset)  # which refuses it
    rows, columns = (normal_axis(axis, rank, "diagonal") for axis in (axis1, axis2))
    if rows == columns:
        raise ScanvizValueError.here("diagonal needs two different axes", found=(axis1, axis2))
    rest = [axis for axis in range(rank) if axis not in (rows, columns)]
    return create.diagonal(dimshuffle(variable, [*rest, rows, columns]), offset)


def diag(x: Any, k: int = 0) -> Variable:
    """Diagonal of a matrix, or the matrix that has a vector on its diagonal.

    Parameters
    ----------
    x : array_like
        Matrix or vector.
    k : int, optional
        Which diagonal: 0 the main one, above it positive.

    Raises
    ------
    ScanvizTypeError
        If ``x`` is neither.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diag([1, 2]).eval()
    array([[1, 0],
           [0, 2]])
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim
    if rank not in (1, 2):
        raise ScanvizTypeError.here(
            "diag needs a vector or a matrix",
            found=variable.type,
            fix="T.diagonal(x, axis1=-2, axis2=-1) for many matrices" if rank > 2 else None,
        )
    return create.from_diagonal(variable, k) if rank == 1 else create.diagonal(variable, k)
