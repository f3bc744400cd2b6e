"""Derivatives of reductions and cumulative operations.

The largest of equal elements share the derivative equally.  Products and their derivatives are right where elements are 0;
second derivatives of a product are right where none is.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import broadcast_like, sizes, sum_to_shape
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, only
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimshuffle, reshape
from scanviz.engine.ops.symbolic_shape import as_size


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


def _ones_at(mask: Variable, like: Variable) -> Variable:
    return cast(mask, tensor_type(like).dtype)


def _others(node: Apply) -> Variable:
    """Return for each element the product of the others along the axes: without a division by 0."""
    (x,) = node.inputs
    axes = node.op.parameters.axes
    zero = e.equal(x, 0)
    zeros = r.sum(zero, axes, keepdims=True)
    whole = e.where(zero, 1, x)
    product = r.prod(whole, axes, keepdims=True)
    alone = e.logical_and(zero, e.equal(zeros, 1))
    return e.where(e.equal(zeros, 0), product / whole, e.where(alone, product, 0))


@PULLBACKS.row(r.prod)
def _prod(node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    return [None if cotangent is None else with_reduced_axes(cotangent, node) * _others(node)]


@PUSHFORWARDS.row(r.prod)
def _prod_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    axes, keep, dtype = node.op.parameters
    (tangent,) = tangents
    return [None if tangent is None else r.sum(tangent * _others(node), axes, keepdims=keep, dtype=dtype)]


def _shares(node: Apply) -> Variable:
    """Return which part of the result each element is: 1 for the one that was chosen, less for equal ones."""
    (x,) = node.inputs
    chosen = _ones_at(e.equal(x, with_reduced_axes(node.outputs[0], node)), x)
    return chosen / r.sum(chosen, node.op.parameters.axes, keepdims=True)


@PULLBACKS.row(r.max, r.min)
def _extreme(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    return [None if cotangent is None else with_reduced_axes(cotangent, node) * _shares(node)]


@PUSHFORWARDS.row(r.max, r.min)
def _extreme_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    axes, keep, _ = node.op.parameters
    (tangent,) = tangents
    return [None if tangent is None else r.sum(tangent * _shares(node), axes, keepdims=keep)]


def _in_a_line(node: Apply) -> tuple[Variable, int]:
    """Return what a cumulative operation runs over and the axis: the flattened array for axis None."""
    (x,) = node.inputs
    axis = node.op.parameters.axis
    return (reshape(x, [-1]), 0) if axis is None else (x, axis)


def _back_in_shape(value: Variable, node: Apply) -> Variable:
    (x,) = node.inputs
    if node.op.parameters.axis is not None:
        return value
    return reshape(value, [as_size(each) for each in sizes(x)], ndim=tensor_type(x).ndim)


def _turned(value: Variable, axis: int) -> Variable:
    return getitem(value, (*[slice(None)] * axis, slice(None, None, -1)))


def _sums_from_the_end(value: Variable, axis: int) -> Variable:
    return _turned(r.cumsum(_turned(value, axis), axis), axis)


@PULLBACKS.row(r.CUMSUM)
def _cumsum(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    if cotangent is None:
        return [None]
    return [_back_in_shape(_sums_from_the_end(cotangent, node.op.parameters.axis or 0), node)]


@PUSHFORWARDS.row(r.CUMSUM)
def _cumsum_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else build_one(node.op, tangents[0])]


class _Products:
    """Cumulative products in parts that can be divided: before the first 0 of a line, at it, and after it.

    After the first 0 the products are 0 whatever is there; at it the derivative is the product of all others.
    """

    def __init__(self, node: Apply) -> None:
        self.x, self.axis = _in_a_line(node)
        zero = e.equal(self.x, 0)
        count = r.cumsum(zero, self.axis)
        self.before = e.equal(count, 0)
        self.first = e.logical_and(zero, e.equal(count, 1))
        self.divisor = e.where(zero, 1, self.x)
        self.products = r.cumprod(self.x, self.axis)
        self.products_without = r.cumprod(e.where(self.first, 1, self.x), self.axis)


@PULLBACKS.row(r.CUMPROD)
def _cumprod(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (g,) = cotangents
    if g is None:
        return [None]
    parts = _Products(node)
    usual = _sums_from_the_end(g * parts.products, parts.axis) / parts.divisor
    at_zero = _sums_from_the_end(g * parts.products_without, parts.axis)
    return [_back_in_shape(e.where(parts.before, usual, e.where(parts.first, at_zero, 0)), node)]


@PUSHFORWARDS.row(r.CUMPROD)
def _cumprod_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    (t,) = tangents
    if t is None:
        return [None]
    if node.op.parameters.axis is None:
        t = reshape(t, [-1])
    parts = _Products(node)
    usual = parts.products * r.cumsum(e.where(parts.before, t / parts.divisor, 0), parts.axis)
    at_zero = parts.products_without * r.cumsum(e.where(parts.first, t, 0), parts.axis)
    return [usual + at_zero]
