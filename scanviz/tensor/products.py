"""Products of vectors, matrices and tensors, under NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ShapeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import linalg as ops
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension, dimshuffle, normal_axis, reshape
from scanviz.engine.ops.size_checks import specify_shape
from scanviz.engine.ops.sizes import product_of
from scanviz.engine.ops.support import as_variable


def inner(a: Any, b: Any) -> Variable:
    """Sum of products over the last axes.

    Parameters
    ----------
    a, b : array_like
        Tensors with equal sizes of the last axis; with a scalar it is the elementwise product.

    Returns
    -------
    Variable
        Tensor of shape ``a.shape[:-1] + b.shape[:-1]``.

    Raises
    ------
    ShapeError
        If sizes known when building do not fit.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.inner(x, x).eval({x: [1.0, 2.0]})
    array(5.)
    """
    first, second = as_variable(a), as_variable(b)
    if tensor_type(first).ndim == 0 or tensor_type(second).ndim == 0:
        return e.multiply(first, second)
    return ops.tensordot(first, second, axes=(-1, -1))


def outer(a: Any, b: Any) -> Variable:
    """Product of each element of one vector with each of another.

    Parameters
    ----------
    a, b : array_like
        Vectors; tensors of other ranks are flattened.

    Returns
    -------
    Variable
        Matrix of shape ``(size of a, size of b)``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.outer(x, [1.0, 10.0]).eval({x: [1.0, 2.0]})
    array([[ 1., 10.],
           [ 2., 20.]])
    """
    from scanviz.engine.ops.join import flattened  # of use for these products alone

    return e.multiply(
        dimshuffle(flattened(as_variable(a)), 0, "x"), dimshuffle(flattened(as_variable(b)), "x", 0)
    )


def kron(a: Any, b: Any) -> Variable:
    """Kronecker product: each element of ``a`` times all of ``b``, laid out as blocks.

    Parameters
    ----------
    a, b : array_like
        Tensors; the one of lower rank gets leading axes of size 1.

    Returns
    -------
    Variable
        Tensor whose sizes are the products of the sizes.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.kron([1, 10], [1, 2]).eval()
    array([ 1,  2, 10, 20])
    """
    from scanviz.tensor.shapes import at_least

    first, second = as_variable(a), as_variable(b)
    rank = max(tensor_type(first).ndim, tensor_type(second).ndim)
    first, second = at_least(first, rank), at_least(second, rank)
    blocks = dimshuffle(first, [mark for axis in range(rank) for mark in (axis, "x")])
    tiles = dimshuffle(second, [mark for axis in range(rank) for mark in ("x", axis)])
    return reshape(
        e.multiply(blocks, tiles),
        [product_of(dimension(factor, axis) for factor in (first, second)) for axis in range(rank)],
    )


def vdot(a: Any, b: Any) -> Variable:
    """Sum of products of all elements, whatever the shapes are.

    Parameters
    ----------
    a, b : array_like
        With equally many elements; both are flattened.

    Returns
    -------
    Variable
        Scalar of the common dtype.

    Raises
    ------
    ShapeError
        If numbers of elements differ: at once where they are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.vdot([[1, 2], [3, 4]], [[1, 0], [0, 1]]).eval()
    array(5)
    """
    from scanviz.engine.ops.join import flattened

    return ops.dot(flattened(as_variable(a)), flattened(as_variable(b)))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Variable:
    """Vector at right angles to two vectors of three dimensions, as long as the area between them.

    Parameters
    ----------
    a, b : array_like
        Vectors of 3 components along an axis; the other axes broadcast.
    axisa, axisb, axisc : int
        Axes of the components of ``a``, of ``b`` and of the result.
    axis : int, optional
        One for all three.

    Returns
    -------
    Variable
        Of the common dtype.

    Raises
    ------
    ScanvizTypeError
        If one is a scalar, or both hold truth values.
    ScanvizValueError
        If an axis does not exist.
    ShapeError
        If there are not 3 components: at once where their number is known, else at run time.  NumPy still takes 2, which is
        deprecated there: ``a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]`` is that number.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.cross([1, 0, 0], [0, 1, 0]).eval()
    array([0, 0, 1])
    """
    from scanviz.engine.ops.join import stack

    if axis is not None:
        axisa = axisb = axisc = axis
    parts = [_components(array, place) for array, place in ((a, axisa), (b, axisb))]
    common = np.result_type(*(tensor_type(part[0]).dtype for part in parts))
    first, second = ([e.cast(variable, common) for variable in part] for part in parts)
    found = [first[k - 2] * second[k - 1] - first[k - 1] * second[k - 2] for k in range(3)]
    rank = max(tensor_type(variable).ndim for variable in found)
    return stack(found, normal_axis(axisc, rank + 1, "cross: the result"))


def _components(value: Any, axis: int) -> list[Variable]:
    variable = as_variable(value)
    rank = tensor_type(variable).ndim
    if not rank:
        raise ScanvizTypeError.here(
            f"cross: `{describe(variable)}` is a scalar, and no vector", found=variable.type
        )
    place = normal_axis(axis, rank, f"cross: `{describe(variable)}`")
    known = tensor_type(variable).shape[place]
    if known not in (None, 3):
        raise ShapeError.here(
            f"cross: `{describe(variable)}` has {known} components along axis {place}",
            expected="3",
            found=variable.type,
        )
    sizes: list[Any] = [None] * rank
    sizes[place] = 3
    whole = variable if known == 3 else specify_shape(variable, sizes, "cross")
    return [getitem(whole, (*(slice(None),) * place, k)) for k in range(3)]
