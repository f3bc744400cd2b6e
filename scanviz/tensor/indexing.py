"""Indexing and assignment under NumPy's and Theano's names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import BOOLEAN, INTEGERS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import alloc, dimension, dimshuffle, normal_axis, sizes_of
from scanviz.engine.ops.support import as_variable, listed, one_of


@meaning("iterate")
def _iterate(x: Variable) -> Iterator[Variable]:
    """Unpack a variable whose first size is known."""
    kind = tensor_type(x)
    if kind.ndim == 0 or kind.shape[0] is None:
        name = x.name if x.name is not None and x.name.isidentifier() else "x"
        raise ScanvizTypeError.here(
            f"`{describe(x)}` cannot be iterated over: "
            + (
                "its number of rows is not known while the graph is built"
                if kind.ndim
                else "it is one number"
            ),
            fix=f"scan(fn, sequences={name}), or {name}[0], {name}[1], …" if kind.ndim else None,
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
        The indices.
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
        from scanviz.engine.ops.join import flattened  # seldom needed, and most loops import this file

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
        If ``indices`` has the wrong number of dimensions, or is no array of integers.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.take_along_axis([[3, 1], [2, 4]], [[1], [0]], axis=1).eval()
    array([[1],
           [2]])
    """
    variable, places = as_variable(x), as_variable(indices)
    if axis is None:
        from scanviz.engine.ops.join import flattened

        variable, axis = flattened(variable), 0
    rank = tensor_type(variable).ndim
    if tensor_type(places).ndim != rank or tensor_type(places).dtype not in INTEGERS:
        raise ScanvizTypeError.here(
            f"take_along_axis: `{describe(places)}` cannot index `{describe(variable)}`",
            expected=f"integers, with {rank} dimensions",
            found=places.type,
        )
    along = normal_axis(axis, rank, "take_along_axis")
    return getitem(variable, tuple(places if k == along else _places(variable, k) for k in range(rank)))


def _places(x: Variable, axis: int) -> Variable:
    """Return 0, 1, 2, … along one axis of ``x``, with size 1 along the others."""
    order = ["x" if k != axis else 0 for k in range(tensor_type(x).ndim)]
    from scanviz.engine.ops.creation import arange  # seldom needed, and all import this file

    return dimshuffle(arange(dimension(x, axis)), order)


