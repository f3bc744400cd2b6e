"""Arrays put below, beside and behind one another, under NumPy's names: ``concatenate`` of arrays that get axes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.ops import join
from scanviz.engine.ops.support import as_variable, listed
from scanviz.tensor.axes import at_least, at_least_3, transpose
from scanviz.tensor.shapes import ravel


def vstack(tup: Sequence[Any], *, dtype: object = None) -> Variable:
    """Arrays below one another: joined along the first axis, vectors being rows.

    Parameters
    ----------
    tup : list of array_like
        At least one; of equal sizes but along the first axis.
    dtype : dtype, optional
        Of the result, the common one by default; no floats become ints.

    Returns
    -------
    Variable
        At least two dimensions.

    Raises
    ------
    ScanvizTypeError
        If numbers of dimensions differ, or the dtype cannot hold the arrays.
    ScanvizValueError
        If there are no arrays.
    ShapeError
        If other sizes differ: at once where they are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.vstack([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]])
    """
    return join.concatenate(
        [at_least(array, 2) for array in listed(tup, "vstack: what to join")], 0, dtype=dtype
    )


def hstack(tup: Sequence[Any], *, dtype: object = None) -> Variable:
    """Arrays beside one another: joined along the second axis, vectors and scalars along the only one.

    Parameters
    ----------
    tup : list of array_like
        At least one; of equal sizes but along the second axis.
    dtype : dtype, optional
        As in :func:`vstack`.

    Returns
    -------
    Variable
        At least one dimension.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        As in :func:`vstack`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.hstack([[[1], [2]], [[3], [4]]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    parts = [at_least(array, 1) for array in listed(tup, "hstack: what to join")]
    return join.concatenate(parts, 0 if parts and tensor_type(parts[0]).ndim == 1 else 1, dtype=dtype)


def dstack(tup: Sequence[Any]) -> Variable:
    """Arrays behind one another: joined along the third axis, which vectors and matrices get.

    Parameters
    ----------
    tup : list of array_like
        At least one; vectors are rows first.

    Returns
    -------
    Variable
        At least three dimensions.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        As in :func:`vstack`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.dstack([[1, 2], [3, 4]]).eval()
    array([[[1, 3],
            [2, 4]]])
    """
    return join.concatenate([at_least_3(array) for array in listed(tup, "dstack: what to join")], 2)


def column_stack(tup: Sequence[Any]) -> Variable:
    """Vectors as the columns of a matrix; matrices among them stand beside as they are.

    Parameters
    ----------
    tup : list of array_like
        At least one vector or matrix, of equally many rows.

    Returns
    -------
    Variable
        Matrix.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        As in :func:`vstack`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.column_stack([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    parts = [as_variable(array) for array in listed(tup, "column_stack: what to join")]
    columns = [part if tensor_type(part).ndim > 1 else transpose(at_least(part, 2)) for part in parts]
    return join.concatenate(columns, 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Variable:
    """Values joined to the end of an array; unlike a list's ``append`` it gives a new array.

    Parameters
    ----------
    arr, values : array_like
        Of one number of dimensions, and of equal sizes but along the axis.
    axis : int, optional
        Along which axis; None flattens both first.

    Returns
    -------
    Variable
        Of the common dtype.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError, ShapeError
        As in :func:`vstack`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.append([1, 2], 3).eval()
    array([1, 2, 3])
    """
    if axis is None:
        return join.concatenate([ravel(at_least(arr, 1)), ravel(at_least(values, 1))])
    return join.concatenate([arr, values], axis)
