"""Derivatives of random draws.

Uniform, normal and exponential values are drawn as smooth functions of their parameters and of bits that do not depend
on them (reparametrisation), so they have derivatives with respect to the parameters.  The others choose: among whole
numbers, or by rejection; they have none, and say so.  Nothing has a derivative with respect to a random state.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import broadcast_like, sum_to_shape
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, Undefined, nothing
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops import random as r

_CHOSEN = (
    r.POISSON,
    r.BINOMIAL,
    r.BERNOULLI,
    r.INTEGERS_BETWEEN,
    r.CATEGORICAL,
    r.MULTINOMIAL,
    r.CHOICE,
    r.PERMUTATION,
)


def _parameters(node: Apply) -> Sequence[Variable]:
    return node.inputs[1 + node.op.parameters.sizes :]


def _of_parameters(node: Apply) -> Sequence[Sequence[bool]]:
    first = 1 + node.op.parameters.sizes
    return [[False, k >= first] for k in range(len(node.inputs))]


CONNECTIONS.row(r.STATE_WORDS)(nothing)
CONNECTIONS.row(r.WORDS_STATE)(nothing)
for _each in (r.UNIFORM, r.NORMAL, r.EXPONENTIAL, r.GAMMA, *_CHOSEN):
    CONNECTIONS.row(_each)(_of_parameters)


def _partials(node: Apply, t: Sequence[Variable]) -> Sequence[Variable]:
    """Return t[k] times the derivative of the values with respect to parameter k."""
    values, parameters = node.outputs[1], _parameters(node)
    match node.op.declaration.name:
        case "draw_uniform":
            low, high = parameters
            share = (values - low) / (high - low)
            return [t[0] * (1 - share), t[1] * share]
        case "draw_normal":
            mean, std = parameters
            return [t[0], t[1] * ((values - mean) / std)]
        case _:
            return [t[0] * (values / parameters[0])]


@PULLBACKS.row(r.UNIFORM, r.NORMAL, r.EXPONENTIAL)
def _pullback(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    cotangent, parameters = cotangents[1], _parameters(node)
    rest: list[Derivative] = [None] * (len(node.inputs) - len(parameters))
    if cotangent is None:
        return [*rest, *[None] * len(parameters)]
    terms = _partials(node, [cotangent] * len(parameters))
    return [*rest, *(sum_to_shape(term, each) for term, each in zip(terms, parameters, strict=True))]


@PUSHFORWARDS.row(r.UNIFORM, r.NORMAL, r.EXPONENTIAL)
def _pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    given = tangents[1 + node.op.parameters.sizes :]
    total: Variable | None = None
    for k, tangent in enumerate(given):
        if tangent is not None:
            term = _partials(node, [tangent] * len(given))[k]
            total = term if total is None else total + term
    return [None, None if total is None else broadcast_like(total, node.outputs[1])]


def _undefined(declaration: Declaration, why: str) -> None:
    def pullback(
        node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
    ) -> Sequence[Derivative]:
        return [Undefined(why, node.provenance.source) if mine else None for mine in wanted]

    def pushforward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
        return [None, Undefined(why, node.provenance.source)]

    PULLBACKS.row(declaration)(pullback)
    PUSHFORWARDS.row(declaration)(pushforward)


_undefined(r.GAMMA, "gamma values are drawn by rejection: they are no smooth function of their parameters")
for _each in _CHOSEN:
    _name = _each.name.removeprefix("draw_")
    _undefined(_each, f"a {_name} draw chooses: its value is no smooth function of its parameters")
