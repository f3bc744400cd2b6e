"""Arrays put below, beside and behind one another, repeated and turned round, under NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import SHORTHANDS
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.notation import Parts, Shorthand, WrittenTerm, as_tuple, called
from scanviz.engine.ops import join
from scanviz.engine.ops import shape as ops
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.sizes import given_size, product_of
from scanviz.engine.ops.support import as_variable, constant, listed
from scanviz.tensor.shapes import at_least, at_least_3, transpose


def vstack(tup: Sequence[Any], *, dtype: object = None) -> Variable:
    """Arrays below one another: joined along the first axis, vectors being rows.

    Parameters
    ----------
    tup : list of array_like
        At least one; of equal sizes but along the first axis.
    dtype : dtype, optional
        Dtype of the result, the common one by default; no floats become ints.

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
        Arrays of equal numbers of dimensions, and of equal sizes except along the axis.
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
        return join.concatenate([join.flattened(at_least(arr, 1)), join.flattened(at_least(values, 1))])
    return join.concatenate([arr, values], axis)


def stack(arrays: Any, axis: Any = 0, *more: Any, dtype: object = None) -> Variable:
    """Arrays joined along a new axis.

    Parameters
    ----------
    arrays : list of array_like
        At least one, of one shape.
    axis : int, optional
        Position of the new axis in the result.
    dtype : dtype, optional
        Dtype of the result, the common one by default; no floats become ints.

    Raises
    ------
    ScanvizTypeError
        If numbers of dimensions differ, the arrays are not in a list, or the dtype cannot hold them.
    ScanvizValueError
        If there are no arrays, or the axis is beyond the result.
    ShapeError
        If sizes differ: at once where they are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.stack([[1, 2], [3, 4]], axis=1).eval()
    array([[1, 3],
           [2, 4]])
    """
    if isinstance(arrays, Variable) or more:
        raise ScanvizTypeError.here("stack takes a list of arrays", fix="T.stack([a, b])")
    return join.stack(arrays, axis, dtype)


def _written_tile(inputs: Sequence[Any], parts: Parts[Any]) -> Shorthand | None:
    """Return how a reshape is written that is the end of :func:`tile`: with what was repeated, and how often."""
    filled = parts(inputs[0])
    spread = parts(filled[1][0]) if filled is not None and filled[0].declaration is ops.ALLOC else None
    if filled is None or spread is None or spread[0].declaration is not ops.DIMSHUFFLE:
        return None
    order = spread[0].parameters.order
    kept = [axis for axis in order[1::2] if axis is not None]
    if len(order) % 2 or any(axis is not None for axis in order[::2]) or kept != [*range(len(kept))]:
        return None
    counts = filled[1][1::2]
    return Shorthand(
        [spread[1][0], *counts],
        lambda terms: called("tile", [terms[0], WrittenTerm(as_tuple(terms[1:]))], {}),
    )


SHORTHANDS["reshape"] = _written_tile


def tile(x: Any, reps: Any) -> Variable:
    """The whole array repeated along each axis, as ``numpy.tile``.

    Parameters
    ----------
    x : array_like
        Any tensor; axes are added in front where there are more counts than axes.
    reps : int, scalar variable, list of these or vector variable of known length
        Number of repeats along each of the last axes.

    Raises
    ------
    ScanvizTypeError
        If a count is no integer.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tile([1, 2], 2).eval()
    array([1, 2, 1, 2])
    """
    given = ops.sizes_of(reps, "tile")
    variable = at_least(x, len(given))
    rank = tensor_type(variable).ndim
    counts = [constant(1, "int64")] * (rank - len(given)) + given
    sizes = [ops.dimension(variable, k) for k in range(rank)]
    order = [part for k in range(rank) for part in ("x", k)]
    flat = [size for pair in zip(counts, sizes, strict=True) for size in pair]
    whole = ops.alloc(ops.dimshuffle(variable, order), flat)
    return ops.reshape(whole, [product_of(pair) for pair in zip(map(given_size, counts), sizes, strict=True)])


def flip(x: Any, axis: int | Sequence[int] | None = None) -> Variable:
    """Order reversed along an axis or several, or along all.

    Parameters
    ----------
    x : array_like
        Any tensor.
    axis : int or list of int, optional
        Along which; None is all of them.

    Raises
    ------
    ScanvizValueError
        If an axis is not there or named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.flip([1, 2, 3]).eval()
    array([3, 2, 1])
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim
    turned = list(range(rank)) if axis is None else ops.axes_of(axis, rank, "flip")
    return getitem(variable, tuple(slice(None, None, -1 if k in turned else None) for k in range(rank)))
