"""Hörmann's transformed rejection: counts that are expected to be 10 or more, in bounded time.

A hat over the probabilities of the counts is the image of a uniform pair, so most pairs are accepted by two
comparisons and about one in seven needs the probability itself.  All in float64; attempt j of an element
takes words 0 and 1 of its block in lane j.

Sources: W. Hörmann, "The transformed rejection method for generating Poisson random variables" (1993),
algorithm PTRS, and "The generation of binomial random variates" (1993), algorithm BTRS.  Probabilities are C.
Loader's, "Fast and accurate computation of binomial probabilities" (2000): written as deviances, they do not
cancel for large counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from scanviz.engine.ops.philox import Words, blocks_at
from scanviz.engine.ops.unit_interval import Doubles, first_accepted, inside

_Chosen = npt.NDArray[np.int64]
_Log = Callable[[Doubles, _Chosen], Doubles]


def rejected_poisson(state: Words, elements: _Chosen, mean: Doubles) -> Doubles:
    """Return one Poisson count for each of ``elements`` (numbers of blocks), with ``mean`` of 10 or more."""
    root = np.sqrt(mean)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    scale = 1.1239 + 1.1328 / (b - 3.4)

    def log_probability(k: Doubles, at: _Chosen) -> Doubles:
        return -_deviance(k, mean[at]) - _log_factorial_rest(k)

    limit = np.full(len(mean), np.inf)
    return _transformed_rejection(
        state, elements, a, b, mean + 0.43, 0.9277 - 3.6224 / (b - 2), scale, limit, log_probability
    )


def rejected_binomial(state: Words, elements: _Chosen, n: Doubles, p: Doubles) -> Doubles:
    """Return one binomial count for each of ``elements``, with ``n * p`` of 10 or more and ``p`` up to 1/2."""
    spread = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    scale = (2.83 + 5.1 / b) * spread
    mode = np.floor((n + 1) * p)

    def log_probability(k: Doubles, at: _Chosen) -> Doubles:
        failures, tries = n[at] - k, n[at]
        successes = _log_factorial_rest(k) + _deviance(k, tries * p[at])
        return -successes - _log_factorial_rest(failures) - _deviance(failures, tries * (1 - p[at]))

    highest = log_probability(mode, np.arange(len(n)))

    def relative(k: Doubles, at: _Chosen) -> Doubles:
        return log_probability(k, at) - highest[at]

    return _transformed_rejection(state, elements, a, b, n * p + 0.5, 0.92 - 4.2 / b, scale, n, relative)


def _transformed_rejection(
    state: Words,
    elements: _Chosen,
    a: Doubles,
    b: Doubles,
    centre: Doubles,
    squeeze: Doubles,
    scale: Doubles,
    limit: Doubles,
    log_probability: _Log,
) -> Doubles:
    """Return one accepted count for each element, in Hörmann's notation but for the names.

    The hat is the image of a uniform pair (u, v) under ``k = floor((2a / (1/2 - |u|) + b) u + centre)``; most
    pairs are accepted by ``squeeze`` alone, the others by ``log_probability(k, positions)``.
    """

    def attempt(pending: _Chosen, lane: int) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        uniforms = inside(blocks_at(state, elements[pending], lane)[:, :2])
        u, v = uniforms[:, 0] - 0.5, uniforms[:, 1]
        edge = 0.5 - np.abs(u)
        k = np.floor((2 * a[pending] / edge + b[pending]) * u + centre[pending])
        accepted = (edge >= 0.07) & (v <= squeeze[pending])
        tested = np.flatnonzero(~accepted & (k >= 0) & (k <= limit[pending]))
        if len(tested):
            at, edge, v = pending[tested], edge[tested], v[tested]
            hat = np.log(v * scale[at] / (a[at] / (edge * edge) + b[at]))
            accepted[tested] = hat <= log_probability(k[tested], at)
        return k, accepted

    return first_accepted(len(elements), attempt)


def _deviance(k: Doubles, mean: Doubles) -> Doubles:
    """Return ``k log(k / mean) + mean - k`` without cancellation near ``k = mean``."""
    relative = (k - mean) / mean
    positive = np.where(k > 0, relative, 0.0)
    return np.where(k > 0, mean * ((1 + positive) * np.log1p(positive) - positive), mean)


def _log_factorial_rest(k: Doubles) -> Doubles:
    """Return ``log(k!) - k log(k) + k``: Stirling's series from 16 on, a table below."""
    series = np.maximum(k, 16.0)
    square = 1 / (series * series)
    correction = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / series
    table = _SMALL_RESTS[np.minimum(k, 15.0).astype(np.int64)]
    return np.where(k < 16, table, 0.5 * np.log(2 * math.pi * series) + correction)


_SMALL_RESTS = np.array([0.0, *(math.lgamma(k + 1) - k * math.log(k) + k for k in range(1, 16))])