@meaning("method:nonzero")
def nonzero(x: Any) -> tuple[Variable, ...]:
    """Return the indices of non-zero elements: one vector for each axis, usable as an index.

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
        raise ScanvizTypeError.here(
            f"nonzero needs an array, but `{describe(variable)}` is a scalar",
            fix="T.nonzero(T.atleast_1d(x))",
        )
    mask = variable if tensor_type(variable).dtype == BOOLEAN else e.not_equal(variable, 0)
    sizes = [dimension(variable, k) for k in range(rank)]
    return tuple(getitem(alloc(_places(variable, k), sizes), mask) for k in range(rank))


def flatnonzero(x: Any) -> Variable:
    """Return the indices of non-zero elements of the flattened array.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.flatnonzero([[0, 1], [1, 0]]).eval()
    array([1, 2])
    """
    from scanviz.engine.ops.join import flattened

    return nonzero(flattened(as_variable(x)))[0]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Variable, ...]:
    """Indices along each axis of what stands at places of the flattened array.

    Parameters
    ----------
    indices : int or integer array_like
        Places in the flattened array.
    shape : int, scalar variable, list of these or vector variable of known length
        The shape of the array.
    order : {"C", "F"}
        Whether the last axis runs fastest in the flattened array, or the first.

    Returns
    -------
    tuple of Variable
        One int64 tensor of the shape of ``indices`` for each axis, usable as an index.

    Raises
    ------
    ScanvizTypeError
        If indices are no integers, or how many axes there are is not known.
    AssertFailedError
        At run time, if a place is negative or beyond the array.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> row, column = T.unravel_index(T.argmax(x), x.shape)
    >>> x[row, column].eval({x: [[1.0, 9.0], [2.0, 3.0]]})
    array(9.)
    """
    sizes = sizes_of(shape, "unravel_index")
    one_of(order, ("C", "F"), "unravel_index: order")
    rest = _whole_numbers(indices, "unravel_index: the indices")
    total: Any = 1
    for size in sizes:
        total = e.multiply(size, total)
    from scanviz.engine.ops.effects import Assert

    rest = Assert("unravel_index: an index is beyond the array")(
        rest, e.greater_equal(rest, 0), e.less(rest, total)
    )
    if not sizes:
        return ()
    fastest = list(reversed(sizes)) if order == "C" else sizes
    found = []
    for size in fastest[:-1]:
        found.append(e.mod(rest, size))
        rest = e.floor_divide(rest, size)
    found.append(rest)
    return tuple(reversed(found)) if order == "C" else tuple(found)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Variable:
    """Places in the flattened array of what stands at indices along each axis: the inverse of :func:`unravel_index`.

    Parameters
    ----------
    multi_index : list of int or integer array_like
        Indices along each axis; they broadcast together.
    dims : int, scalar variable, list of these or vector variable of known length
        The shape of the array.
    mode : {"raise", "wrap", "clip"}, or one for each axis
        Treatment of an index beyond an axis: an error, begun again from the other side, or the nearest one.
    order : {"C", "F"}
        Whether the last axis runs fastest in the flattened array, or the first.

    Returns
    -------
    Variable
        int64 tensor.

    Raises
    ------
    ScanvizTypeError
        If indices are no integers.
    ScanvizValueError
        If there is not one index for each axis, or a mode is not there.
    AssertFailedError
        At run time, if an index is beyond an axis whose mode is ``"raise"``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.ravel_multi_index([[0, 1], [2, 0]], (2, 3)).eval()
    array([2, 3])
    """
    sizes = sizes_of(dims, "ravel_multi_index")
    one_of(order, ("C", "F"), "ravel_multi_index: order")
    indices = [
        _whole_numbers(index, "ravel_multi_index: an index")
        for index in listed(multi_index, "ravel_multi_index: the indices")
    ]
    modes = [mode] * len(sizes) if isinstance(mode, str) else listed(mode, "ravel_multi_index: mode")
    if not sizes or len(indices) != len(sizes) or len(modes) != len(sizes):
        raise ScanvizValueError.here(
            "ravel_multi_index needs one index for each axis, and at least one",
            expected=f"{max(len(sizes), 1)} indices",
            found=f"{len(indices)} indices and {len(modes)} modes",
        )
    found: Variable | None = None
    zeros = reduce(e.add, [e.multiply(index, 0) for index in indices])
    axes = zip(indices, sizes, modes, strict=True)
    for index, size, how in list(axes)[:: 1 if order == "C" else -1]:
        # NumPy looks at indices as they broadcast: where there are none, none is beyond its axis
        place = _within(e.add(index, zeros) if how == "raise" else index, size, how)
        found = place if found is None else e.add(e.multiply(found, size), place)
    assert found is not None
    return found


def _whole_numbers(value: Any, what: str) -> Variable:
    variable = as_variable(value)
    if tensor_type(variable).dtype not in INTEGERS:
        raise ScanvizTypeError.here(f"{what} must be integers", found=variable.type)
    return e.cast(variable, "int64")


def _within(place: Variable, size: Variable, mode: Any) -> Variable:
    """Return an index along an axis, as a mode has it where it is beyond."""
    one_of(mode, ("raise", "wrap", "clip"), "ravel_multi_index: mode")
    if mode == "wrap":
        return e.mod(place, size)
    if mode == "clip":
        return e.minimum(e.maximum(place, 0), e.subtract(size, 1))
    from scanviz.engine.ops.effects import Assert

    return Assert("ravel_multi_index: an index is beyond its axis")(
        place, e.greater_equal(place, 0), e.less(place, size)
    )
