"""Derivatives of softmax and its logarithm, from their results: no exponential is computed twice."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import PULLBACKS, PUSHFORWARDS, Derivative
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.elementwise import exp
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.ops.reduce import sum as sum_over


def _softmax(node: Apply, given: Variable) -> Variable:
    """Return y (t - Σ t y): the Jacobian of softmax is symmetric, so both modes are the same."""
    y = node.outputs[0]
    return y * (given - sum_over(given * y, axis=node.op.parameters.axes, keepdims=True))


@PULLBACKS.row(SOFTMAX)
def _pullback(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    return [None if cotangents[0] is None else _softmax(node, cotangents[0])]


@PUSHFORWARDS.row(SOFTMAX)
def _pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else _softmax(node, tangents[0])]


@PULLBACKS.row(LOG_SOFTMAX)
def _log_pullback(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    if cotangent is None:
        return [None]
    total = sum_over(cotangent, axis=node.op.parameters.axes, keepdims=True)
    return [cotangent - exp(node.outputs[0]) * total]


@PUSHFORWARDS.row(LOG_SOFTMAX)
def _log_pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    (tangent,) = tangents
    if tangent is None:
        return [None]
    share = exp(node.outputs[0])
    return [tangent - sum_over(share * tangent, axis=node.op.parameters.axes, keepdims=True)]
