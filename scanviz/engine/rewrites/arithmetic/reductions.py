"""Sums and other reductions over fewer axes, or none.

- ``sum_to_shape``, which undoes broadcasting, is its input where that surely has the shape, a plain sum where it is known
  which axes go, and one instead of two where sizes were broadcast from the one that is wanted in the end;
- a reduction over no axes, or over axes known to have size 1, is its input;
- a reduction of permuted axes, or of new ones, is one of the input along the axes that they were;
- a reduction of a reduction is one along the axes of both, where no rounding is: of integers and truth values;
- the largest or smallest of equal numbers is that number, their sum is a product where it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, is_floating, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.reduce import ReduceParameters
from scanviz.engine.ops.shape import ALLOC, DIMSHUFFLE, OrderParameters, alloc
from scanviz.engine.ops.sizes import as_size, size_of, surely_at_most, surely_equal
from scanviz.engine.ops.support import constant, constant_integer
from scanviz.engine.rewrites.arithmetic.identities import Answer, Rewriting, answer, number_of, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal, rule
from scanviz.engine.sizes.polynomial import arguments_of

ROUNDS = Refusal("floats summed in two turns round differently from one sum", 2)
ZEROS = Refusal("which of 0.0 and -0.0 is larger depends on the order", 2)
NOT_ENOUGH = Refusal("it is not known that there is an element, and of none there is no largest", 2)


# ---- sum_to_shape


def _to_own_shape(node: Apply, level: Level) -> Answer:
    """Leave out a sum to the own shape; make a plain sum of one along known axes."""
    given, *sizes = node.inputs
    shape = level.shape(given)
    goes: list[int] = []
    for axis, (size, own) in enumerate(zip(sizes, shape, strict=True)):
        if surely_equal(size, own):
            continue
        if constant_integer(size) != 1:
            return None
        goes.append(axis)
    if not goes:
        return rewritten(node, given, "a sum to the own shape is left out")
    if not is_floating(given) or not any(isinstance(shape[axis], int) and shape[axis] > 1 for axis in goes):
        return None  # sums of small integers are wider, and one of nothing but -0.0 is 0.0
    plain = build_one(Op(r.sum, ReduceParameters(tuple(goes), True)), given)
    return rewritten(node, plain, "the axes that are summed are known")


def _to_shape_twice(node: Apply, level: Level) -> Answer:
    """Sum to the last of two shapes at once, where at most one axis is summed at all."""
    source = node.inputs[0].owner
    if source is None or source.op.declaration is not r.SUM_TO_SHAPE:
        return None
    given, *first = source.inputs
    last = node.inputs[1:]
    shape = level.shape(given)
    open_axes = [axis for axis, size in enumerate(last) if not surely_equal(size, shape[axis])]
    if len(open_axes) > 1:
        return ROUNDS
    if not all(_stretched_to(size, wider) for size, wider in zip(last, first, strict=True)):
        return Refusal("the shape in between may not fit, which would be an error", 1)
    return rewritten(node, build_one(node.op, given, *last), "two sums to a shape are one")


def _stretched_to(size: Variable, wider: Variable) -> bool:
    """Return whether a size is surely one of those that broadcast to another, or that itself."""
    own, terms = (arguments_of(size_of(variable), "broadcast_size") for variable in (size, wider))
    return all(any(surely_equal(size, other) for other in terms) for size in own)


# ---- axes


def _over_nothing(node: Apply, level: Level) -> Answer:
    """Leave out a reduction over no axes, or over axes of size 1."""
    (given,), parameters = node.inputs, node.op.parameters
    kind = tensor_type(given)
    if any(kind.shape[axis] != 1 for axis in parameters.axes):
        return None
    wanted = tensor_type(node.outputs[0]).dtype
    found = e.cast(given, wanted)
    if node.op.declaration is r.sum and is_floating(found):
        found = build_one(Op(e.add), found, constant(0, wanted))  # a sum starts from it: -0.0 becomes 0.0
    if parameters.axes and not parameters.keepdims:
        left = tuple(axis for axis in range(kind.ndim) if axis not in parameters.axes)
        found = build_one(Op(DIMSHUFFLE, OrderParameters(left)), found)
    return rewritten(node, found, f"{node.op.name} of one element is that element")


def _of_turned(node: Apply, level: Level) -> Answer:
    """Reduce along the axes that permuted ones were, so that only what is left is permuted."""
    source = node.inputs[0].owner
    if source is None or source.op.declaration is not DIMSHUFFLE or node.op.parameters.keepdims:
        return None
    axes, _, dtype = node.op.parameters
    (given,), order = source.inputs, source.op.parameters.order
    if len([axis for axis in order if axis is not None]) < tensor_type(given).ndim:
        return Refusal("an axis is dropped before, and must be found to have size 1", 1)
    goes = tuple(sorted(order[axis] for axis in axes if order[axis] is not None))
    if not goes:
        return None  # only new axes: a reduction over size 1
    kept = [axis for axis in range(tensor_type(given).ndim) if axis not in goes]
    found = build_one(Op(node.op.declaration, ReduceParameters(goes, False, dtype)), given)
    left = [axis for k, axis in enumerate(order) if k not in axes]
    turned = tuple(None if axis is None else kept.index(axis) for axis in left)
    if turned != tuple(range(len(kept))):
        found = build_one(Op(DIMSHUFFLE, OrderParameters(turned)), found)
    return rewritten(node, found, f"{node.op.name} of permuted axes is one of the axes that they were")


def _of_same(node: Apply, level: Level) -> Answer:
    """Reduce along the axes of two equal reductions at once."""
    source = node.inputs[0].owner
    if source is None or source.op.declaration is not node.op.declaration:
        return None
    (axes, keep, dtype), (inner_axes, inner_keep, inner_dtype) = node.op.parameters, source.op.parameters
    given = source.inputs[0]
    if is_floating(given) or is_floating(node.outputs[0]):
        return ZEROS if node.op.declaration in (r.max, r.min) else ROUNDS
    if keep or inner_keep or (dtype, inner_dtype) != (None, None):
        return None
    left = [axis for axis in range(tensor_type(given).ndim) if axis not in inner_axes]
    both = tuple(sorted((*inner_axes, *(left[axis] for axis in axes))))
    found = build_one(Op(node.op.declaration, ReduceParameters(both)), given)
    return rewritten(node, found, f"{node.op.name} of {node.op.name} is one")


# ---- of one number


def _of_filled(node: Apply, level: Level) -> Answer:
    """Take the number itself instead of a reduction of an array that is filled with it."""
    source = node.inputs[0].owner
    if source is None or source.op.declaration is not ALLOC or tensor_type(source.inputs[0]).ndim:
        return None
    axes, keep, _ = node.op.parameters
    if keep:
        return None
    declaration, shape = node.op.declaration, level.shape(node.inputs[0])
    if declaration is r.sum:
        found: Variable | Refusal | None = _filled_sum(node, source, [shape[axis] for axis in axes])
    elif declaration is r.prod:
        return None
    elif not all(surely_at_most(1, shape[axis]) for axis in axes):
        return NOT_ENOUGH
    else:
        found = e.cast(source.inputs[0], tensor_type(node.outputs[0]).dtype)
    if not isinstance(found, Variable):
        return found
    left = [as_size(size) for axis, size in enumerate(shape) if axis not in axes]
    filled = alloc(found, left) if left else found
    return rewritten(node, filled, f"{declaration.name} of equal numbers is known")


def _filled_sum(node: Apply, source: Apply, sizes: Sequence[Any]) -> Variable | Refusal:
    """Return the sum of so many times a number, where it is exact."""
    number, dtype = number_of(source.inputs[0]), tensor_type(node.outputs[0]).dtype
    known = np.prod([size for size in sizes if isinstance(size, int)], dtype=object)
    unknown = [size for size in sizes if not isinstance(size, int)]
    if number is None:
        return Refusal("the number that fills the array is not known", 1)
    if not all(isinstance(size, int) or surely_at_most(0, size) for size in sizes):
        return Refusal("it is not known that the size is not negative, which would be an error", 2)
    if number == 0 and not np.signbit(number):
        return constant(0, dtype)
    if unknown or known == 0:
        return Refusal("how many numbers are summed is not known", 2)
    if dtype == "bool":  # a sum of truth values is whether one of them is true
        return constant(bool(number), dtype)
    total = int(known) * (int(number) if float(number).is_integer() else 0)
    exact = 2 ** (np.finfo(dtype).nmant + 1) if dtype.startswith("float") else np.iinfo(dtype).max
    if number == 0 or not float(number).is_integer() or abs(total) > exact:
        return Refusal("the sum would be rounded", 2)
    return constant(total, dtype)


_REDUCED: tuple[Rewriting, ...] = (_over_nothing, _of_turned, _of_same, _of_filled)
TABLE: dict[Declaration, tuple[Rewriting, ...]] = {
    r.SUM_TO_SHAPE: (_to_own_shape, _to_shape_twice),
    r.sum: _REDUCED,
    r.prod: _REDUCED,
    r.max: _REDUCED,
    r.min: _REDUCED,
    r.all: _REDUCED,
    r.any: _REDUCED,
}


@rule(name="simplify_reductions", phase=("canonical", "simplify"), on=TABLE, tags=("general",))
def simplify_reductions(node: Apply, level: Level) -> Answer:
    """Leave out reductions over nothing, and reduce once instead of twice."""
    return answer(TABLE, node, level)
