"""Derivatives of reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import broadcast_like, sum_to_shape
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, only
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.shape import dimshuffle


def with_reduced_axes(value: Variable, node: Apply) -> Variable:
    """Return a reduction's result (or its cotangent) with the reduced axes put back with size 1."""
    axes, keep, _ = node.op.parameters
    if keep:
        return value
    kept = iter(range(tensor_type(value).ndim))
    order = ["x" if axis in axes else next(kept) for axis in range(tensor_type(node.inputs[0]).ndim)]
    return dimshuffle(value, order)


@PULLBACKS.row(r.sum)
def _sum(node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    return [None if cotangent is None else broadcast_like(with_reduced_axes(cotangent, node), node.inputs[0])]


@PUSHFORWARDS.row(r.sum)
def _sum_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    axes, keep, dtype = node.op.parameters
    (tangent,) = tangents
    return [None if tangent is None else r.sum(tangent, axes, keepdims=keep, dtype=dtype)]


CONNECTIONS.row(r.SUM_TO_SHAPE)(only(0))


@PULLBACKS.row(r.SUM_TO_SHAPE)
def _to_shape(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    first = None if cotangent is None else broadcast_like(cotangent, node.inputs[0])
    return [first, *[None] * (len(node.inputs) - 1)]


@PUSHFORWARDS.row(r.SUM_TO_SHAPE)
def _to_shape_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else sum_to_shape(tangents[0], node.outputs[0])]
