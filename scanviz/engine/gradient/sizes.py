"""Shapes in gradient graphs: zeros like a variable, and sums that undo broadcasting.

Sizes come from shape rules and never from values, so that a gradient does not keep what it only needs the shape of.  All
sizes asked for in one pass share one memory; without it each question would walk the graph again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.size_equality import surely_equal
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import Shape, as_size, shape_of

_memory: ContextVar[dict[Variable, Shape] | None] = ContextVar("gradient_shapes", default=None)


@contextmanager
def shape_memory() -> Iterator[None]:
    """Share what is found about shapes between all questions asked in the block."""
    if _memory.get() is not None:
        yield
        return
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def sizes(variable: Variable) -> Shape:
    """Return the sizes of a variable: ints, and int64 scalars that need none of its values."""
    return shape_of(variable, _memory.get())


def zeros_like(variable: Variable) -> Variable:
    """Return zeros of the shape and dtype of a variable."""
    return full_like(variable, 0)


def full_like(variable: Variable, value: float) -> Variable:
    """Return a number repeated in the shape and dtype of a variable."""
    number = constant(value, tensor_type(variable).dtype)
    shape = sizes(variable)
    return alloc(number, [as_size(each) for each in shape]) if shape else number


def sum_to_shape(value: Variable, like: Variable) -> Variable:
    """Return ``value`` summed over the axes along which ``like`` was stretched to its shape.

    Parameters
    ----------
    value : Variable
        A cotangent of something that ``like`` was broadcast into.
    like : Variable
        What was broadcast; only its shape counts.
    """
    wanted, given = sizes(like), sizes(value)
    lead = len(given) - len(wanted)
    if lead:
        value = sum_over(value, axis=tuple(range(lead)))
        given = given[lead:]
    certain = [k for k, size in enumerate(wanted) if _is(size, 1) and not _is(given[k], 1)]
    doubtful = [k for k, size in enumerate(wanted) if _may_differ(size, given[k])]
    if doubtful:
        return build_one(Op(SUM_TO_SHAPE), value, *[as_size(each) for each in wanted])
    return sum_over(value, axis=tuple(certain), keepdims=True) if certain else value


def broadcast_like(value: Variable, like: Variable) -> Variable:
    """Return ``value`` stretched to the shape of ``like``."""
    wanted, given = sizes(like), sizes(value)
    if len(wanted) == len(given) and all(surely_equal(a, b) for a, b in zip(wanted, given, strict=True)):
        return value
    return alloc(value, [as_size(each) for each in wanted])


def _is(size: object, number: int) -> bool:
    return isinstance(size, int) and size == number


def _may_differ(wanted: object, given: object) -> bool:
    """Return whether a size may be 1 where the given one is not, as far as is known before there are values."""
    if isinstance(wanted, int) or _is(given, 1):
        return False  # known: either 1, and summed for certain, or the same as what it was broadcast to
    return not surely_equal(wanted, given)
