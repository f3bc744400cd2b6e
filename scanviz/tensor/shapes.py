"""Functions of shape under NumPy's names: sizes, reshaping and broadcasting, axes permuted, moved, added and dropped.

Wherever sizes are known the result's type knows them; asking for a shape computes no values, and axes are changed by views.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import shape as ops
from scanviz.engine.ops.shape import shape
from scanviz.engine.ops.sizes import product_of
from scanviz.engine.ops.support import MOST_DIMENSIONS, as_variable, constant_integer, whole


@meaning("method:transpose")
def transpose(x: Any, *order: Any, axes: Sequence[int] | None = None) -> Variable:
    """Axes reversed, or in the order given.

    Parameters
    ----------
    x : array_like
        Any tensor.
    *order : ints, or one list of these
        The order of the axes.
    axes : list of int, optional
        The same, by keyword.

    Raises
    ------
    ScanvizValueError
        If an axis is missing or named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.transpose([[1, 2], [3, 4]]).eval()
    array([[1, 3],
           [2, 4]])
    """
    given = order[0] if len(order) == 1 and isinstance(order[0], list | tuple) else order
    wanted = list(given) if given and not (len(given) == 1 and given[0] is None) else axes
    return ops.transpose(x, wanted)


@meaning("method:swapaxes")
def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """Two axes exchanged.

    Parameters
    ----------
    x : array_like
        Any tensor.
    axis1, axis2 : int
        Axes; negative ones count from the last.

    Raises
    ------
    ScanvizValueError
        If an axis is not there.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.swapaxes(T.tensor3("x"), 0, 2).type.ndim
    3
    """
    variable = as_variable(x)
    order = list(range(tensor_type(variable).ndim))
    a, b = (ops.normal_axis(axis, len(order), "swapaxes") for axis in (axis1, axis2))
    order[a], order[b] = order[b], order[a]
    return ops.dimshuffle(variable, order)


def matrix_transpose(x: Any) -> Variable:
    """The last two axes exchanged, as ``x.mT`` gives it: each matrix of a batch transposed.

    Parameters
    ----------
    x : array_like
        At least two dimensions.

    Raises
    ------
    ScanvizTypeError
        If it has fewer.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tensor("float64", (2, 3, 4)).mT.type
    TensorType('float64', (2, 4, 3))
    """
    variable = as_variable(x)
    if tensor_type(variable).ndim < 2:
        raise ScanvizTypeError.here(
            f"`{describe(variable)}` is no matrix to transpose",
            expected="at least 2 dimensions",
            found=variable.type,
        )
    return swapaxes(variable, -2, -1)


def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Variable:
    """Axes moved to other places, the rest in their order.

    Parameters
    ----------
    x : array_like
        Any tensor.
    source, destination : int or list of int
        Axes, and their positions in the result.

    Raises
    ------
    ScanvizValueError
        If an axis is not there or named twice, or the two lists differ in length.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.moveaxis(T.tensor("float32", (2, 3, 4)), 0, -1).type
    TensorType('float32', (3, 4, 2))
    """
    variable = as_variable(x)
    ndim = tensor_type(variable).ndim
    starts, ends = (ops.axes_of(axes, ndim, "moveaxis") for axes in (source, destination))
    if len(starts) != len(ends):
        raise ScanvizValueError.here(
            "moveaxis needs one destination for each source",
            expected=f"{len(starts)} destinations",
            found=len(ends),
        )
    order = [axis for axis in range(ndim) if axis not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        order.insert(end, start)
    return ops.dimshuffle(variable, order)


@meaning("method:squeeze")
def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Variable:
    """Axes of size 1 dropped: all that are known to be, or the given ones.

    Parameters
    ----------
    x : array_like
        Any tensor.
    axis : int or list of int, optional
        Axes; unlike NumPy's, the default leaves axes whose size is not known while the graph is built.

    Raises
    ------
    ScanvizValueError
        If an axis is not there, or its size is known not to be 1.
    ShapeError
        At run time, if its size is not 1.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.squeeze(T.col("x"), 1).type
    TensorType('float64', (None,))
    """
    variable = as_variable(x)
    sizes = tensor_type(variable).shape
    if axis is None:
        dropped = {k for k, size in enumerate(sizes) if size == 1}
    else:
        dropped = set(ops.axes_of(axis, len(sizes), "squeeze"))
    return ops.dimshuffle(variable, [k for k in range(len(sizes)) if k not in dropped])


def expand_dims(x: Any, axis: int | Sequence[int]) -> Variable:
    """New axes of size 1 at places of the result.

    Parameters
    ----------
    x : array_like
        Any tensor.
    axis : int or list of int
        Position in the result.

    Raises
    ------
    ScanvizValueError
        If a place is beyond the result or named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.expand_dims(T.vector("x"), 0).type
    TensorType('float64', (1, None))
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim + (len(axis) if isinstance(axis, list | tuple) else 1)
    added = ops.axes_of(axis, rank, "expand_dims")
    given = iter(range(rank))
    return ops.dimshuffle(variable, ["x" if k in added else next(given) for k in range(rank)])


def shape_padleft(x: Any, n_ones: int = 1) -> Variable:
    """New axes of size 1 before the others, one or ``n_ones`` of them.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.shape_padleft(T.vector("x")).type
    TensorType('float64', (1, None))
    """
    variable = as_variable(x)
    return ops.dimshuffle(
        variable,
        [
            *["x"] * whole(n_ones, "shape_padleft: n_ones", 0, MOST_DIMENSIONS),
            *range(tensor_type(variable).ndim),
        ],
    )


