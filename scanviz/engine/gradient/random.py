"""Derivatives of random draws.

Uniform, normal and exponential values are drawn as smooth functions of their parameters and of noise that does not depend
on them (``low + (high - low) * noise``, ``mean + std * noise``, ``scale * noise``), so they have derivatives with respect to
the parameters: reparametrisation (Kingma and Welling, "Auto-encoding variational Bayes", 2014, section 2.4).  The noise is
drawn again, from the same state with parameters 0 and 1, where the derivative needs it: found out from the values it would
be 0/0 where ``std`` is 0 or ``low`` is ``high``, and rounded away where ``std`` is small beside ``mean``.

The others choose: among whole numbers, or by rejection; they have no derivative, and say so.  Nothing has a derivative with
respect to a random state.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from scanviz.engine.gradient.sizes import broadcast_like, sum_to_shape
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, Undefined, nothing
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Variable, build
from scanviz.engine.ops import random as r
from scanviz.engine.ops.elementwise import add
from scanviz.engine.ops.support import constant

_WHOLE = (r.POISSON, r.BINOMIAL, r.INTEGERS_BETWEEN, r.CATEGORICAL, r.MULTINOMIAL, r.CHOICE)
# parameters with which a draw gives its noise alone
_STANDARD = {r.UNIFORM: (0, 1), r.NORMAL: (0, 1), r.EXPONENTIAL: (1,)}


def _parameters(node: Apply) -> Sequence[Variable]:
    return node.inputs[1 + node.op.parameters.sizes :]


def _of_parameters(node: Apply) -> Sequence[Sequence[bool]]:
    first = 1 + node.op.parameters.sizes
    return [[False, k >= first] for k in range(len(node.inputs))]


CONNECTIONS.row(r.STATE_WORDS)(nothing)
CONNECTIONS.row(r.WORDS_STATE)(nothing)
for _each in (*_STANDARD, r.GAMMA, r.BERNOULLI, r.PERMUTATION, *_WHOLE):
    CONNECTIONS.row(_each)(_of_parameters)


def _noise(node: Apply) -> Variable:
    """Return the standard values that a draw was made from."""
    op, known = node.op, node.inputs[: 1 + node.op.parameters.sizes]
    standard = [constant(each, op.parameters.dtype) for each in _STANDARD[op.declaration]]
    return build(op, [*known, *standard])[1]


def _moved(node: Apply, noise: Variable, t: Variable, position: int) -> Variable:
    """Return ``t`` times the derivative of the values with respect to the parameter at a position."""
    match node.op.declaration, position:
        case r.NORMAL, 0:
            return t
        case r.UNIFORM, 0:
            return t * (1 - noise)
        case _:
            return t * noise


@PULLBACKS.row(*_STANDARD)
def _pullback(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    cotangent, parameters = cotangents[1], _parameters(node)
    first = len(node.inputs) - len(parameters)
    found: list[Derivative] = [None] * len(node.inputs)
    noise = _noise(node)
    for k, parameter in enumerate(parameters):
        if cotangent is not None and wanted[first + k]:
            found[first + k] = sum_to_shape(_moved(node, noise, cotangent, k), parameter)
    return found


@PUSHFORWARDS.row(*_STANDARD)
def _pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    given = tangents[1 + node.op.parameters.sizes :]
    noise = _noise(node)
    terms = [_moved(node, noise, tangent, k) for k, tangent in enumerate(given) if tangent is not None]
    if not terms:
        return [None, None]
    return [None, broadcast_like(functools.reduce(add, terms), node.outputs[1])]


def _undefined(why: str, *declarations: Declaration) -> None:
    def pullback(
        node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
    ) -> Sequence[Derivative]:
        return [Undefined(_said(node), node.provenance.source) if mine else None for mine in wanted]

    def pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
        return [None, Undefined(_said(node), node.provenance.source)]

    def _said(node: Apply) -> str:
        return why.format(name=node.op.declaration.name.removeprefix("draw_"))

    PULLBACKS.row(*declarations)(pullback)
    PUSHFORWARDS.row(*declarations)(pushforward)


_undefined(
    "{name} values are drawn by rejection: they are no smooth function of their parameters"
    " (a scale that multiplies a draw of scale 1 has a derivative)",
    r.GAMMA,
)
_undefined("a {name} value is 0 or 1: it stays as it is or jumps when its probability changes", r.BERNOULLI)
_undefined("a {name} value is a whole number: it stays as it is or jumps when a parameter changes", *_WHOLE)
_undefined(
    "a {name} draw has none with respect to the rows that it puts in order"
    " (the rows at the places of a drawn order, x[permutation(n)], have one)",
    r.PERMUTATION,
)
