"""Counts in the scalar language: poisson and binomial draws, by inversion where few are expected, else by rejection.

Sources and conventions stand with :mod:`~scanviz.engine.ops.draws.counts` and its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scanviz.engine.ops.formulas.elementwise import larger
from scanviz.engine.ops.formulas.words import (
    ATTEMPTS,
    NUMBER,
    block_at,
    from_zero,
    inside,
    natural_log,
)
from scanviz.engine.scalar.expression import (
    Expression,
    carried,
    cast,
    constant,
    like,
    loop,
    primitive,
    select,
    table,
    when,
)

INVERSION_BELOW, INVERSION_STEPS = 10.0, 128


def _inverted(
    unit: Expression, none: Expression, ratio: Callable[[Expression], Expression], name: str
) -> Expression:
    """Return the first count whose running sum of probabilities exceeds a number; ``ratio(k)`` is P(k) / P(k - 1)."""
    value, chance, total, k, going = (carried(f"{name}_{part}") for part in ("value", "p", "sum", "k", "on"))
    factor = ratio(k + 1)
    on = factor > 0  # past the last possible count, where only rounding of the sum can lead
    start = {"value": like(0.0, none), "p": none, "sum": none, "k": like(0.0, none), "on": unit >= none}
    step = {
        "value": select(on, k + 1, value),
        "p": chance * factor,
        "sum": total + chance * factor,
        "k": k + 1,
        "on": on & (unit >= total + chance * factor),
    }
    found = loop(
        {f"{name}_{part}": expression for part, expression in start.items()},
        going,
        {f"{name}_{part}": expression for part, expression in step.items()},
        INVERSION_STEPS,
    )
    return found[f"{name}_value"]


class _Hat(NamedTuple):
    """Hörmann's hat over the probabilities of counts, in his notation but for the names."""

    a: Expression
    b: Expression
    centre: Expression
    squeeze: Expression
    scale: Expression
    limit: Expression


def _rejected(hat: _Hat, log_probability: Callable[[Expression], Expression], name: str) -> Expression:
    """Return an accepted count: most pairs are accepted by ``squeeze`` alone, the others by their probability."""
    lane = carried(f"{name}_lane")
    first, second, _, _ = block_at(NUMBER, lane)
    u, v = inside(first) - 0.5, inside(second)
    edge = 0.5 - primitive("absolute", u)
    k = primitive("floor", (2 * hat.a / edge + hat.b) * u + hat.centre)
    quick = (edge >= 0.07) & (v <= hat.squeeze)
    tested = ~quick & (k >= 0) & (k <= hat.limit)
    bound = natural_log(v * hat.scale / (hat.a / (edge * edge) + hat.b))
    accepted = when(tested, bound <= log_probability(k), quick)
    found = loop(
        {
            f"{name}_count": like(0.0, hat.a),
            f"{name}_done": constant(False, "bool"),
            f"{name}_lane": constant(0, "uint64"),
        },
        ~carried(f"{name}_done"),
        {f"{name}_count": k, f"{name}_done": accepted, f"{name}_lane": lane + 1},
        ATTEMPTS,
    )
    return found[f"{name}_count"]


_SMALL_RESTS = (0.0, *(math.lgamma(k + 1) - k * math.log(k) + k for k in range(1, 16)))


def _log_factorial_rest(k: Expression) -> Expression:
    """Return ``log(k!) - k log(k) + k``: Stirling's series from 16 on, a table below."""
    series = larger(k, like(16.0, k))
    square = 1 / (series * series)
    correction = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / series
    small = table(cast(select(k <= 15.0, k, 15.0), "int64"), _SMALL_RESTS, "float64")
    return select(k < 16, small, 0.5 * natural_log(2 * math.pi * series) + correction)


def _deviance(k: Expression, mean: Expression) -> Expression:
    """Return ``k log(k / mean) + mean - k`` without cancellation near ``k = mean``."""
    positive = select(k > 0, (k - mean) / mean, 0.0)
    logarithm = primitive("log1p", positive)
    return select(k > 0, mean * ((1 + positive) * logarithm - positive), mean)


def poisson(mean: Expression) -> Expression:
    """Return a Poisson count, a float64: by inversion where few are expected, else by rejection."""
    few = mean < INVERSION_BELOW
    unit = from_zero(block_at(NUMBER, 0)[0])
    counted = _inverted(unit, primitive("exp", -mean), lambda k: mean / k, "few")
    value = when(few, counted, like(0.0, mean))
    root = primitive("sqrt", mean)
    b = 0.931 + 2.53 * root
    hat = _Hat(
        -0.059 + 0.02483 * b,
        b,
        mean + 0.43,
        0.9277 - 3.6224 / (b - 2),
        1.1239 + 1.1328 / (b - 3.4),
        like(math.inf, mean),
    )
    many = _rejected(hat, lambda k: -_deviance(k, mean) - _log_factorial_rest(k), "many")
    return when(~few, many, value)


def binomial(trials: Expression, chance: Expression) -> Expression:
    """Return a binomial count, a float64: by inversion where few are expected, else by rejection; of failures above a half."""
    flipped = chance > 0.5
    p = select(flipped, 1 - chance, chance)
    expected = trials * p
    few = expected < INVERSION_BELOW
    unit, odds = from_zero(block_at(NUMBER, 0)[0]), p / (1 - p)
    none = primitive("exp", trials * primitive("log1p", -p))
    counted = _inverted(unit, none, lambda k: odds * (trials - k + 1) / k, "few")
    value = when(few, counted, like(0.0, trials))
    found = when(~few, _rejected_binomial(trials, p), value)
    return select(flipped, trials - found, found)


def _rejected_binomial(n: Expression, p: Expression) -> Expression:
    spread = primitive("sqrt", n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    hat = _Hat(a, b, n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread, n)

    def log_probability(k: Expression) -> Expression:
        failures = n - k
        successes = _log_factorial_rest(k) + _deviance(k, n * p)
        return -successes - _log_factorial_rest(failures) - _deviance(failures, n * (1 - p))

    highest = log_probability(primitive("floor", (n + 1) * p))
    return _rejected(hat, lambda k: log_probability(k) - highest, "many")
