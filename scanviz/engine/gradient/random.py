"""Derivatives of random draws, one row a distribution: how values move with each parameter, or why they do not.

Uniform, normal, lognormal, exponential, laplace and gumbel draws are smooth functions of their parameters and of independent
noise: ``low + (high - low) * noise``, ``loc + scale * noise``, ``scale * noise``.  So they have derivatives with respect to the
parameters: reparametrisation (Kingma and Welling, "Auto-encoding variational Bayes", 2014, section 2.4).  So has a gamma draw
with respect to its scale.  A derivative that needs the noise draws it again, from the same state with standard parameters.
Computed from the values, the noise would be 0/0 where ``scale`` is 0 or ``low`` is ``high``, and rounded away where ``scale``
is small beside ``loc``.

The others choose among whole numbers, or by rejection.  They have no derivative: a gradient that depends on the value drawn is
an error (:mod:`scanviz.engine.gradient.sweeps.choices`).  Nothing has a derivative with respect to a random state or a whole
parameter, such as the number of trials.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from scanviz.engine.gradient.sweeps.choices import CHOICES, Choice
from scanviz.engine.gradient.table import (
    CONNECTIONS,
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    Undefined,
    broadcast_like,
    nothing,
    sum_to_shape,
)
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Variable, build, is_floating
from scanviz.engine.ops import random as r
from scanviz.engine.ops.elementwise import add, log
from scanviz.engine.ops.support import constant

# (t, noise, values) → t times the derivative of the values; or why there is none, with {name} and {parameter}
Moves = Callable[[Variable, Variable, Variable], Variable] | str


class DrawRow(Struct, frozen=True):
    """The derivatives of one distribution.

    Attributes
    ----------
    moves : mapping
        Parameter → how the values move with it, or why not; those that hold whole numbers are left out.
    standard : mapping
        Parameter → the value with which a draw gives its noise alone; those that are not named keep theirs.
    instead : str
        The code to write without a derivative.
    """

    moves: Mapping[str, Moves]
    standard: Mapping[str, float]
    instead: str


DRAWS: dict[str, DrawRow] = {}
_SCORE = (
    "scanviz.disconnected_grad(draw) to take what was drawn as constant; for the derivative of an expectation add"
    " scanviz.disconnected_grad(cost) * log_probability(draw), the score function"
)
_WHOLE = "a {name} value is a whole number: it stays as it is or jumps when `{parameter}` changes"


def _parameters(node: Apply) -> Sequence[Variable]:
    return node.inputs[1 + node.op.parameters.sizes :]


def _of_parameters(node: Apply) -> Sequence[Sequence[bool]]:
    first = 1 + node.op.parameters.sizes
    return [[False, k >= first] for k in range(len(node.inputs))]


CONNECTIONS.row(r.STATE_WORDS)(nothing)
CONNECTIONS.row(r.WORDS_STATE)(nothing)


def _noise(node: Apply) -> Variable:
    """Return the standard values that a draw was made from."""
    op, known = node.op, node.inputs[: 1 + node.op.parameters.sizes]
    standard, names = DRAWS[op.declaration.name].standard, r.parameter_names(op.declaration)
    parameters = [
        constant(standard[name], op.parameters.dtype) if name in standard else given
        for name, given in zip(names, _parameters(node), strict=False)
    ]
    return build(op, [*known, *parameters])[1]


def _moves(node: Apply) -> list[Moves | None]:
    """Return how the values move with each parameter; None for whole numbers."""
    moves, names = DRAWS[node.op.declaration.name].moves, r.parameter_names(node.op.declaration)
    return [
        moves[name] if name in moves and is_floating(given) else None
        for name, given in zip(names, _parameters(node), strict=False)
    ]


def _undefined(node: Apply, why: str, position: int) -> Undefined:
    declaration = node.op.declaration
    name, parameter = declaration.name.removeprefix("draw_"), r.parameter_names(declaration)[position]
    reason = why.format(name=name, parameter=parameter)
    return Undefined(reason, node.provenance.source, DRAWS[declaration.name].instead, node.outputs[1])


def _pullback(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    cotangent, first = cotangents[1], 1 + node.op.parameters.sizes
    found: list[Derivative] = [None] * len(node.inputs)
    if cotangent is None:
        return found
    noise = _noise(node)
    for k, (move, parameter) in enumerate(zip(_moves(node), _parameters(node), strict=True)):
        if isinstance(move, str) and wanted[first + k]:
            found[first + k] = _undefined(node, move, k)
        elif callable(move) and wanted[first + k]:
            found[first + k] = sum_to_shape(move(cotangent, noise, node.outputs[1]), parameter)
    return found


def _pushforward(node: Apply, tangents: Arriving) -> Derivatives:
    given, noise = tangents[1 + node.op.parameters.sizes :], _noise(node)
    terms: list[Variable] = []
    for k, (move, tangent) in enumerate(zip(_moves(node), given, strict=True)):
        if isinstance(move, str) and tangent is not None:
            return [None, _undefined(node, move, k)]
        if callable(move) and tangent is not None:
            terms.append(move(tangent, noise, node.outputs[1]))
    if not terms:
        return [None, None]
    return [None, broadcast_like(functools.reduce(add, terms), node.outputs[1])]


def _choices(node: Apply) -> list[Choice]:
    first = 1 + node.op.parameters.sizes
    return [
        Choice(first + k, 1, _undefined(node, move, k))
        for k, move in enumerate(_moves(node))
        if isinstance(move, str)
    ]


def draw_row(
    declaration: Declaration,
    moves: Mapping[str, Moves],
    standard: Mapping[str, float] | None = None,
    instead: str = _SCORE,
) -> None:
    """Give a distribution its derivatives, for each parameter that may be floating."""
    DRAWS[declaration.name] = DrawRow(moves, standard or {}, instead)
    CONNECTIONS.row(declaration)(_of_parameters)
    PULLBACKS.row(declaration)(_pullback)
    PUSHFORWARDS.row(declaration)(_pushforward)
    CHOICES.row(declaration)(_choices)


def _as_is(t: Variable, noise: Variable, values: Variable) -> Variable:
    return t


def _by_noise(t: Variable, noise: Variable, values: Variable) -> Variable:
    return t * noise


def _by_rest(t: Variable, noise: Variable, values: Variable) -> Variable:
    return t * (1 - noise)


def _by_values(t: Variable, noise: Variable, values: Variable) -> Variable:
    return t * values


def _by_values_and_log(t: Variable, noise: Variable, values: Variable) -> Variable:
    return t * values * log(noise)


_REJECTION = "{name} values are drawn by rejection: they are no smooth function of `{parameter}`"
_TRUTH = "a {name} value is 0 or 1: it stays as it is or jumps when `{parameter}` changes"
_ORDER = "a {name} draw has none with respect to the rows `{parameter}` that it puts in order"
_BY_PLACES = "rows[order] with order drawn as permutation(rows.shape[0]): rows at places have a derivative"

draw_row(r.UNIFORM, {"low": _by_rest, "high": _by_noise}, {"low": 0, "high": 1})
draw_row(r.NORMAL, {"loc": _as_is, "scale": _by_noise}, {"loc": 0, "scale": 1})
draw_row(r.LAPLACE, {"loc": _as_is, "scale": _by_noise}, {"loc": 0, "scale": 1})
draw_row(r.GUMBEL, {"loc": _as_is, "scale": _by_noise}, {"loc": 0, "scale": 1})
draw_row(r.LOGNORMAL, {"mean": _by_values, "sigma": _by_values_and_log}, {"mean": 0, "sigma": 1})
draw_row(r.BETA, {"a": _REJECTION, "b": _REJECTION})
draw_row(r.DIRICHLET, {"alpha": _REJECTION})
draw_row(r.TRUNCATED_NORMAL, dict.fromkeys(("loc", "scale", "low", "high"), _REJECTION))
draw_row(r.EXPONENTIAL, {"scale": _by_noise}, {"scale": 1})
draw_row(r.GAMMA, {"shape": _REJECTION + ", only of the scale", "scale": _by_noise}, {"scale": 1})
draw_row(r.BERNOULLI, {"p": _TRUTH})
draw_row(r.POISSON, {"lam": _WHOLE})
draw_row(r.BINOMIAL, {"p": _WHOLE})
draw_row(r.INTEGERS_BETWEEN, {})
draw_row(r.CATEGORICAL, {"p": _WHOLE})
draw_row(r.MULTINOMIAL, {"pvals": _WHOLE})
draw_row(r.CHOICE, {"p": _WHOLE})
draw_row(r.PERMUTATION, {"x": _ORDER}, instead=_BY_PLACES)
