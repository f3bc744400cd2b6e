"""Sums to a shape, which undo broadcasting.

``sum_to_shape`` becomes its input where that surely has the shape, and a plain sum where the summed axes are known.  Two of
them become one where the sizes between were broadcast from the final shape.
"""

from __future__ import annotations

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, is_floating
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.reduce import ReduceParameters
from scanviz.engine.ops.sizes import size_of, surely_equal
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.arithmetic.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal, rule
from scanviz.engine.sizes.polynomial import arguments_of

ROUNDS = Refusal("two sums of floats round differently from one sum", 2)


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
        return Refusal("the intermediate shape may be invalid, which would be an error", 1)
    return rewritten(node, build_one(node.op, given, *last), "two sums to a shape are one")


def _stretched_to(size: Variable, wider: Variable) -> bool:
    """Return whether a size is surely one of those that broadcast to another, or that itself."""
    own, terms = (arguments_of(size_of(variable), "broadcast_size") for variable in (size, wider))
    return all(any(surely_equal(size, other) for other in terms) for size in own)


@rule(name="simplify_reductions", phase=("canonical", "simplify"), on=(r.SUM_TO_SHAPE,), tags=("general",))
def simplify_reductions(node: Apply, level: Level) -> Answer:
    """Leave out a sum to the own shape, and sum to a shape once instead of twice."""
    return _to_own_shape(node, level) or _to_shape_twice(node, level)
