"""Operations on shapes: asking for sizes, reshaping, permuting, broadcasting.

Sizes are int64 scalars.  A shape is a vector made of them by ``make_vector``; indexing it gives back the size itself, so that
``x.shape[0]`` is one node, or a constant where the size is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph import axes, notation
from scanviz.engine.graph.declaration import SHORTHANDS, Declaration, Op, fitted
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import INTEGERS, TensorType, Type
from scanviz.engine.ops.support import (
    as_integer,
    as_variable,
    constant_integer,
    infer_by,
    kept_dtype,
    listed,
    static_dims,
)
from scanviz.engine.sizes.dims import Dims


class AxisParameters(NamedTuple):
    """One axis."""

    axis: int


class OrderParameters(NamedTuple):
    """The input axis of each output axis; None for a new axis of size 1."""

    order: tuple[int | None, ...]


def _no_shape(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return ((),)


def normal_axis(axis: Any, ndim: int, what: str) -> int:
    """Return an axis as a number from 0, or raise for one out of range."""
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise ScanvizTypeError.here(f"{what}: an axis must be an integer", found=repr(axis))
    if not -ndim <= axis < ndim:
        raise ScanvizValueError.here(
            f"{what}: there is no axis {axis}",
            expected=f"an axis from {-ndim} to {ndim - 1}" if ndim else "no axis: it is one number",
            found=axis,
        )
    return int(axis) % ndim


def axes_of(axis: Any, ndim: int, what: str) -> list[int]:
    """Return one axis or several as different numbers from 0."""
    listed = list(axis) if isinstance(axis, list | tuple) else [axis]
    found = [normal_axis(axis, ndim, what) for axis in listed]
    if len(set(found)) < len(found):
        raise ScanvizValueError.here(f"{what}: an axis is named twice", found=axis)
    return found


def _dimension_dtypes(op: Op, kinds: Sequence[TensorType]) -> tuple[str]:
    """Return the dtype of a size; there is none of an axis that is not there."""
    normal_axis(op.parameters.axis, kinds[0].ndim, "dimension")
    return ("int64",)


DIMENSION = Declaration(
    "dimension",
    "shape",
    arity=1,
    doc="Size along one axis.",
    infer=infer_by(_dimension_dtypes),
    perform=lambda op, values: (np.array(np.shape(values[0])[op.parameters.axis], np.int64),),
    shapes=_no_shape,
    notation=notation.size_along,
    facts=Facts(weight="free", cheap=True, foldable=True, size="is", raises=False, sign="no minus zero"),
)


class ConstantOf(Constant):
    """A constant that remembers the variable it was made from, such as a size known from a type or ones like x.

    It does so until the graph is rewritten or pickled.  So an input that the user's graph names counts as used, even if nothing
    needs its value.
    """

    __slots__ = ("source",)
    source: Variable

    def __init__(self, value: int | float | Array, dtype: str, source: Variable) -> None:
        array = np.asarray(value, dtype)
        super().__init__(TensorType(dtype, array.shape), array)
        object.__setattr__(self, "source", source)


def dimension(value: Any, axis: int) -> Variable:
    """Return the size of a variable along an axis: an int64 scalar, a constant if known."""
    variable = as_variable(value)
    kind = tensor_type(variable)
    inside = type(axis) is int and -kind.ndim <= axis < kind.ndim
    place = (
        axis % kind.ndim if inside else normal_axis(axis, kind.ndim, f"the shape of `{describe(variable)}`")
    )
    size = kind.shape[place]
    if size is not None:
        return ConstantOf(size, "int64", variable)
    return build_one(Op(DIMENSION, AxisParameters(place)), variable)


def _vector_infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    kinds = [tensor_type(variable) for variable in inputs]
    if any(kind.ndim != 0 for kind in kinds):
        wrong = next(variable for variable, kind in zip(inputs, kinds, strict=True) if kind.ndim)
        raise ScanvizTypeError.here(
            f"`{describe(wrong)}` is not a scalar", found=wrong.type, fix="T.stack([...])"
        )
    dtype = np.result_type(*(kind.dtype for kind in kinds)).name if kinds else "int64"
    return (TensorType(dtype, (len(inputs),)),)


def _vector_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    dtype = np.result_type(*(np.asarray(value).dtype for value in values)) if values else np.int64
    return (np.array([np.asarray(value)[()] for value in values], dtype),)


MAKE_VECTOR = Declaration(
    "make_vector",
    "shape",
    arity=(0, None),
    doc="Vector of scalars.",
    infer=_vector_infer,
    perform=_vector_perform,
    shapes=lambda op, dims: ((len(dims.shapes),),),
    facts=Facts(cheap=True, foldable=True, raises=False),
)


def stack_scalars(scalars: Sequence[Variable]) -> Variable:
    """Return the vector of scalar variables."""
    return build_one(Op(MAKE_VECTOR), *scalars)


def shape(value: Any) -> Variable:
    """Return the shape of a variable as an int64 vector."""
    variable = as_variable(value)
    sizes = [dimension(variable, axis) for axis in range(tensor_type(variable).ndim)]
    return stack_scalars(sizes) if sizes else ConstantOf(np.zeros(0), "int64", variable)


def is_shape(node: Apply) -> bool:
    """Return whether a node makes the shape of one variable, or some sizes of it."""
    if node.op.declaration is not MAKE_VECTOR:
        return False
    sources: set[Variable | None] = set()
    for size in node.inputs:
        asked = size.owner
        if asked is not None and asked.op.declaration is DIMENSION:
            sources.add(asked.inputs[0])
        else:
            sources.add(getattr(size, "source", None))  # of a size known from a type
    return len(sources) < 2 and None not in sources


def sizes_of(shape_like: Any, what: str, ndim: int | None = None) -> list[Variable]:
    """Return a shape as a list of int64 scalars, from ints, scalars, a list of these or a symbolic vector.

    Raises
    ------
    ScanvizTypeError
        If it is no shape, or a vector whose length is not known and ``ndim`` is not given.
    """
    if isinstance(shape_like, Constant):
        shape_like = shape_like.value
    if isinstance(shape_like, Variable) and tensor_type(shape_like).ndim == 1:
        if tensor_type(shape_like).dtype not in INTEGERS:
            raise ScanvizTypeError.here(f"{what}: sizes must be integers", found=shape_like.type)
        length = tensor_type(shape_like).shape[0] if ndim is None else ndim
        if length is None:
            raise ScanvizTypeError.here(
                f"{what}: the length of the shape `{describe(shape_like)}` is not known",
                fix="ndim=…" if what == "reshape" else "a list: [n, m], or [sizes[0], sizes[1]]",
            )
        return [as_integer(shape_like[k], f"{what}: a size") for k in range(length)]
    if isinstance(shape_like, np.ndarray):
        shape_like = shape_like.tolist()
    listed = list(shape_like) if isinstance(shape_like, list | tuple) else [shape_like]
    return [as_integer(size, f"{what}: a size") for size in listed]


def _reshape_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (dims.fill_in([dims.value(k) for k in range(1, len(dims.shapes))], dims.product(dims.shapes[0])),)


def reshape_values(value: Any, sizes: Sequence[Any]) -> Any:
    """Return an array, of whatever library, in another shape."""
    wanted = tuple(int(size) for size in sizes)
    try:
        return value.reshape(wanted)
    except ValueError:
        raise ShapeError(
            "cannot be reshaped",
            expected=f"{value.size} elements in all, as in shape {value.shape}",
            found=f"shape {wanted}",
        ) from None


_MOVED = Facts(weight="free", cheap=True, foldable=True, same_elements=True, sign="kept")
RESHAPE = Declaration(
    "reshape",
    "shape",
    arity=(1, None),
    doc="The same elements in another shape.",
    infer=infer_by(kept_dtype),
    perform=lambda op, values: (reshape_values(np.asarray(values[0]), values[1:]),),
    shapes=_reshape_shapes,
    notation=notation.reshaped,
    views=0,
    facts=replace(_MOVED, axes=axes.reshaped),
)


def reshape(value: Any, new_shape: Any, ndim: int | None = None) -> Variable:
    """Return ``value`` in another shape; one size may be -1."""
    variable = as_variable(value)
    sizes = sizes_of(new_shape, "reshape", ndim)
    known = [constant_integer(size) for size in sizes]
    hidden = [k for k, size in enumerate(known) if size == -1]
    wrong = [size for size in known if size is not None and size < -1]
    if len(hidden) > 1 or wrong:
        raise ScanvizValueError.here("reshape: at most one size may be -1, and none less", found=known)
    old = tensor_type(variable).shape
    plain = static_dims([])
    total, wanted = plain.product(old), plain.product(known)
    fits = total == wanted if not hidden else not wanted or not total or total % -wanted == 0
    if total is not None and wanted is not None and not fits:
        raise ShapeError.here(
            f"`{describe(variable)}` cannot be reshaped",
            expected=f"the elements of shape {old}",
            found=tuple(known),
        )
    return build_one(Op(RESHAPE, AxisParameters(hidden[0] if hidden else -1)), variable, *sizes)


def _order_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    given = dims.shapes[0]
    return (tuple(1 if axis is None else given[axis] for axis in op.parameters.order),)


def _order_infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    kind = tensor_type(inputs[0])
    return (TensorType(kind.dtype, _order_shapes(op, static_dims(inputs))[0]),)


def order_values(order: Sequence[int | None], given: Any) -> Any:
    """Return an array, of whatever library, with its axes in an order."""
    kept = [axis for axis in order if axis is not None]
    dropped = [axis for axis in range(given.ndim) if axis not in kept]
    for axis in dropped:
        if given.shape[axis] != 1:
            raise ShapeError(
                f"axis {axis} cannot be dropped", expected="size 1", found=f"size {given.shape[axis]}"
            )
    turned = given.transpose([*kept, *dropped]).reshape([given.shape[axis] for axis in kept])
    return turned[tuple(None if axis is None else slice(None) for axis in order)]


DIMSHUFFLE = Declaration(
    "dimshuffle",
    "shape",
    arity=1,
    doc="Axes permuted, added with size 1 or dropped.",
    infer=_order_infer,
    perform=lambda op, values: (order_values(op.parameters.order, np.asarray(values[0])),),
    shapes=_order_shapes,
    notation=notation.ordered,
    views=0,
    facts=replace(_MOVED, always_view=True, axes=axes.reordered),
)


@meaning("method:dimshuffle")
def dimshuffle(value: Any, *pattern: Any) -> Variable:
    """Axes permuted, added (``"x"``) or dropped (size 1 only).

    Parameters
    ----------
    value : array_like
        Any tensor.
    *pattern : ints and ``"x"``, or one list of these
        For each axis of the result, the axis of ``value``; ``"x"`` is a new one of size 1.

    Returns
    -------
    Variable
        As many dimensions as the pattern has places, in the dtype of ``value``.

    Raises
    ------
    ScanvizValueError
        If an axis is not there or named twice, or one that is left out is known not to have size 1.
    ShapeError
        At run time, if one that is left out has not size 1.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.vector("x").dimshuffle("x", 0).type
    TensorType('float64', (1, None))
    """
    variable = as_variable(value)
    kind = tensor_type(variable)
    flat = list(pattern[0]) if len(pattern) == 1 and isinstance(pattern[0], list | tuple) else list(pattern)
    order = tuple(
        None if axis in ("x", None) else normal_axis(axis, kind.ndim, "dimshuffle") for axis in flat
    )
    kept = [axis for axis in order if axis is not None]
    if len(set(kept)) < len(kept):
        raise ScanvizValueError.here("dimshuffle: an axis is named twice", found=flat)
    for axis, size in enumerate(kind.shape):
        if axis not in kept and size not in (1, None):
            raise ScanvizValueError.here(
                f"dimshuffle: axis {axis} of `{describe(variable)}` cannot be dropped",
                expected="size 1",
                found=f"size {size}",
            )
    if order == tuple(range(kind.ndim)):
        return variable
    return build_one(Op(DIMSHUFFLE, OrderParameters(order)), variable)


def transpose(value: Any, axes: Sequence[int] | None = None) -> Variable:
    """Return ``value`` with its axes reversed, or in the order of ``axes``."""
    variable = as_variable(value)
    ndim = tensor_type(variable).ndim
    given = range(ndim)[::-1] if axes is None else listed(axes, "transpose: axes")
    order = [normal_axis(axis, ndim, "transpose") for axis in given]
    if sorted(order) != list(range(ndim)):
        raise ScanvizValueError.here(
            "transpose: axes must name each axis once", expected=f"{ndim} axes", found=list(given)
        )
    return dimshuffle(variable, order)


def _alloc_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    wanted = [dims.value(k) for k in range(1, len(dims.shapes))]
    given = dims.shapes[0]
    first = len(wanted) - len(given)
    for k, size in enumerate(given, start=first):
        if size == 1 or not isinstance(size, int):
            continue
        if isinstance(wanted[k], int) and wanted[k] != size:
            raise ShapeError("cannot be broadcast", expected=f"size {wanted[k]}, or 1", found=f"size {size}")
        wanted[k] = size  # only a size of 1 stretches, so any other is the result's
    return (tuple(wanted),)


def alloc_values(xp: Any, value: Any, sizes: Sequence[Any]) -> Any:
    """Return a new array of an array library, filled with a value."""
    wanted = tuple(int(size) for size in sizes)
    if any(size < 0 for size in wanted):
        raise ShapeError("a size cannot be negative", found=wanted)
    filled = xp.empty(wanted, value.dtype)
    try:
        filled[...] = value
    except ValueError:
        raise ShapeError(
            "cannot be broadcast", expected=f"shape {wanted}", found=f"shape {value.shape}"
        ) from None
    return filled


ALLOC = Declaration(
    "alloc",
    "shape",
    arity=(1, None),
    doc="A value repeated to fill a new array.",
    infer=infer_by(kept_dtype),
    perform=lambda op, values: (alloc_values(np, np.asarray(values[0]), values[1:]),),
    shapes=_alloc_shapes,
    notation=fitted,
    facts=Facts(cheap=True, foldable=True, same_elements=True, sign="kept", axes=axes.elementwise),
)


SHORTHANDS[ALLOC.name] = notation.filled


def alloc(value: Any, *sizes: Any) -> Variable:
    """Return a new array of the given sizes, filled with ``value`` broadcast to it."""
    variable = as_variable(value)
    one = sizes[0] if len(sizes) == 1 else 0
    scalar = isinstance(one, int) or (isinstance(one, Variable) and tensor_type(one).ndim == 0)
    wanted = sizes_of(sizes if scalar else one, "alloc")
    known = [constant_integer(size) for size in wanted]
    if any(size is not None and size < 0 for size in known):
        raise ShapeError.here("alloc: a size cannot be negative", found=tuple(known))
    if tensor_type(variable).ndim > len(wanted):
        raise ShapeError.here(
            f"`{describe(variable)}` has more dimensions than the shape to fill", found=variable.type
        )
    return build_one(Op(ALLOC), variable, *wanted)


def _broadcast_size(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    sizes = {int(value) for value in values} - {1}
    if len(sizes) > 1:
        raise ShapeError(
            "dimensions do not broadcast together", expected="equal sizes, or 1", found=sorted(sizes)
        )
    return (np.array(sizes.pop() if sizes else 1, np.int64),)


BROADCAST_SIZE = Declaration(
    "broadcast_size",
    "shape",
    arity=(0, None),
    doc="The size that sizes broadcast to: those of 1 stretch.",
    infer=infer_by(lambda op, kinds: ("int64",)),
    perform=_broadcast_size,
    shapes=_no_shape,
    facts=Facts(weight="free", cheap=True, foldable=True, size="is", sign="kept"),
)
