"""Derivatives of reductions and cumulative operations.

Equal elements that are the largest (smallest) share the derivative of ``max`` (``min``) equally.  ``all``, ``any``, ``argmax``
and ``argmin`` give truth values and whole numbers, which have no derivative, so they need no rows.

Products are right where elements are 0, to any order, because nothing is divided by an element.  For ``y = x₀ x₁ … xₙ`` the
derivative with respect to xⱼ is the product of the elements before j times the product of those after it: two cumulative
products.  For a cumulative product it is

    x̄ⱼ = (Π_{i<j} xᵢ) sⱼ,    sⱼ = ḡⱼ + xⱼ₊₁ sⱼ₊₁

a linear recurrence from the end (forward mode has one from the start).  Where no product is 0, the same comes from a cumulative
sum divided by x, which is faster; which of the two is computed is decided when the values are there.
"""

from __future__ import annotations

from scanviz.engine.gradient.table import (
    broadcast_like,
    cotangent_of,
    full_like,
    linear,
    reshape_like,
    tangent_of,
    zeros_like,
)
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.control import ifelse
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import dimshuffle, reshape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.build import scan


def with_reduced_axes(value: Variable, node: Apply) -> Variable:
    """Return a reduction's result (or its cotangent) with the reduced axes put back with size 1."""
    axes, keep, _ = node.op.parameters
    if keep:
        return value
    kept = iter(range(tensor_type(value).ndim))
    order = ["x" if axis in axes else next(kept) for axis in range(tensor_type(node.inputs[0]).ndim)]
    return dimshuffle(value, order)


linear(r.sum, r.CUMSUM)
linear(r.SUM_TO_SHAPE, inputs=(0,))


@cotangent_of(r.sum)
def _sum(node: Apply, cotangent: Variable) -> Variable:
    return broadcast_like(with_reduced_axes(cotangent, node), node.inputs[0])


@cotangent_of(r.SUM_TO_SHAPE)
def _to_shape(node: Apply, cotangent: Variable) -> Variable:
    return broadcast_like(cotangent, node.inputs[0])


def _factors(node: Apply) -> Variable:
    """Return the factors of a product: its input in the dtype of the computation, which may have a larger range."""
    return cast(node.inputs[0], tensor_type(node.outputs[0]).dtype)


def _shifted(value: Variable, axis: int) -> Variable:
    """Return ``1, v₀, …, vₙ₋₂`` along an axis: each element moved one place up, the last one lost."""
    along = (slice(None),) * axis
    # the 1 stands in front before the cut, so that it is right for no elements too
    one = full_like(r.sum(value, axis, keepdims=True), 1)
    return getitem(concatenate([one, value], axis), (*along, slice(None, -1)))


def _before(value: Variable, axis: int) -> Variable:
    """Return for each element the product of those before it along an axis."""
    return r.cumprod(_shifted(value, axis), axis)


def _others(node: Apply) -> Variable:
    """Return for each element the product of the others along the axes."""
    x, axes = _factors(node), node.op.parameters.axes
    if len(axes) == 1:
        return _others_along(x, axes[0])
    ndim = tensor_type(x).ndim
    order = [*(axis for axis in range(ndim) if axis not in axes), *axes]
    shape = [as_size(size) for size in shape_of(x)]
    kept = [shape[axis] for axis in order[: ndim - len(axes)]]
    lines = reshape(dimshuffle(x, order), [*kept, r.count(x, axes)], ndim=len(kept) + 1)
    found = reshape(_others_along(lines, len(kept)), [shape[axis] for axis in order], ndim=ndim)
    return dimshuffle(found, [order.index(axis) for axis in range(ndim)])


def _others_along(x: Variable, axis: int) -> Variable:
    return _before(x, axis) * _turned(_before(_turned(x, axis), axis), axis)


@cotangent_of(r.prod)
def _prod(node: Apply, cotangent: Variable) -> Variable:
    return with_reduced_axes(cotangent, node) * _others(node)


@tangent_of(r.prod)
def _prod_forward(node: Apply, tangent: Variable) -> Variable:
    axes, keep, dtype = node.op.parameters
    return r.sum(tangent * _others(node), axes, keepdims=keep, dtype=dtype)


