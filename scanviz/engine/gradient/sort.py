"""Derivatives of sorting, where elements move and their derivatives move back, and of sums of weights.

Equal elements keep their order, so each has the derivative of the place that it is given.  ``argsort`` and ``searchsorted`` give
integers, which have none, so they need no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, only
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimshuffle, reshape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.sort import BINCOUNT, SORT, argsort
from scanviz.engine.ops.symbolic_shape import shape_of


def _taken(value: Variable, order: Variable, axis: int) -> Variable:
    """Return elements along an axis in an order of their own for each line."""
    ndim = tensor_type(value).ndim
    index: list[Variable] = []
    for k in range(ndim):
        if k == axis:
            index.append(order)
        else:
            lines = arange(as_size(shape_of(value)[k]))
            index.append(dimshuffle(lines, ["x"] * k + [0] + ["x"] * (ndim - k - 1)))
    return getitem(value, tuple(index))


@PULLBACKS.row(SORT)
def _sort(node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    given, axis = node.inputs[0], node.op.parameters.axis
    if cotangent is None:
        return [None]
    order = argsort(given, axis)
    if axis is None:
        back = getitem(cotangent, argsort(order, 0))
        return [reshape(back, [as_size(each) for each in shape_of(given)], ndim=len(shape_of(given)))]
    return [_taken(cotangent, argsort(order, axis), axis)]


@PUSHFORWARDS.row(SORT)
def _sort_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    (tangent,) = tangents
    given, axis = node.inputs[0], node.op.parameters.axis
    if tangent is None:
        return [None]
    if axis is None:
        return [getitem(reshape(tangent, [-1]), argsort(given, None))]
    return [_taken(tangent, argsort(given, axis), axis)]


CONNECTIONS.row(BINCOUNT)(only(2))


@PULLBACKS.row(BINCOUNT)
def _bincount(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    found: list[Derivative] = [None] * len(node.inputs)
    if cotangent is not None and len(found) > 2:
        found[2] = getitem(cotangent, node.inputs[0])
    return found


@PUSHFORWARDS.row(BINCOUNT)
def _bincount_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    numbers, least, *_ = node.inputs
    tangent = tangents[2] if len(tangents) > 2 else None
    return [None if tangent is None else build_one(node.op, numbers, least, tangent)]
