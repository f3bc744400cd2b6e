"""Derivatives of operations on shapes: the elements move, so their derivatives move with them."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import sum_to_shape
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, nothing, only
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.ops import shape as s
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.state_shape import STATE_SHAPE
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import shape_of

CONNECTIONS.row(s.DIMENSION)(nothing)
CONNECTIONS.row(s.BROADCAST_SIZE)(nothing)
for _each in (s.ALLOC, s.RESHAPE, s.SPECIFY_SHAPE, STATE_SHAPE):
    CONNECTIONS.row(_each)(only(0))


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


@PULLBACKS.row(s.ALLOC, STATE_SHAPE)
def _alloc(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    first = None if cotangent is None else sum_to_shape(cotangent, node.inputs[0])
    return [first, *[None] * (len(node.inputs) - 1)]


@PUSHFORWARDS.row(s.ALLOC)
def _alloc_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else s.alloc(tangents[0], list(node.inputs[1:]))]


@PUSHFORWARDS.row(STATE_SHAPE)
def _state_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else build_one(node.op, tangents[0], *node.inputs[1:])]


@PULLBACKS.row(s.RESHAPE)
def _reshape(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    rest: list[Derivative] = [None] * (len(node.inputs) - 1)
    (cotangent,) = cotangents
    if cotangent is None:
        return [None, *rest]
    shape = shape_of(node.inputs[0])
    return [s.reshape(cotangent, [as_size(each) for each in shape], ndim=len(shape)), *rest]


@PUSHFORWARDS.row(s.RESHAPE)
def _reshape_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else build_one(node.op, tangents[0], *node.inputs[1:])]


@PULLBACKS.row(s.SPECIFY_SHAPE)
def _specify(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    return [cotangents[0], *[None] * (len(node.inputs) - 1)]


@PUSHFORWARDS.row(s.SPECIFY_SHAPE)
def _specify_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [tangents[0]]


@PULLBACKS.row(s.MAKE_VECTOR)
def _vector(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    return [
        getitem(cotangent, k) if mine and cotangent is not None else None for k, mine in enumerate(wanted)
    ]


@PUSHFORWARDS.row(s.MAKE_VECTOR)
def _vector_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    if all(tangent is None for tangent in tangents):
        return [None]
    dtype = tensor_type(node.outputs[0]).dtype
    parts = [constant(0, dtype) if tangent is None else cast(tangent, dtype) for tangent in tangents]
    return [s.stack_scalars(parts)]
