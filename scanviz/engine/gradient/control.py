"""Derivatives of ``ifelse``, and of the barriers that stop, zero or limit a derivative.

Only the branch that was taken has a derivative, and only that one is computed: the cotangent of a branch is an ``ifelse`` itself,
of the cotangent that arrived and zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.table import (
    CONNECTIONS,
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    cotangent_of,
    nothing,
    tangent_of,
    zeros_like,
)
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.control import DISCONNECTED_GRAD, GRAD_CLIP, IFELSE, ZERO_GRAD, ifelse
from scanviz.engine.ops.elementwise import clip


@CONNECTIONS.row(IFELSE)
def _connection(node: Apply) -> Sequence[Sequence[bool]]:
    count = len(node.outputs)
    return [[False] * count, *([k % count == j for j in range(count)] for k in range(2 * count))]


@PULLBACKS.row(IFELSE)
def _pullback(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    test, count = node.inputs[0], len(node.outputs)
    found: list[Derivative] = [None]
    for k, branch in enumerate(node.inputs[1:]):
        cotangent = cotangents[k % count]
        if cotangent is None or not wanted[1 + k]:
            found.append(None)
        elif k < count:
            found.append(ifelse(test, cotangent, zeros_like(branch)))
        else:
            found.append(ifelse(test, zeros_like(branch), cotangent))
    return found


@PUSHFORWARDS.row(IFELSE)
def _pushforward(node: Apply, tangents: Arriving) -> Derivatives:
    test, count = node.inputs[0], len(node.outputs)
    found: list[Derivative] = []
    for k in range(count):
        pair = [(tangents[1 + k + shift], node.inputs[1 + k + shift]) for shift in (0, count)]
        if all(tangent is None for tangent, _ in pair):
            found.append(None)
        else:
            found.append(ifelse(test, *(zeros_like(value) if t is None else t for t, value in pair)))
    return found


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