def shape_padright(x: Any, n_ones: int = 1) -> Variable:
    """New axes of size 1 after the others, one or ``n_ones`` of them.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.shape_padright(T.vector("x")).type
    TensorType('float64', (None, 1))
    """
    variable = as_variable(x)
    return ops.dimshuffle(
        variable,
        [
            *range(tensor_type(variable).ndim),
            *["x"] * whole(n_ones, "shape_padright: n_ones", 0, MOST_DIMENSIONS),
        ],
    )


def at_least(x: Any, rank: int) -> Variable:
    """Return an array with axes of size 1 added in front, up to a number of dimensions."""
    variable = as_variable(x)
    return shape_padleft(variable, max(0, rank - tensor_type(variable).ndim))


def atleast_1d(*arys: Any) -> Any:
    """At least one dimension, added in front; of several arrays, a tuple of them.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.atleast_1d(3).eval()
    array([3])
    """
    return _of_all(arys, lambda x: at_least(x, 1))


def atleast_2d(*arys: Any) -> Any:
    """At least two dimensions, added in front; of several arrays, a tuple of them.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.atleast_2d([1, 2]).eval()
    array([[1, 2]])
    """
    return _of_all(arys, lambda x: at_least(x, 2))


def atleast_3d(*arys: Any) -> Any:
    """At least three dimensions, added where NumPy does: a vector becomes ``(1, n, 1)``, a matrix ``(m, n, 1)``.

    Of several arrays it gives a tuple.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.atleast_3d([1, 2]).type
    TensorType('int64', (1, 2, 1))
    """
    return _of_all(arys, at_least_3)


def at_least_3(x: Any) -> Variable:
    """Return an array with at least three dimensions, as :func:`atleast_3d` adds them."""
    variable = as_variable(x)
    return variable if tensor_type(variable).ndim > 2 else shape_padright(at_least(variable, 2), 1)


def _of_all(arrays: Sequence[Any], function: Callable[[Any], Variable]) -> Variable | tuple[Variable, ...]:
    """Apply a function to the only array, or to each of several as a tuple."""
    return function(arrays[0]) if len(arrays) == 1 else tuple(function(array) for array in arrays)


@meaning("method:reshape")
def reshape(x: Any, *newshape: Any, ndim: int | None = None) -> Variable:
    """The same elements in another shape.

    Parameters
    ----------
    x : array_like
        Any tensor.
    *newshape : ints, scalar variables, or one list or vector of these
        Sizes; one may be -1.
    ndim : int, optional
        Length of a symbolic shape vector, where it is not known.

    Raises
    ------
    ShapeError
        If the sizes do not hold the elements.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.reshape([1, 2, 3, 4], (2, -1)).eval()
    array([[1, 2],
           [3, 4]])
    """
    wanted = newshape[0] if len(newshape) == 1 and not isinstance(newshape[0], int) else newshape
    return ops.reshape(x, wanted, ndim)


@meaning("method:flatten")
def flatten(x: Any, ndim: int = 1) -> Variable:
    """The first ``ndim - 1`` axes kept, the rest made one.

    Parameters
    ----------
    x : array_like
        Any tensor.
    ndim : int, optional
        Dimensions of the result; by default a vector of all elements.

    Raises
    ------
    ScanvizValueError
        If ``x`` has fewer dimensions.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.flatten([[1, 2], [3, 4]]).eval()
    array([1, 2, 3, 4])
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim
    ndim = whole(ndim, "flatten: ndim")
    if not 1 <= ndim <= max(rank, 1):
        raise ScanvizValueError.here(
            f"flatten: `{describe(variable)}` cannot have {ndim} dimensions", expected=f"1 to {rank}"
        )
    if rank == ndim:
        return variable
    sizes = [ops.dimension(variable, k) for k in range(rank)]
    last = product_of(sizes[ndim - 1 :]) if ndim > 1 else -1  # beside a size of 0, -1 has no meaning
    return ops.reshape(variable, [*sizes[: ndim - 1], last])


@meaning("method:ravel")
def ravel(x: Any) -> Variable:
    """All elements as a vector, the last axis running fastest.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.ravel([[1], [2]]).eval()
    array([1, 2])
    """
    return flatten(x, 1)


def broadcast_to(x: Any, sizes: Any) -> Variable:
    """A new array of a shape, filled with ``x`` broadcast to it.

    Parameters
    ----------
    x : array_like
        At most as many dimensions as the shape.
    sizes : int, scalar variable, list of these or vector variable of known length
        The shape.

    Raises
    ------
    ShapeError
        If ``x`` does not broadcast to it: at once where sizes are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.broadcast_to([1, 2], (2, 2)).eval()
    array([[1, 2],
           [1, 2]])
    """
    return ops.alloc(x, sizes)


@meaning("attribute:size")
def size(x: Any) -> Variable:
    """Number of elements: an int64 scalar, computed from sizes alone.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> T.size(x).eval({x: [[1.0, 2.0]]})
    array(2)
    """
    variable = as_variable(x)
    count = product_of([ops.dimension(variable, k) for k in range(tensor_type(variable).ndim)])
    known = constant_integer(count)
    return count if known is None else ops.ConstantOf(known, "int64", variable)


meaning("attribute:shape")(shape)
