"""Joining and repeating arrays: concatenate, repeat, roll, split.

``concatenate`` and ``repeat`` are operations; ``roll`` and ``split`` are made of indexing and joining, so rules and derivatives
need to know no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError, some
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import INTEGERS, canonical_dtype
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import AxisParameters, dimension, dimshuffle, normal_axis, reshape, shape
from scanviz.engine.ops.size_checks import specify_shape
from scanviz.engine.ops.sizes import as_size, given_size, size_of
from scanviz.engine.ops.support import (
    as_integer,
    as_variable,
    constant,
    constant_integer,
    infer_by,
    kept_dtype,
    listed,
)
from scanviz.engine.sizes.dims import SIZES, Dims


def _concatenate_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    axis = op.parameters.axis
    result = list(dims.shapes[0])
    for sizes in dims.shapes[1:]:
        for k, size in enumerate(sizes):
            result[k] = dims.add(result[k], size) if k == axis else dims.same(result[k], size)
    return (tuple(result),)


def concatenate_values(xp: Any, arrays: Sequence[Any], axis: int) -> Any:
    """Return arrays of an array library one after another."""
    try:
        return xp.concatenate(arrays, axis)
    except ValueError:
        raise ShapeError(
            "arrays cannot be joined",
            expected=f"equal sizes but along axis {axis}",
            found=", ".join(str(np.shape(array)) for array in arrays),
        ) from None


CONCATENATE = Declaration(
    "concatenate",
    "join",
    arity=(1, None),
    doc="Arrays one after another along an axis.",
    infer=infer_by(kept_dtype),
    perform=lambda op, values: (concatenate_values(np, values, op.parameters.axis),),
    shapes=_concatenate_shapes,
    facts=Facts(cheap=True, axes=axes.joined, calls=2),
)


def concatenate(arrays: Sequence[Any], axis: int = 0, *, dtype: object = None) -> Variable:
    """Arrays joined along an existing axis.

    Parameters
    ----------
    arrays : list of array_like
        At least one; of one number of dimensions, and of equal sizes but along the axis.
    axis : int, optional
        Along which axis.
    dtype : dtype, optional
        Dtype of the result, the common one by default; no floats become ints.

    Raises
    ------
    ScanvizTypeError
        If numbers of dimensions differ, or the dtype cannot hold the arrays.
    ScanvizValueError
        If there are no arrays, or the axis is not there.
    ShapeError
        If other sizes differ: at once where they are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.concatenate([[1, 2], [3]]).eval()
    array([1, 2, 3])
    """
    parts, ndim = _alike(arrays, "concatenate", 1)
    place = normal_axis(axis, ndim, "concatenate")
    dtypes = [tensor_type(part).dtype for part in parts]
    made = np.result_type(*dtypes) if dtype is None else _wanted(dtypes, dtype)
    return build_one(Op(CONCATENATE, AxisParameters(place)), *(cast(part, made) for part in parts))


def _alike(arrays: Sequence[Any], what: str, least: int) -> tuple[list[Variable], int]:
    """Return the arrays to join, and their number of dimensions."""
    parts = [as_variable(array) for array in listed(arrays, f"{what}: what to join")]
    if not parts:
        raise ScanvizValueError.here(f"there is nothing to {what}")
    ranks = {tensor_type(part).ndim for part in parts}
    if len(ranks) > 1 or min(ranks) < least:
        raise ScanvizTypeError.here(
            f"{what} needs arrays with equal numbers of dimensions{', at least 1' * least}",
            found=", ".join(f"`{describe(part)}` {part.type}" for part in parts),
            fix="x[None] for one that has a dimension less, or T.stack([…]) to join along a new axis"
            if least
            else None,
        )
    return parts, ranks.pop()


def _wanted(dtypes: Sequence[str], dtype: object) -> str:
    """Return a dtype that arrays are joined in: for each of them of the same kind or a wider one, as in NumPy."""
    wanted = canonical_dtype(dtype)
    for text in dtypes:
        if not np.can_cast(text, wanted, "same_kind"):
            raise ScanvizTypeError.here(
                f"an array of {text} is not joined as {wanted}",
                expected="a dtype of the same kind, or a wider one",
                fix=f'T.cast(…, "{wanted}") of the result',
            )
    return wanted


def stack(arrays: Sequence[Any], axis: int = 0, dtype: object = None) -> Variable:
    """Return arrays joined along a new axis."""
    parts, ndim = _alike(arrays, "stack", 0)
    place = normal_axis(axis, ndim + 1, "stack")
    order = [*range(place), "x", *range(place, ndim)]
    return concatenate([dimshuffle(part, order) for part in parts], place, dtype=dtype)


def _repeat_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    result = list(dims.shapes[0])
    axis = op.parameters.axis
    result[axis] = dims.multiply(result[axis], dims.value(1)) if not dims.shapes[1] else None
    return (tuple(result),)


def _repeat_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    counts = np.asarray(values[1])
    if np.any(counts < 0):
        raise ScanvizValueError("a count cannot be negative", found=counts.min())
    try:
        return (np.repeat(values[0], counts, op.parameters.axis),)
    except ValueError:
        axis = op.parameters.axis
        raise ShapeError(
            f"one count is needed for each element along axis {axis}",
            expected=f"{np.shape(values[0])[axis]} counts",
            found=f"{counts.size} counts",
        ) from None


REPEAT = Declaration(
    "repeat",
    "join",
    arity=2,
    doc="Each element repeated along an axis.",
    infer=infer_by(kept_dtype),
    perform=_repeat_perform,
    shapes=_repeat_shapes,
    facts=Facts(cheap=True, axes=axes.but("axis"), calls=14),
)


@meaning("method:repeat")
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Variable:
    """Repeat each element, along an axis or of the flattened array.

    Parameters
    ----------
    x : array_like
        Any tensor.
    repeats : int, integer scalar or integer vector
        Number of repeats: one for all, or one for each element along the axis.
    axis : int, optional
        Along which axis; None flattens first.

    Raises
    ------
    ScanvizTypeError
        If counts are no integers.
    ScanvizValueError
        At run time, if a count is negative.
    ShapeError
        At run time, if there is not one count for each element.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.repeat([1, 2], 2).eval()
    array([1, 1, 2, 2])
    """
    variable = as_variable(x)
    if axis is None:
        variable, axis = flattened(variable), 0
    counts = as_variable(repeats)
    kind = tensor_type(counts)
    if kind.dtype not in INTEGERS or kind.ndim > 1:
        raise ScanvizTypeError.here("repeat: counts must be integers", found=kind)
    count = as_integer(counts, "repeat: the count") if kind.ndim == 0 else cast(counts, "int64")
    place = normal_axis(axis, tensor_type(variable).ndim, "repeat")
    return build_one(Op(REPEAT, AxisParameters(place)), variable, count)


def flattened(variable: Variable) -> Variable:
    """Return a variable as a vector."""
    return variable if tensor_type(variable).ndim == 1 else reshape(variable, [-1])


def roll(x: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Variable:
    """Elements moved along an axis, those beyond the end coming back at the start.

    Parameters
    ----------
    x : array_like
        Any tensor.
    shift : int, integer scalar variable or list of these
        Shift towards higher indices; one for all axes, or one for each.
    axis : int or list of int, optional
        Along which; None rolls the flattened array and gives it its shape back.

    Raises
    ------
    ScanvizTypeError
        If a shift is no integer.
    ScanvizValueError
        If an axis is not there, or there is not one shift for each.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.roll([1, 2, 3], 1).eval()
    array([3, 1, 2])
    """
    variable = as_variable(x)
    if axis is None:
        rolled = _rolled(flattened(variable), shift, 0)
        return reshape(rolled, shape(variable), ndim=tensor_type(variable).ndim)
    axes = list(axis) if isinstance(axis, list | tuple) else [axis]
    shifts = list(shift) if isinstance(shift, list | tuple) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ScanvizValueError.here(
            "roll needs one shift for each axis", expected=f"{len(axes)} shifts", found=len(shifts)
        )
    for distance, along in zip(shifts, axes, strict=True):
        variable = _rolled(variable, distance, along)
    return variable


def _rolled(variable: Variable, shift: Any, axis: Any) -> Variable:
    place = normal_axis(axis, tensor_type(variable).ndim, "roll")
    size = dimension(variable, place)
    moved = e.mod(as_integer(shift, "roll: the shift"), e.maximum(size, 1))
    cut = e.subtract(size, moved)
    before = (slice(None),) * place
    halves = [getitem(variable, (*before, half)) for half in (slice(cut, None), slice(None, cut))]
    return concatenate(halves, place)


def split(x: Any, parts: Any, axis: int = 0) -> list[Variable]:
    """Cut along an axis: into a number of equal parts, or into parts of given sizes.

    Parameters
    ----------
    x : array_like
        At least one dimension.
    parts : int, list of ints and scalar variables, or vector variable of known length
        Number of equal parts; or the size of each part (where ``numpy.split`` takes the places of the cuts).
    axis : int, optional
        Along which axis.

    Returns
    -------
    list of Variable
        The parts in order.

    Raises
    ------
    ScanvizTypeError
        If how many parts there are is not known while the graph is built.
    ScanvizValueError
        If there are no parts or a size is negative, or the axis is not there.
    ShapeError
        If the parts do not make up the whole: at once where sizes are known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.split([1, 2, 3], [1, 2])
    >>> b.eval()
    array([2, 3])
    """
    variable = as_variable(x)
    place = normal_axis(axis, tensor_type(variable).ndim, "split")
    if isinstance(parts, int | np.integer):
        return _equal_parts(variable, int(parts), place)
    sizes = [as_integer(size, "split: a size") for size in _listed(parts)]
    if not sizes:
        raise ScanvizValueError.here(
            "split: there are no parts", expected="a number, or sizes", found=repr(parts)
        )
    known = [constant_integer(size) for size in sizes]
    if any(size is not None and size < 0 for size in known):
        raise ScanvizValueError.here("split: a size cannot be negative", found=known)
    ends = [as_size(end) for end in accumulate(map(given_size, sizes), SIZES.add)]
    whole = _with_size(variable, place, ends[-1], f"parts of sizes {known}")
    starts = [constant(0, "int64"), *ends[:-1]]
    return [_part(whole, place, start, end) for start, end in zip(starts, ends, strict=True)]


def _listed(parts: Any) -> list[Any]:
    """Return sizes as a list, from a list, an array or a vector of known length."""
    if not isinstance(parts, Variable):
        return listed(parts, "split: the parts")
    kind = tensor_type(parts)
    if kind.ndim != 1 or kind.shape[0] is None:
        raise ScanvizTypeError.here(
            f"split: the number of parts `{describe(parts)}` is not known while the graph is built",
            expected="a number, or a list of sizes",
            found=kind,
        )
    return [getitem(parts, k) for k in range(kind.shape[0])]


def _equal_parts(variable: Variable, count: int, axis: int) -> list[Variable]:
    if count < 1:
        raise ScanvizValueError.here(
            f"`{describe(variable)}` cannot be split into {count} parts", expected="1 or more"
        )
    step = SIZES.floor_divide(size_of(dimension(variable, axis)), count)
    ends = [as_size(SIZES.multiply(step, k)) for k in range(count + 1)]
    whole = _with_size(variable, axis, ends[-1], f"{count} equal parts")
    return [_part(whole, axis, start, end) for start, end in pairwise(ends)]


def _with_size(variable: Variable, axis: int, size: Variable, wanted: str) -> Variable:
    """Return a variable that is checked to have a size along an axis: when building if it can be, else when run."""
    found, needed = tensor_type(variable).shape[axis], constant_integer(size)
    if found is not None and found == needed:
        return variable
    if found is not None and needed is not None:
        raise ShapeError.here(
            f"`{describe(variable)}` cannot be split along axis {axis}",
            expected=wanted,
            found=some(found, "row"),
        )
    sizes: list[Any] = [None] * tensor_type(variable).ndim
    sizes[axis] = size
    return specify_shape(variable, sizes, "split")


def _part(variable: Variable, axis: int, start: Variable, end: Variable) -> Variable:
    return getitem(variable, (*(slice(None),) * axis, slice(start, end)))
