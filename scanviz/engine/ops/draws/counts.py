"""Distributions of counts: binomial, poisson and multinomial.

The conventions are those of :mod:`~scanviz.engine.ops.draws.distributions`; all is computed in float64, so counts
above 2**53 are rounded.  Element i uses block i; words 0 and 1 of the block in lane j serve attempt j.

Expected count below 10
    Inversion: with u in [0, 1) of word 0 in lane 0, the first k whose running sum of probabilities exceeds u,
    the probabilities each made from the one before; at most 128 steps (beyond: below 1e-80).
Expected count 10 or more
    Hörmann's transformed rejection, in bounded time: a hat over the probabilities of the counts is the image of a uniform pair,
    so most pairs are accepted by two comparisons and about one in seven needs the probability itself.  A chance p above one half
    draws the failures instead.
multinomial
    Up to 32 trials: trial t is a categorical draw with u of word 0 in lane t.  More: category c in turn is a
    binomial of the trials left with the chance ``p[c] / (p[c] + p[c+1] + …)``, with block ``c * elements +
    i``.

Sources: W. Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), algorithm PTRS, and
"The generation of binomial random variates" (1993), algorithm BTRS.  Probabilities are C. Loader's, "Fast and accurate
computation of binomial probabilities" (2000): written as deviances, they do not cancel for large counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from scanviz.engine.ops.draws.discrete import pick
from scanviz.engine.ops.draws.distributions import Drawn
from scanviz.engine.ops.draws.parameters import (
    DType,
    Parameter,
    Shape,
    flat,
    probabilities,
    reals,
    require,
    size_of,
    whole_dtype,
    wholes,
)
from scanviz.engine.ops.draws.philox import Words, advance, blocks_at, draw_blocks
from scanviz.engine.ops.draws.unit_interval import Doubles, first_accepted, from_zero, inside

_INVERSION_BELOW = 10.0
_INVERSION_STEPS = 128
_FEW_TRIALS = 32
_LARGEST_EXACT = 2**53
_Chosen = npt.NDArray[np.int64]


def binomial(
    state: Words, shape: Shape = (), n: Parameter = 1, p: Parameter = 0.5, dtype: DType = "int64"
) -> Drawn:
    """Draw how many of ``n`` trials succeed, each with probability ``p``.

    Parameters
    ----------
    state : numpy.ndarray
        Generator state, uint64 of shape (4,).
    shape : sequence of int
        Shape of the draw.
    n : array_like
        Trials, integers from 0 to 2**53, broadcasting to ``shape``.
    p : array_like
        Probabilities, broadcasting to ``shape``.
    dtype : dtype
        Integer dtype that holds ``n``.

    Returns
    -------
    state, value : numpy.ndarray
        The state after the draw, and an array of ``shape`` and ``dtype``.

    Raises
    ------
    ScanvizTypeError
        If ``n`` is not an integer.
    ScanvizValueError
        If ``n`` is negative or too large, or ``p`` is NaN or outside of [0, 1].
    ShapeError
        If a parameter does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> binomial(seed_state(1), (3,), n=10, p=[0.0, 1.0, 1.0])[1]
    array([ 0, 10, 10])
    """
    kind = whole_dtype("binomial", dtype)
    count = size_of("binomial", shape)
    trials = _trials("binomial", n, shape, kind)
    chance = reals("binomial", "p", p, shape)
    require((chance >= 0) & (chance <= 1), "binomial", "p", chance, "0 to 1")
    value = _binomial(state, flat(trials, shape), flat(chance, shape))
    return advance(state, count), value.reshape(shape).astype(kind)


def _trials(distribution: str, n: Parameter, shape: Shape, kind: np.dtype[Any]) -> Doubles:
    trials = wholes(distribution, "n", n, shape)
    most = min(int(np.iinfo(kind).max), _LARGEST_EXACT)
    require((trials >= 0) & (trials <= most), distribution, "n", trials, f"0 to {most}, for {kind}")
    return trials.astype(np.float64)


def poisson(state: Words, shape: Shape = (), lam: Parameter = 1.0, dtype: DType = "int64") -> Drawn:
    """Draw how many events happen where ``lam`` are expected.

    Parameters and results are as for :func:`binomial`.

    Raises
    ------
    ScanvizValueError
        If ``lam`` is negative or NaN, or so large that ``dtype`` may not hold the count.
    ShapeError
        If it does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> poisson(seed_state(1), (2,), lam=[0.0, 0.0])[1]
    array([0, 0])
    """
    kind = whole_dtype("poisson", dtype)
    count = size_of("poisson", shape)
    expected_count = reals("poisson", "lam", lam, shape)
    most = int(np.iinfo(kind).max)
    reach = expected_count + 10 * np.sqrt(np.maximum(expected_count, 0)) + 20
    require(
        (expected_count >= 0) & (reach < most),
        "poisson",
        "lam",
        expected_count,
        f"0 or more, and counts that fit in {kind}",
    )
    value = np.minimum(_poisson(state, flat(expected_count, shape)), _largest_below(most))
    return advance(state, count), value.reshape(shape).astype(kind)


def _largest_below(most: int) -> float:
    """Return the largest float64 that is at most ``most``."""
    return float(most) if float(most) <= most else math.nextafter(float(most), 0)


def multinomial(state: Words, shape: Shape, n: Parameter, pvals: Parameter, dtype: DType = "int64") -> Drawn:
    """Draw how many of ``n`` trials fall into each category; ``pvals`` has them on its last axis.

    Parameters are as for :func:`binomial`; ``n`` and ``pvals.shape[:-1]`` broadcast to ``shape``.

    Returns
    -------
    state, value : numpy.ndarray
        The state after the draw, and counts of shape ``(*shape, k)`` that sum to ``n``.

    Raises
    ------
    ScanvizTypeError
        If ``n`` is not an integer.
    ScanvizValueError
        If ``n`` is negative or too large, or ``pvals`` are not probabilities that sum to 1 (to 1e-4).
    ShapeError
        If there is no category, or the shapes do not fit.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> multinomial(seed_state(1), (), 5, [0.0, 1.0])[1]
    array([0, 5])
    """
    kind = whole_dtype("multinomial", dtype)
    count = size_of("multinomial", shape)
    trials = flat(_trials("multinomial", n, shape, kind), shape)
    weights = probabilities("multinomial", "pvals", pvals, shape)
    categories = weights.shape[-1]
    if weights.ndim > 1:
        weights = np.broadcast_to(weights, (*shape, categories)).reshape(count, categories)
    value = np.zeros((count, categories))
    few = trials <= _FEW_TRIALS
    if few.any():
        _few_trials(state, np.where(few, trials, 0), weights, value)
    if not few.all():
        _many_trials(state, np.where(few, 0, trials), weights, value)
    return advance(state, count * max(categories - 1, 1)), value.reshape((*shape, categories)).astype(kind)


def _few_trials(state: Words, trials: Doubles, weights: Doubles, value: Doubles) -> None:
    sums = np.cumsum(weights, axis=-1)
    for trial in range(int(trials.max())):
        rows = np.flatnonzero(trials > trial)
        u = from_zero(blocks_at(state, rows, trial)[:, 0])
        value[rows, pick(sums if sums.ndim == 1 else sums[rows], u)] += 1


def _many_trials(state: Words, trials: Doubles, weights: Doubles, value: Doubles) -> None:
    rest = np.cumsum(weights[..., ::-1], axis=-1)[..., ::-1]
    left = trials.copy()
    for category in range(weights.shape[-1] - 1):
        with np.errstate(invalid="ignore"):
            chance = np.where(rest[..., category] > 0, weights[..., category] / rest[..., category], 0.0)
        drawn = _binomial(advance(state, category * len(left)), left, np.broadcast_to(chance, left.shape))
        value[:, category] += drawn
        left -= drawn
    value[:, -1] += left


def _binomial(state: Words, trials: Doubles, chance: Doubles) -> Doubles:
    """Return one count for each element of shape (n,); they take ``n`` blocks."""
    flipped = chance > 0.5
    p = np.where(flipped, 1 - chance, chance)
    expected = trials * p
    value = np.empty(len(trials))
    low, high = np.flatnonzero(expected < _INVERSION_BELOW), np.flatnonzero(expected >= _INVERSION_BELOW)
    if len(low):
        n, odds = trials[low], p[low] / (1 - p[low])
        none = np.exp(n * np.log1p(-p[low]))
        value[low] = _invert(
            _first_uniforms(state, low, len(trials)), none, lambda k, at: odds[at] * (n[at] - k + 1) / k
        )
    if len(high):
        n, p = trials[high], p[high]
        value[high] = rejected_binomial(state, high, n, p)
    return np.where(flipped, trials - value, value)


def _poisson(state: Words, expected: Doubles) -> Doubles:
    """Return one count for each element of shape (n,); they take ``n`` blocks."""
    value = np.empty(len(expected))
    low, high = np.flatnonzero(expected < _INVERSION_BELOW), np.flatnonzero(expected >= _INVERSION_BELOW)
    if len(low):
        mean = expected[low]
        value[low] = _invert(
            _first_uniforms(state, low, len(expected)), np.exp(-mean), lambda k, at: mean[at] / k
        )
    if len(high):
        value[high] = rejected_poisson(state, high, expected[high])
    return value


def _first_uniforms(state: Words, elements: _Chosen, count: int) -> Doubles:
    blocks = draw_blocks(state, count) if len(elements) == count else blocks_at(state, elements)
    return from_zero(blocks[:, 0])


def _invert(u: Doubles, probability_of_0: Doubles, ratio: Callable[[int, _Chosen], Doubles]) -> Doubles:
    """Return the first k whose running sum exceeds ``u``; ``ratio(k, elements)`` is P(k) / P(k - 1)."""
    value = np.zeros(len(u))
    pending = np.flatnonzero(u >= probability_of_0)
    probability, total, u = probability_of_0[pending], probability_of_0[pending], u[pending]
    for k in range(1, _INVERSION_STEPS + 1):
        if not len(pending):
            break
        factor = ratio(k, pending)
        on = factor > 0  # past the last possible count, where only rounding of the sum can lead
        probability = probability * factor
        total = total + probability
        value[pending[on]] = k
        going = on & (u >= total)
        pending, probability, total, u = pending[going], probability[going], total[going], u[going]
    return value


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
