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
computation of binomial probabilities" (2000): written as deviances, they do not cancel for large counts.  Both are formulas
(:mod:`~scanviz.engine.ops.formulas.counts`), which machine code is made of too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
from scanviz.engine.ops.draws.philox import Words, advance, blocks_at
from scanviz.engine.ops.draws.unit_interval import Doubles, from_zero

_FEW_TRIALS = 32
_LARGEST_EXACT = 2**53


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
    chance = reals("binomial", "p", p, shape, allowed="0 to 1")
    value = _numbers("binomial", state, flat(trials, shape), flat(chance, shape))
    return advance(state, count), value.reshape(shape).astype(kind)


def _numbers(name: str, state: Words, *parameters: Doubles) -> Doubles:
    from scanviz.engine.ops.formulas.draws import numbers_by_formula  # 10 ms, when one is drawn

    return numbers_by_formula(name, state, parameters)


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
    value = np.minimum(_numbers("poisson", state, flat(expected_count, shape)), _largest_below(most))
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
        chances = np.broadcast_to(chance, left.shape)
        drawn = _numbers("binomial", advance(state, category * len(left)), left, chances)
        value[:, category] += drawn
        left -= drawn
    value[:, -1] += left
