"""Derivatives of sorting, where elements move and their derivatives move back, and of sums of weights.

Equal elements keep their order, so each has the derivative of the place that it is given.  ``argsort`` and ``searchsorted`` give
integers, which have none, so they need no rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import (
    Derivatives,
    cotangent_of,
    cotangents_of,
    linear,
    reshape_like,
    tangent_of,
)
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
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


@cotangent_of(SORT)
def _sort(node: Apply, cotangent: Variable) -> Variable:
    given, axis = node.inputs[0], node.op.parameters.axis
    order = argsort(given, axis)
    if axis is None:
        return reshape_like(getitem(cotangent, argsort(order, 0)), given)
    return _taken(cotangent, argsort(order, axis), axis)


@tangent_of(SORT)
def _sort_forward(node: Apply, tangent: Variable) -> Variable:
    given, axis = node.inputs[0], node.op.parameters.axis
    if axis is None:
        return getitem(reshape(tangent, [-1]), argsort(given, None))
    return _taken(tangent, argsort(given, axis), axis)


linear(BINCOUNT, inputs=(2,))


@cotangents_of(BINCOUNT)
def _bincount(node: Apply, cotangent: Variable, wanted: Sequence[bool]) -> Derivatives:
    return [None, None, getitem(cotangent, node.inputs[0])]
