"""Derivatives of operations on shapes: the elements move, so their derivatives move with them."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import (
    CONNECTIONS,
    Derivatives,
    cotangent_of,
    cotangents_of,
    linear,
    nothing,
    passes,
    reshape_like,
    sum_to_shape,
)
from scanviz.engine.graph.nodes import Apply, Variable, tensor_type
from scanviz.engine.ops import shape as s
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.engine.ops.size_checks import SPECIFY_SHAPE, STATE_SHAPE

CONNECTIONS.row(s.DIMENSION, BROADCAST_SIZE)(nothing)
linear(s.DIMSHUFFLE, s.MAKE_VECTOR)
linear(s.ALLOC, s.RESHAPE, STATE_SHAPE, inputs=(0,))
passes(SPECIFY_SHAPE)


@cotangent_of(s.DIMSHUFFLE)
def _dimshuffle(node: Apply, cotangent: Variable) -> Variable:
    order = node.op.parameters.order
    back = [order.index(axis) if axis in order else "x" for axis in range(tensor_type(node.inputs[0]).ndim)]
    return s.dimshuffle(cotangent, back)


@cotangent_of(s.ALLOC, STATE_SHAPE)
def _alloc(node: Apply, cotangent: Variable) -> Variable:
    return sum_to_shape(cotangent, node.inputs[0])


@cotangent_of(s.RESHAPE)
def _reshape(node: Apply, cotangent: Variable) -> Variable:
    return reshape_like(cotangent, node.inputs[0])


@cotangents_of(s.MAKE_VECTOR)
def _vector(node: Apply, cotangent: Variable, wanted: Sequence[bool]) -> Derivatives:
    return [getitem(cotangent, k) if mine else None for k, mine in enumerate(wanted)]
