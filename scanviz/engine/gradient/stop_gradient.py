"""Derivatives of the barriers: what stops, zeroes or limits a derivative."""

from __future__ import annotations

from scanviz.engine.gradient.rows import cotangent_of, tangent_of
from scanviz.engine.gradient.table import CONNECTIONS, nothing
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.elementwise import clip
from scanviz.engine.ops.stop_gradient import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD

CONNECTIONS.row(DISCONNECTED_GRAD)(nothing)


@cotangent_of(DISCONNECTED_GRAD, ZERO_GRAD)
@tangent_of(DISCONNECTED_GRAD, ZERO_GRAD)
def _zero(node: Apply, given: Variable) -> None:
    return None


@cotangent_of(GRAD_CLIP)
def _clipped(node: Apply, cotangent: Variable) -> Variable:
    low, high = node.op.parameters
    return clip(cotangent, low, high)


@tangent_of(GRAD_CLIP)
def _passed(node: Apply, tangent: Variable) -> Variable:
    return tangent
