"""Derivatives of operations on shapes: the elements move, so their derivatives move with them."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import sum_to_shape
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, nothing, only
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.ops import shape as s

CONNECTIONS.row(s.DIMENSION)(nothing)
CONNECTIONS.row(s.ALLOC)(only(0))


@PULLBACKS.row(s.DIMSHUFFLE)
def _dimshuffle(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    if cotangent is None:
        return [None]
    order = node.op.parameters.order
    back = [order.index(axis) if axis in order else "x" for axis in range(tensor_type(node.inputs[0]).ndim)]
    return [s.dimshuffle(cotangent, back)]


@PUSHFORWARDS.row(s.DIMSHUFFLE)
def _dimshuffle_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    order = ["x" if axis is None else axis for axis in node.op.parameters.order]
    return [None if tangents[0] is None else s.dimshuffle(tangents[0], order)]


@PULLBACKS.row(s.ALLOC)
def _alloc(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    first = None if cotangent is None else sum_to_shape(cotangent, node.inputs[0])
    return [first, *[None] * (len(node.inputs) - 1)]


@PUSHFORWARDS.row(s.ALLOC)
def _alloc_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else s.alloc(tangents[0], list(node.inputs[1:]))]