def _shares(node: Apply) -> Variable:
    """Return which part of the result each element is: 1 for the one that was chosen, less for equal ones."""
    (x,) = node.inputs
    dtype = tensor_type(x).dtype
    chosen = e.equal(x, with_reduced_axes(node.outputs[0], node))
    # in int64: float16 cannot count beyond 2048
    count = r.sum(chosen, node.op.parameters.axes, keepdims=True)
    return cast(chosen, dtype) / cast(count, dtype)


@cotangent_of(r.max, r.min)
def _extreme(node: Apply, cotangent: Variable) -> Variable:
    return with_reduced_axes(cotangent, node) * _shares(node)


@tangent_of(r.max, r.min)
def _extreme_forward(node: Apply, tangent: Variable) -> Variable:
    axes, keep, _ = node.op.parameters
    # the tangent of an element that was not chosen counts for nothing, infinite or not
    return r.sum(e.multiply_no_nan(tangent, _shares(node)), axes, keepdims=keep)


def _in_a_line(value: Variable, node: Apply) -> tuple[Variable, int]:
    """Return the array and axis of a cumulative operation: the flattened array for axis None."""
    axis = node.op.parameters.axis
    return (reshape(value, [-1]), 0) if axis is None else (value, axis)


def _back_in_shape(value: Variable, node: Apply) -> Variable:
    return value if node.op.parameters.axis is not None else reshape_like(value, node.inputs[0])


def _turned(value: Variable, axis: int) -> Variable:
    return getitem(value, (*[slice(None)] * axis, slice(None, None, -1)))


def _sums_from_the_end(value: Variable, axis: int) -> Variable:
    return _turned(r.cumsum(_turned(value, axis), axis), axis)


@cotangent_of(r.CUMSUM)
def _cumsum(node: Apply, cotangent: Variable) -> Variable:
    return _back_in_shape(_sums_from_the_end(cotangent, node.op.parameters.axis or 0), node)


def _recurrence(terms: Variable, factors: Variable, axis: int) -> Variable:
    """Return ``yₖ = termₖ + factorₖ yₖ₋₁`` along an axis, with 0 before the first: a loop."""
    ndim = tensor_type(terms).ndim
    first = [axis, *(k for k in range(ndim) if k != axis)]
    rows, others = dimshuffle(terms, first), dimshuffle(factors, first)
    start = zeros_like(r.sum(rows, 0))
    found, _ = scan(
        lambda term, factor, before: term + factor * before,
        sequences=[rows, others],
        outputs_info=start,
        name="derivative_of_cumprod",
    )
    return dimshuffle(found, [first.index(k) for k in range(ndim)])


def _some_product_is_zero(products: Variable) -> Variable:
    """Return whether a division by an element could lose information: some product is 0 or rounds to 0."""
    return r.any(e.equal(products, 0))


def _divided(value: Variable, x: Variable) -> Variable:
    """Return ``value / x``, finite where x is 0: derivatives of the branch that is not taken must be, to be 0 times that."""
    return value / e.where(e.equal(x, 0), 1, x)


@cotangent_of(r.CUMPROD)
def _cumprod(node: Apply, g: Variable) -> Variable:
    x, axis = _in_a_line(_factors(node), node)
    (products,) = node.outputs
    from_the_end = _recurrence(_turned(g, axis), _shifted(_turned(x, axis), axis), axis)
    exact = _before(x, axis) * _turned(from_the_end, axis)
    usual = _divided(_sums_from_the_end(g * products, axis), x)
    return _back_in_shape(ifelse(_some_product_is_zero(products), exact, usual), node)


@tangent_of(r.CUMPROD)
def _cumprod_forward(node: Apply, tangent: Variable) -> Variable:
    x, axis = _in_a_line(_factors(node), node)
    t, _ = _in_a_line(cast(tangent, tensor_type(x).dtype), node)
    (products,) = node.outputs
    exact = _recurrence(t * _before(x, axis), x, axis)
    usual = products * r.cumsum(_divided(t, x), axis)
    chosen: Variable = ifelse(_some_product_is_zero(products), exact, usual)
    return chosen
