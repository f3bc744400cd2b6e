"""Derivatives of elementwise operations.

The Jacobian of an elementwise op with respect to one input is diagonal, so one function a row and input serves both
modes: ``rule(t, *inputs, output)`` is ``t`` times the partial derivative.  In reverse mode ``t`` is the cotangent, and the
product is then summed over the axes along which the input was stretched; in forward mode it is the tangent.

Written here are derivatives of operations whose formula is one primitive, and those better than what the formula gives; the others
follow from it (:mod:`scanviz.engine.gradient.partials`).  Where there is no derivative, one is chosen:

=======================================  ==========================================================
at                                       derivative
=======================================  ==========================================================
``absolute`` at 0                        0
``maximum``, ``minimum`` of equal values  half to each; ``fmax``, ``fmin`` likewise, and all to a number beside NaN
``clip`` at its bounds                   1 with respect to the value, 0 with respect to the bounds
``hypot(0, 0)``, ``arctan2(0, 0)``       0
``logaddexp`` of equal infinities        half to each of inf and inf, 0 of -inf and -inf
``floor``, ``round``, ``sign``, …        0 everywhere
``power(0, b)``, with respect to b       0
``sqrt(0)``, other infinite slopes       infinity; 0 where the cotangent is exactly 0
``mod``, ``floor_divide``                as if the quotient rounded down did not change
``xlogy``, ``xlog1py`` of 0 and any      log of the second with respect to the first, 0 with respect to the second
=======================================  ==========================================================

``gammainc`` and ``gammaincc`` have no derivative with respect to their first argument here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scanviz.engine.gradient.partials import PARTIALS, POLES, STEEP, Partial, Test, is_steep, partials_of
from scanviz.engine.gradient.sweeps.accumulate import added
from scanviz.engine.gradient.sweeps.guards import (
    is_guarded,
    may_be_infinite,
    surely_not_negative,
    surely_not_zero,
    surely_positive,
)
from scanviz.engine.gradient.table import (
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    Undefined,
    broadcast_like,
    sum_to_shape,
)
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration


def derivatives(
    declaration: Declaration, *partials: Partial | None, steep: Test | None = None, poles: Test | None = None
) -> None:
    """Give an op its derivative with respect to each input; None for zero.

    ``steep(node)``: a slope may be infinite where its value is finite; ``poles(node)``: its value may not be finite; see
    :mod:`scanviz.engine.gradient.sweeps.guards`.
    """
    if steep is not None:
        STEEP[declaration] = steep
    if poles is not None:
        POLES[declaration] = poles
    PARTIALS.row(declaration)(partials)


@PULLBACKS.kind(ElementwiseDeclaration)
@PULLBACKS.row(e.CAST)
def _pullback(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    (cotangent,) = cotangents
    found: list[Derivative] = []
    for partial, given, mine in zip(partials_of(node), node.inputs, wanted, strict=True):
        term = None
        if mine and partial is not None and cotangent is not None:
            if is_guarded(node, len(found)):
                term = _guarded(partial, cotangent, node, zero=cotangent)
            else:
                term = partial(cotangent, *node.inputs, node.outputs[0])
        found.append(None if term is None else sum_to_shape(term, given))
    return found


@PUSHFORWARDS.kind(ElementwiseDeclaration)
@PUSHFORWARDS.row(e.CAST)
def _pushforward(node: Apply, tangents: Arriving) -> Derivatives:
    total = added(
        *(
            _moved(partial, tangent, node, position)
            for position, (partial, tangent) in enumerate(zip(partials_of(node), tangents, strict=True))
            if partial is not None and tangent is not None
        )
    )
    return [None if total is None else broadcast_like(total, node.outputs[0])]


def _guarded(partial: Partial, t: Variable, node: Apply, zero: Variable | None) -> Variable | None:
    """Return ``t`` times a slope, 0 where ``zero`` (the slope, for None) is."""
    slope = partial(1, *node.inputs, node.outputs[0])
    if slope is None:
        return None
    return e.multiply_no_nan(t, slope) if zero is None else e.multiply_no_nan(slope, zero)


def _moved(partial: Partial, tangent: Variable, node: Apply, position: int) -> Variable | None:
    """Return a tangent times a slope."""
    if is_steep(node):
        return _guarded(partial, tangent, node, zero=tangent)
    if may_be_infinite(node, position):
        return _guarded(partial, tangent, node, zero=None)
    return partial(tangent, *node.inputs, node.outputs[0])


def _always(node: Apply) -> bool:
    return True


def _of(test: Callable[[Variable], bool], position: int = 0) -> Test:
    """Return the test of a node that an input does not pass a test."""
    return lambda node: not test(node.inputs[position])


def _power_pole(node: Apply) -> bool:
    base, exponent = node.inputs
    if isinstance(exponent, Constant) and bool((exponent.value >= 0).all()):
        return bool((exponent.value % 1 != 0).any()) and not surely_not_negative(base)
    return not surely_positive(base)


def _power_steep(node: Apply) -> bool:
    base, exponent = node.inputs
    if isinstance(exponent, Constant):
        return not surely_positive(base) and bool(((exponent.value < 1) & (exponent.value != 0)).any())
    return not surely_positive(base)


derivatives(e.add, lambda t, a, b, y: t, lambda t, a, b, y: t)
derivatives(e.subtract, lambda t, a, b, y: t, lambda t, a, b, y: -t)
derivatives(
    e.multiply,
    lambda t, a, b, y: t * b if a is not b else (t * 2) * a,
    lambda t, a, b, y: t * a if a is not b else None,
)
derivatives(
    e.divide,
    lambda t, a, b, y: t / b,
    lambda t, a, b, y: -t * y / b,
    poles=_of(surely_not_zero, 1),
)
derivatives(e.floor_divide, None, None, poles=_of(surely_not_zero, 1))
derivatives(
    e.mod,
    lambda t, a, b, y: t,
    lambda t, a, b, y: -t * e.floor_divide(a, b),
    poles=_of(surely_not_zero, 1),
)


def _power_base(t: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    """Return t b a^(b-1), which is 0 for b = 0 whatever a is."""
    if isinstance(b, Constant) and b.value.size and bool((b.value == 2).all()):
        return t * (a * 2)
    if isinstance(b, Constant) and bool((b.value != 0).all()):
        return t * (b * e.power(a, b - 1))
    none = e.equal(b, 0)
    return t * (b * e.power(a, e.where(none, 1, b - 1)))


def _power_exponent(t: Variable, a: Variable, b: Variable, y: Variable) -> Variable:
    """Return t a^b log a; at a = 0 the power wins over the logarithm."""
    nothing = e.equal(a, 0)
    return t * e.where(nothing, 0, y) * e.log(e.where(nothing, 1, a))


derivatives(e.power, _power_base, _power_exponent, steep=_power_steep, poles=_power_pole)


def _chosen(t: Variable, better: Variable, equal: Variable) -> Variable:
    """Return t where a value was chosen, and half of it at ties."""
    return e.where(better, t, e.where(equal, t * 0.5, 0))


def _extreme(declaration: Declaration, better: Callable[..., Variable], *, skips_nan: bool = False) -> None:
    """Register the derivatives of the larger or smaller of two; for a kind that skips NaN, any number wins over NaN."""

    def wins(a: Variable, b: Variable) -> Variable:
        return e.logical_or(better(a, b), e.isnan(b)) if skips_nan else better(a, b)

    derivatives(
        declaration,
        lambda t, a, b, y: _chosen(t, wins(a, b), e.equal(a, b)),
        lambda t, a, b, y: _chosen(t, wins(b, a), e.equal(a, b)),
    )


_extreme(e.maximum, e.greater)
_extreme(e.minimum, e.less)
_extreme(e.fmax, e.greater, skips_nan=True)
_extreme(e.fmin, e.less, skips_nan=True)


def _not_zero(y: Variable) -> Variable:
    return e.where(e.equal(y, 0), 1, y)


def _over_square(t: Variable, a: Variable, b: Variable) -> Variable:
    """Return t / (a² + b²), and t at (0, 0)."""
    length = _not_zero(e.hypot(a, b))
    return t / length / length


derivatives(
    e.arctan2,
    lambda t, a, b, y: t * _over_square(b, a, b),
    lambda t, a, b, y: -t * _over_square(a, a, b),
)
derivatives(e.hypot, lambda t, a, b, y: t * a / _not_zero(y), lambda t, a, b, y: t * b / _not_zero(y))


def _share(a: Variable, b: Variable) -> Variable:
    """Return exp(a) / (exp(a) + exp(b)): 1/2 where both are infinity, 0 where both are minus infinity."""
    difference = a - b
    return e.sigmoid(e.where(e.isnan(difference), e.minimum(a, 0), difference))


derivatives(e.logaddexp, lambda t, a, b, y: t * _share(a, b), lambda t, a, b, y: t * _share(b, a))


def _dead_or(x: Variable, y: Variable) -> Variable:
    """Return x, but 0 where y is 0 and x is not finite: the factor of y in the product."""
    return e.where(e.logical_and(e.equal(y, 0), e.logical_not(e.isfinite(x))), 0, x)


derivatives(
    e.multiply_no_nan,
    lambda t, x, y, product: t * y,
    lambda t, x, y, product: t * _dead_or(x, y),
)
derivatives(e.copysign, lambda t, a, b, y: e.where(e.equal(e.signbit(a), e.signbit(b)), t, -t), None)

for _declaration in (e.sign, e.floor, e.ceil, e.trunc, e.round):
    derivatives(_declaration, None)

derivatives(e.negative, lambda t, x, y: -t)
derivatives(e.absolute, lambda t, x, y: t * e.sign(x))
derivatives(e.reciprocal, lambda t, x, y: -t * (y * y), poles=_of(surely_not_zero))
derivatives(e.sqrt, lambda t, x, y: t * 0.5 / y, steep=_of(surely_positive), poles=_of(surely_not_negative))
derivatives(e.cbrt, lambda t, x, y: t / (y * y * 3), steep=_of(surely_not_zero))
derivatives(e.exp, lambda t, x, y: t * y, poles=_always)
derivatives(e.exp2, lambda t, x, y: t * (y * math.log(2)), poles=_always)
derivatives(e.expm1, lambda t, x, y: t * (y + 1), poles=_always)
derivatives(e.log, lambda t, x, y: t / x, poles=_of(surely_positive))
derivatives(e.log2, lambda t, x, y: t / (x * math.log(2)), poles=_of(surely_positive))
derivatives(e.log10, lambda t, x, y: t / (x * math.log(10)), poles=_of(surely_positive))
derivatives(e.log1p, lambda t, x, y: t / (x + 1), poles=_of(surely_not_negative))
derivatives(e.sin, lambda t, x, y: t * e.cos(x))
derivatives(e.cos, lambda t, x, y: -t * e.sin(x))
derivatives(e.tan, lambda t, x, y: t * (y * y + 1), poles=_always)
derivatives(e.arcsin, lambda t, x, y: t / e.sqrt((1 - x) * (1 + x)), steep=_always, poles=_always)
derivatives(e.arccos, lambda t, x, y: -t / e.sqrt((1 - x) * (1 + x)), steep=_always, poles=_always)
derivatives(e.arctan, lambda t, x, y: t / (x * x + 1))
derivatives(e.sinh, lambda t, x, y: t * e.cosh(x), poles=_always)
derivatives(e.cosh, lambda t, x, y: t * e.sinh(x), poles=_always)
derivatives(e.tanh, lambda t, x, y: t * (1 - y * y))
derivatives(e.arcsinh, lambda t, x, y: t / e.hypot(x, 1))
derivatives(e.arccosh, lambda t, x, y: t / (e.sqrt(x - 1) * e.sqrt(x + 1)), steep=_always, poles=_always)
derivatives(e.arctanh, lambda t, x, y: t / ((1 - x) * (1 + x)), poles=_always)
derivatives(e.sigmoid, lambda t, x, y: t * (y * (1 - y)))
derivatives(e.softplus, lambda t, x, y: t * e.sigmoid(x))
derivatives(e.erf, lambda t, x, y: t * (e.exp(-x * x) * (2 / math.sqrt(math.pi))))
derivatives(e.erfc, lambda t, x, y: -t * (e.exp(-x * x) * (2 / math.sqrt(math.pi))))
derivatives(e.erfinv, lambda t, x, y: t * (e.exp(y * y) * (math.sqrt(math.pi) / 2)), poles=_always)
derivatives(e.gammaln, lambda t, x, y: t * e.digamma(x), poles=_always)
derivatives(e.digamma, lambda t, x, y: t * e.polygamma(1, x), poles=_always)
derivatives(e.polygamma, None, lambda t, n, x, y: t * e.polygamma(n + 1, x), poles=_always)
derivatives(e.logit, lambda t, x, y: t / (x * (1 - x)), poles=_always)
derivatives(
    e.xlogy,
    lambda t, a, b, y: t * e.log(b),
    lambda t, a, b, y: t * e.where(e.equal(a, 0), 0, a / b),
    steep=_of(surely_positive, 1),
    poles=_of(surely_positive, 1),
)
derivatives(
    e.xlog1py,
    lambda t, a, b, y: t * e.log1p(b),
    lambda t, a, b, y: t * e.where(e.equal(a, 0), 0, a / (b + 1)),
    steep=_of(surely_not_negative, 1),
    poles=_of(surely_not_negative, 1),
)
derivatives(
    e.betaln,
    lambda t, a, b, y: t * (e.digamma(a) - e.digamma(a + b)),
    lambda t, a, b, y: t * (e.digamma(b) - e.digamma(a + b)),
    poles=_always,
)


def _gamma_density(a: Variable, x: Variable) -> Variable:
    """Return the density of the gamma distribution, which is the slope of its share up to x."""
    return e.exp(e.xlogy(a - 1, x) - x - e.gammaln(a))


derivatives(e.gammainc, None, lambda t, a, x, y: t * _gamma_density(a, x), steep=_always, poles=_always)
derivatives(e.gammaincc, None, lambda t, a, x, y: -t * _gamma_density(a, x), steep=_always, poles=_always)


def _no_derivative_of_shape(node: Apply) -> Undefined:
    return Undefined(
        f"{node.op.name} has one with respect to its second argument alone, and none with respect to its first argument",
        node.provenance.source,
    )


@PULLBACKS.row(e.gammainc, e.gammaincc)
def _of_second_argument(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    _, second = _pullback(node, cotangents, wanted)
    return [_no_derivative_of_shape(node) if wanted[0] and cotangents[0] is not None else None, second]


@PUSHFORWARDS.row(e.gammainc, e.gammaincc)
def _of_second_argument_forward(node: Apply, tangents: Arriving) -> Derivatives:
    return _pushforward(node, tangents) if tangents[0] is None else [_no_derivative_of_shape(node)]


derivatives(e.where, None, lambda t, c, a, b, y: e.where(c, t, 0), lambda t, c, a, b, y: e.where(c, 0, t))
derivatives(
    e.clip,
    lambda t, x, low, high, y: e.where(e.logical_and(e.greater_equal(x, low), e.less_equal(x, high)), t, 0),
    lambda t, x, low, high, y: e.where(e.logical_and(e.less(x, low), e.less_equal(low, high)), t, 0),
    lambda t, x, low, high, y: e.where(e.greater(e.maximum(x, low), high), t, 0),
)
derivatives(e.CAST, lambda t, x, y: t)
