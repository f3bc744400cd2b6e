"""Derivatives of joining arrays: each part takes its own part of the derivative."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import (
    Derivative,
    Derivatives,
    cotangent_of,
    cotangents_of,
    linear,
    zeros_like,
)
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.ops.assign import inc_subtensor
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import CONCATENATE, REPEAT, repeat
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import reshape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.sizes.dims import SIZES, Dim

linear(CONCATENATE)
linear(REPEAT, inputs=(0,))


@cotangents_of(CONCATENATE)
def _concatenate(node: Apply, cotangent: Variable, wanted: Sequence[bool]) -> Derivatives:
    axis = node.op.parameters.axis
    found: list[Derivative] = []
    start: Dim = 0
    for k, (variable, mine) in enumerate(zip(node.inputs, wanted, strict=True)):
        stop = SIZES.add(start, shape_of(variable)[axis])
        last = k == len(node.inputs) - 1
        place = slice(None if k == 0 else _bound(start), None if last else _bound(stop))
        found.append(getitem(cotangent, (*[slice(None)] * axis, place)) if mine else None)
        start = stop
    return found


def _bound(size: Dim) -> Variable | int:
    return size if isinstance(size, int) else as_size(size)


@cotangent_of(REPEAT)
def _repeat(node: Apply, cotangent: Variable) -> Variable:
    """Add up the copies of each element: side by side if all have as many, else by the elements' numbers, repeated alike."""
    given, counts = node.inputs
    axis = node.op.parameters.axis
    if tensor_type(counts).ndim == 0:
        shape = [as_size(size) for size in shape_of(given)]
        split = [*shape[: axis + 1], counts, *shape[axis + 1 :]]
        return sum_over(reshape(cotangent, split, ndim=len(split)), axis + 1)
    whole = zeros_like(given)
    places = repeat(arange(as_size(shape_of(whole)[axis])), counts, axis=0)
    return inc_subtensor(getitem(whole, (*[slice(None)] * axis, places)), cotangent)
