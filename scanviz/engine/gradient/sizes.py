"""Shapes in gradient graphs: zeros like a variable, and sums that undo broadcasting.

Sizes come from shape rules and never from values, so that a gradient does not keep what it only needs the shape of.
"""

from __future__ import annotations

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import ConstantOf, alloc, reshape
from scanviz.engine.ops.sizes import as_size, surely_equal
from scanviz.engine.ops.symbolic_shape import same_shape, shape_of


def zeros_like(variable: Variable) -> Variable:
    """Return zeros of the shape and dtype of a variable."""
    return full_like(variable, 0)


def full_like(variable: Variable, value: float) -> Variable:
    """Return a number repeated in the shape and dtype of a variable."""
    number = ConstantOf(value, tensor_type(variable).dtype, variable)
    shape = shape_of(variable)
    return alloc(number, [as_size(size) for size in shape]) if shape else number


def reshape_like(value: Variable, like: Variable) -> Variable:
    """Return the same elements in the shape of another variable."""
    shape = shape_of(like)
    return reshape(value, [as_size(size) for size in shape], ndim=len(shape))


def sum_to_shape(value: Variable, like: Variable) -> Variable:
    """Return ``value`` summed over the axes along which ``like`` was stretched to its shape.

    Parameters
    ----------
    value : Variable
        A cotangent of something that ``like`` was broadcast into.
    like : Variable
        What was broadcast; only its shape counts.
    """
    wanted, given = shape_of(like), shape_of(value)
    lead = len(given) - len(wanted)
    if lead:
        value = sum_over(value, axis=tuple(range(lead)))
        given = given[lead:]
    pairs = list(zip(wanted, given, strict=True))
    if any(not isinstance(a, int) and b != 1 and not surely_equal(a, b) for a, b in pairs):  # it may be 1
        return build_one(Op(SUM_TO_SHAPE), value, *[as_size(size) for size in wanted])
    stretched = tuple(k for k, (a, b) in enumerate(pairs) if a == 1 and b != 1)
    return sum_over(value, axis=stretched, keepdims=True) if stretched else value


def broadcast_like(value: Variable, like: Variable) -> Variable:
    """Return ``value`` stretched to the shape of ``like``."""
    if same_shape(value, like):
        return value
    return alloc(value, [as_size(size) for size in shape_of(like)])
