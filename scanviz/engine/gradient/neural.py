"""Derivatives of softmax and its logarithm, from their results: no exponential is computed twice."""

from __future__ import annotations

from scanviz.engine.gradient.table import cotangent_of, tangent_of
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.elementwise import exp
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.ops.reduce import sum as sum_over


@cotangent_of(SOFTMAX)
@tangent_of(SOFTMAX)
def _softmax(node: Apply, given: Variable) -> Variable:
    """Return y (t - Σ t y): the Jacobian of softmax is symmetric, so both modes are the same."""
    y = node.outputs[0]
    return y * (given - sum_over(given * y, axis=node.op.parameters.axes, keepdims=True))


@cotangent_of(LOG_SOFTMAX)
def _log_pullback(node: Apply, cotangent: Variable) -> Variable:
    total = sum_over(cotangent, axis=node.op.parameters.axes, keepdims=True)
    return cotangent - exp(node.outputs[0]) * total


@tangent_of(LOG_SOFTMAX)
def _log_pushforward(node: Apply, tangent: Variable) -> Variable:
    share = exp(node.outputs[0])
    return tangent - sum_over(share * tangent, axis=node.op.parameters.axes, keepdims=True)
