"""Indexing and assignment under NumPy's and Theano's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import BOOLEAN, INTEGERS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.assign import inc_subtensor, set_subtensor
from scanviz.engine.ops.control import ifelse
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import flattened
from scanviz.engine.ops.shape import alloc, dimension, dimshuffle, normal_axis
from scanviz.engine.ops.support import as_variable

__all__ = ["flatnonzero", "ifelse", "inc_subtensor", "nonzero", "set_subtensor", "take", "take_along_axis"]

meaning("getitem")(getitem)


@meaning("iterate")
def _iterate(x: Variable) -> Iterator[Variable]:
    """Unpack a variable whose first size is known."""
    kind = tensor_type(x)
    if kind.ndim == 0 or kind.shape[0] is None:
        raise ScanvizTypeError(
            f"`{describe(x)}` cannot be iterated over: how many rows it has is not known while the graph is built",
            where=user_line(),
            fix="scan(fn, sequences=x), or x[0], x[1], …",
        )
    return iter([getitem(x, k) for k in range(kind.shape[0])])


@meaning("method:take")
def take(x: Any, indices: Any, axis: int | None = None) -> Variable:
    """Rows at integer indices along an axis, or elements of the flattened array.

    Parameters
    ----------
    x : array_like
        Any tensor.
    indices : int or integer array_like
        Which ones.
    axis : int, optional
        Along which axis; None takes from the flattened array.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.take([10, 20, 30], [2, 0]).eval()
    array([30, 10])
    """
    variable = as_variable(x)
    if axis is None:
        return getitem(flattened(variable), indices)
    place = normal_axis(axis, tensor_type(variable).ndim, "take")
    return getitem(variable, (*(slice(None),) * place, indices))


def take_along_axis(x: Any, indices: Any, axis: int | None) -> Variable:
    """Elements at integer indices along an axis, a list of them for each row, as ``argsort`` gives them.

    Parameters
    ----------
    x : array_like
        Any tensor.
    indices : integer array_like
        As many dimensions as ``x``; sizes but along the axis are equal or broadcast.
    axis : int or None
        Along which axis; None takes from the flattened array.

    Raises
    ------
    ScanvizTypeError
        If ``indices`` has another number of dimensions, or is no array of integers.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.take_along_axis([[3, 1], [2, 4]], [[1], [0]], axis=1).eval()
    array([[1],
           [2]])
    """
    variable, places = as_variable(x), as_variable(indices)
    if axis is None:
        variable, axis = flattened(variable), 0
    rank = tensor_type(variable).ndim
    if tensor_type(places).ndim != rank or tensor_type(places).dtype not in INTEGERS:
        raise ScanvizTypeError(
            f"take_along_axis: `{describe(places)}` cannot index `{describe(variable)}`",
            where=user_line(),
            expected=f"integers, with {rank} dimensions",
            found=places.type,
        )
    along = normal_axis(axis, rank, "take_along_axis")
    return getitem(variable, tuple(places if k == along else _places(variable, k) for k in range(rank)))


def _places(x: Variable, axis: int) -> Variable:
    """Return 0, 1, 2, … along one axis of ``x``, with size 1 along the others."""
    order = ["x" if k != axis else 0 for k in range(tensor_type(x).ndim)]
    return dimshuffle(arange(dimension(x, axis)), order)


@meaning("method:nonzero")
def nonzero(x: Any) -> tuple[Variable, ...]:
    """Where an array is not zero: one vector of indices for each axis, usable as an index.

    Parameters
    ----------
    x : array_like
        At least one dimension.

    Raises
    ------
    ScanvizTypeError
        If ``x`` is a scalar.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> x[T.nonzero(x > 1)].eval({x: [0.0, 2.0, 3.0]})
    array([2., 3.])
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim
    if rank == 0:
        raise ScanvizTypeError(
            f"nonzero needs an array, but `{describe(variable)}` is a scalar",
            where=user_line(),
            fix="T.nonzero(T.atleast_1d(x))",
        )
    mask = variable if tensor_type(variable).dtype == BOOLEAN else e.not_equal(variable, 0)
    sizes = [dimension(variable, k) for k in range(rank)]
    return tuple(getitem(alloc(_places(variable, k), sizes), mask) for k in range(rank))


def flatnonzero(x: Any) -> Variable:
    """Where the flattened array is not zero.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.flatnonzero([[0, 1], [1, 0]]).eval()
    array([1, 2])
    """
    return nonzero(flattened(as_variable(x)))[0]
