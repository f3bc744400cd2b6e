"""Checks of the parameters of draws in the scalar language, for backends that write code of their own.

A parameter that may be out of range is left to NumPy's draw, which raises the error, or finds that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops import random
from scanviz.engine.scalar.expression import Expression
from scanviz.engine.scalar.expression import primitive as scalar

Check = Callable[..., Expression]
COUNTED = 1e9  # NumPy's draw checks larger expectations and numbers of trials


def _finite(value: Expression) -> Expression:
    return scalar("absolute", value) < math.inf


def _spread(loc: Expression, scale: Expression) -> Expression:
    return _finite(loc) & (scale >= 0) & _finite(scale)


def _between(loc: Expression, scale: Expression, low: Expression, high: Expression) -> Expression:
    return _finite(loc) & (scale > 0) & _finite(scale) & (low <= high) & (low < math.inf) & (high > -math.inf)


def _held_between(limits: Any, low: Expression, high: Expression) -> Expression:
    return (low >= int(limits.min)) & (high - 1 <= min(int(limits.max), np.iinfo(np.int64).max))


def _expected_within(limits: Any, lam: Expression) -> Expression:
    """Return whether an expectation plus more than ten standard deviations fits the dtype."""
    return lam < min(COUNTED, (math.sqrt(int(limits.max) + 5) - 5) ** 2)


def _tried_within(limits: Any, n: Expression, p: Expression) -> Expression:
    return n <= min(COUNTED, int(limits.max))


class Sampler(NamedTuple):
    """Checks of a distribution's parameters.

    Attributes
    ----------
    fits : callable
        ``fits(*parameters)``: whether parameters are surely in range.
    held : str or None
        The dtype in which parameters are checked, None for that of the formula.
    within : callable or None
        For integers, ``within(limits, *parameters)``: whether the dtype surely holds what is drawn.
    """

    fits: Check
    held: str | None = None
    within: Check | None = None


SAMPLERS = {
    random.UNIFORM: Sampler(lambda low, high: (high - low >= 0) & _finite(high - low) & _finite(low)),
    random.NORMAL: Sampler(_spread),
    random.LOGNORMAL: Sampler(_spread),
    random.LAPLACE: Sampler(_spread),
    random.GUMBEL: Sampler(_spread),
    random.EXPONENTIAL: Sampler(lambda scale: (scale >= 0) & _finite(scale)),
    random.GAMMA: Sampler(lambda shape, scale: (shape > 0) & _finite(shape) & (scale >= 0) & _finite(scale)),
    random.BETA: Sampler(lambda a, b: (a > 0) & _finite(a) & (b > 0) & _finite(b)),
    random.TRUNCATED_NORMAL: Sampler(_between),
    random.BERNOULLI: Sampler(lambda p: (p >= 0) & (p <= 1)),
    random.INTEGERS_BETWEEN: Sampler(lambda low, high: low < high, "int64", _held_between),
    random.POISSON: Sampler(lambda lam: lam >= 0, within=_expected_within),
    random.BINOMIAL: Sampler(lambda n, p: (n >= 0) & (p >= 0) & (p <= 1), within=_tried_within),
}


def check_of(op: Op) -> tuple[Check, str | None]:
    """Return the test whether the parameters of a draw are surely in range, and the dtype of its arguments.

    The dtype is None where it is that of the formula.
    """
    sampler = SAMPLERS[op.declaration]

    def fits(*parameters: Expression) -> Expression:
        good = sampler.fits(*parameters)
        if sampler.within is not None:
            good = good & sampler.within(np.iinfo(op.parameters.dtype), *parameters)
        return good

    return fits, sampler.held
