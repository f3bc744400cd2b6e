"""Derivatives of elementwise operations.

The Jacobian of an elementwise op with respect to one input is diagonal, so one function a row and input serves both
modes: ``rule(t, *inputs, output)`` is ``t`` times the partial derivative.  In reverse mode ``t`` is the cotangent, and the
product is then summed over the axes along which the input was stretched; in forward mode it is the tangent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanviz.engine.gradient.sizes import broadcast_like, sum_to_shape
from scanviz.engine.gradient.table import PULLBACKS, PUSHFORWARDS, Derivative
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops import elementwise as e

# t, inputs…, output → t times the partial derivative; None where that is zero everywhere
Partial = Callable[..., Variable | None]


def derivatives(declaration: Declaration, *partials: Partial | None) -> None:
    """Give an op its derivative with respect to each input; None for zero."""

    def pullback(
        node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
    ) -> Sequence[Derivative]:
        (cotangent,) = cotangents
        found: list[Derivative] = []
        for partial, given, mine in zip(partials, node.inputs, wanted, strict=True):
            term = None
            if mine and partial is not None and cotangent is not None:
                term = partial(cotangent, *node.inputs, node.outputs[0])
            found.append(None if term is None else sum_to_shape(term, given))
        return found

    def pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
        total: Variable | None = None
        for partial, tangent in zip(partials, tangents, strict=True):
            if partial is None or tangent is None:
                continue
            term = partial(tangent, *node.inputs, node.outputs[0])
            if term is not None:
                total = term if total is None else total + term
        return [None if total is None else broadcast_like(total, node.outputs[0])]

    PULLBACKS.row(declaration)(pullback)
    PUSHFORWARDS.row(declaration)(pushforward)


derivatives(e.add, lambda t, a, b, y: t, lambda t, a, b, y: t)
derivatives(e.subtract, lambda t, a, b, y: t, lambda t, a, b, y: -t)
derivatives(e.multiply, lambda t, a, b, y: t * b, lambda t, a, b, y: t * a)
derivatives(e.tanh, lambda t, x, y: t * (1 - y * y))
derivatives(e.sin, lambda t, x, y: t * e.cos(x))
derivatives(e.cos, lambda t, x, y: -t * e.sin(x))
derivatives(e.exp, lambda t, x, y: t * y)
derivatives(e.CAST, lambda t, x, y: t)
