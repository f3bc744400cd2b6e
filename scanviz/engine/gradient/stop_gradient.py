"""Derivatives of the barriers: what stops, zeroes or limits a derivative."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, nothing
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.elementwise import clip
from scanviz.engine.ops.stop_gradient import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD

CONNECTIONS.row(DISCONNECTED_GRAD)(nothing)


@PULLBACKS.row(DISCONNECTED_GRAD, ZERO_GRAD)
def _zero(node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]) -> Sequence[Derivative]:
    return [None]


@PUSHFORWARDS.row(DISCONNECTED_GRAD, ZERO_GRAD)
def _zero_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None]


@PULLBACKS.row(GRAD_CLIP)
def _clipped(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    low, high = node.op.parameters
    return [None if cotangent is None else clip(cotangent, low, high)]


@PUSHFORWARDS.row(GRAD_CLIP)
def _passed(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return list(tangents)
