"""Functions of shape under NumPy's names: sizes, reshaping and broadcasting; axes are in :mod:`scanviz.tensor.axes`.

Wherever sizes are known the result's type knows them; asking for a shape computes no values.
"""

from __future__ import annotations

from typing import Any

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops import shape as ops
from scanviz.engine.ops.shape import shape
from scanviz.engine.ops.sizes import product_of
from scanviz.engine.ops.support import as_variable, constant_integer, whole


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
