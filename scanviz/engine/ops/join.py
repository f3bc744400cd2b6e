"""Joining and repeating arrays: concatenate, repeat, roll, split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.dims import Dims
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.types import INTEGERS
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import AxisParameters, dimension, dimshuffle, normal_axis
from scanviz.engine.ops.support import as_integer, as_variable, infer_by


def _concatenate_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    axis = op.parameters.axis
    result = list(dims.shapes[0])
    for shape in dims.shapes[1:]:
        for k, size in enumerate(shape):
            result[k] = dims.add(result[k], size) if k == axis else dims.same(result[k], size)
    return (tuple(result),)


def _concatenate_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    try:
        return (np.concatenate(values, op.parameters.axis),)
    except ValueError:
        shapes = ", ".join(str(np.shape(each)) for each in values)
        raise ShapeError(
            "arrays cannot be joined",
            expected=f"equal sizes but along axis {op.parameters.axis}",
            found=shapes,
        ) from None


CONCATENATE = Declaration(
    "concatenate",
    "join",
    doc="Arrays one after another along an axis.",
    infer=infer_by(lambda op, kinds: (kinds[0].dtype,)),
    perform=_concatenate_perform,
    shapes=_concatenate_shapes,
)


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Variable:
    """Return arrays joined along an existing axis, in their common dtype."""
    parts = [as_variable(each) for each in arrays]
    if not parts:
        raise ScanvizValueError("there is nothing to concatenate", where=user_line())
    ranks = {tensor_type(each).ndim for each in parts}
    if len(ranks) > 1 or 0 in ranks:
        shown = ", ".join(f"`{describe(each)}` {each.type}" for each in parts)
        raise ScanvizTypeError(
            "concatenate needs arrays of one number of dimensions, at least 1",
            where=user_line(),
            found=shown,
            fix="T.stack([...]) to join along a new axis",
        )
    place = normal_axis(axis, ranks.pop(), "concatenate")
    common = np.result_type(*(tensor_type(each).dtype for each in parts))
    return build_one(Op(CONCATENATE, AxisParameters(place)), *(cast(each, common) for each in parts))


def stack(arrays: Sequence[Any], axis: int = 0) -> Variable:
    """Return arrays joined along a new axis."""
    parts = [as_variable(each) for each in arrays]
    if not parts:
        raise ScanvizValueError("there is nothing to stack", where=user_line())
    ranks = {tensor_type(each).ndim for each in parts}
    if len(ranks) > 1:
        raise ScanvizTypeError(
            "stack needs arrays of one number of dimensions",
            where=user_line(),
            found=", ".join(str(each.type) for each in parts),
        )
    ndim = ranks.pop()
    place = normal_axis(axis, ndim + 1, "stack")
    order = [*range(place), "x", *range(place, ndim)]
    return concatenate([dimshuffle(each, order) for each in parts], place)


def _repeat_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    result = list(dims.shapes[0])
    axis = op.parameters.axis
    result[axis] = dims.multiply(result[axis], dims.value(1)) if not dims.shapes[1] else None
    return (tuple(result),)


REPEAT = Declaration(
    "repeat",
    "join",
    doc="Each element repeated along an axis.",
    infer=infer_by(lambda op, kinds: (kinds[0].dtype,)),
    perform=lambda op, values: (np.repeat(values[0], np.asarray(values[1]), op.parameters.axis),),
    shapes=_repeat_shapes,
)


def repeat(value: Any, repeats: Any, axis: int | None = None) -> Variable:
    """Return each element repeated, along an axis or of the flattened array."""
    variable = as_variable(value)
    if axis is None:
        variable, axis = flattened(variable), 0
    counts = as_variable(repeats)
    kind = tensor_type(counts)
    if kind.dtype not in INTEGERS or kind.ndim > 1:
        raise ScanvizTypeError("repeat: counts must be integers", where=user_line(), found=kind)
    count = as_integer(counts, "repeat: the count") if kind.ndim == 0 else cast(counts, "int64")
    place = normal_axis(axis, tensor_type(variable).ndim, "repeat")
    return build_one(Op(REPEAT, AxisParameters(place)), variable, count)


def flattened(variable: Variable) -> Variable:
    """Return a variable as a vector."""
    from scanviz.engine.ops.shape import reshape

    return variable if tensor_type(variable).ndim == 1 else reshape(variable, [-1])


def roll(value: Any, shift: Any, axis: int | None = None) -> Variable:
    """Return ``value`` with elements moved along an axis, those beyond the end coming back at the start."""
    from scanviz.engine.ops import elementwise as e
    from scanviz.engine.ops.shape import reshape, shape

    variable = as_variable(value)
    if axis is None:
        return reshape(roll(flattened(variable), shift, 0), shape(variable), ndim=tensor_type(variable).ndim)
    place = normal_axis(axis, tensor_type(variable).ndim, "roll")
    size = dimension(variable, place)
    moved = e.mod(as_integer(shift, "roll: the shift"), e.maximum(size, 1))
    cut = e.subtract(size, moved)
    before = (slice(None),) * place
    return concatenate(
        [getitem(variable, (*before, slice(cut, None))), getitem(variable, (*before, slice(None, cut)))],
        place,
    )


def split(value: Any, parts: Any, axis: int = 0) -> list[Variable]:
    """Return ``value`` cut along an axis: into a number of equal parts, or into parts of the given sizes.

    Sizes may be symbolic; their number must be known.
    """
    from scanviz.engine.ops import elementwise as e

    variable = as_variable(value)
    place = normal_axis(axis, tensor_type(variable).ndim, "split")
    before = (slice(None),) * place
    size = dimension(variable, place)
    if isinstance(parts, int | np.integer):
        known = tensor_type(variable).shape[place]
        if parts < 1 or (known is not None and known % parts):
            raise ShapeError(
                f"`{describe(variable)}` cannot be split",
                where=user_line(),
                expected=f"{parts} equal parts",
                found=f"{known} rows",
            )
        step = e.floor_divide(size, int(parts))
        bounds = [e.multiply(step, k) for k in range(int(parts))]
        return [getitem(variable, (*before, slice(bound, e.add(bound, step)))) for bound in bounds]
    pieces, begun = [], as_variable(np.int64(0))
    for each in parts:
        end = e.add(begun, as_integer(each, "split: a size"))
        pieces.append(getitem(variable, (*before, slice(begun, end))))
        begun = end
    return pieces
