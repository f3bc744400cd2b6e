"""Intervals of ratios between two programs that ran several times, by exchanging which run was of which program.

Were both programs the same, it would be no matter which run is called A's and which B's.  So the labels are exchanged in all ways
(or in many), and what the statistic comes to in all but a few of them is what chance can do (R. A. Fisher, "The Design of
Experiments", 1935).  Rounds in which both ran one after the other are exchanged within the round: what drifts from round to round,
the load of the machine first of all, then cannot look like a difference.  Runs of two series made apart are exchanged freely.

All figures of a family (functions and loops; operations) are judged by one bound, for the largest statistic of any of them, with
the labels exchanged in all figures at once (P. Westfall and S. Young, "Resampling-Based Multiple Testing", 1993): figures that rise
and fall together, as those of one run do, are not paid for twice.

The statistic is that of Student, of values limited to twice their median size (P. Huber, "Robust Estimation of a Location
Parameter", Annals of Mathematical Statistics 35, 1964): one run that met something else on the machine neither makes a difference
nor hides one.  The bounds of a ratio are those of the ratios that would not be rejected.

Where there are too few runs for so many exchanges, Student's and Welch's distributions take their place.  Nothing here differs from
one time to the next: the exchanges, where they are drawn, are drawn from a fixed seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Callable[[Array], Array]  # of shifts, figure by figure along the last axis
MOST = 4096  # exchanges that are looked at
LIMIT = 2.0  # times the median size: what is larger counts as this
RESOLUTION = 1e-3  # a difference of logarithms below is one of the histograms that medians are read from


class Bounds(NamedTuple):
    """A difference of logarithms and what chance leaves of it."""

    middle: float
    low: float
    high: float


def between_rounds(differences: Sequence[Sequence[float]], doubt: float) -> list[Bounds]:
    """Return for each figure the difference between two programs that ran in turns, with bounds that hold for all at once.

    Parameters
    ----------
    differences : sequence of sequence of float
        For each figure, of each round, the logarithm of B's time less that of A's.
    doubt : float
        How often any of the bounds may miss, as a share.

    Examples
    --------
    >>> slower, same = [0.2, 0.19, 0.21, 0.2, 0.22, 0.2, 0.18, 0.21], [0.01, -0.02, 0.0, 0.01, -0.01, 0.02, 0.0, -0.01]
    >>> [bounds.low > 0 for bounds in between_rounds([slower, same], 0.05)]
    [True, False]
    """
    values = np.array(differences, np.float64)
    if not values.size:
        return []
    rounds = values.shape[1]
    limit = _limit(_statistics(values, _signs(rounds)), doubt)
    if limit is None:
        return [_student(row, doubt / len(values)) for row in values]
    return _inverted(*_of_rounds(values), limit)


def _of_rounds(differences: Array) -> tuple[Array, Statistic]:
    """Return the averages of all two rounds, by figure, and the statistic of what is left when a shift is taken off."""
    one = np.ones(differences.shape[1])
    first, second = np.triu_indices(len(one))
    averages = (differences[:, first] + differences[:, second]) / 2
    return averages, lambda shifts: _limited(differences - shifts[..., None]) @ one / math.sqrt(len(one))


def between_series(
    before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], doubt: float
) -> list[Bounds]:
    """Return for each figure the difference between two series of runs, with bounds that hold for all at once.

    Parameters
    ----------
    before, after : sequence of sequence of float
        For each figure, of each run of A and of B, the logarithm of its time.
    doubt : float
        How often any of the bounds may miss, as a share.
    """
    old, new = np.array(before, np.float64), np.array(after, np.float64)
    if not old.size or not new.size:
        return []
    labels = _labels(old.shape[1], new.shape[1])
    limit = _limit(_statistics(_centred(np.hstack([old, new])), labels), doubt)
    if limit is None:
        return [_welch(x, y, doubt / len(old)) for x, y in zip(old, new, strict=True)]
    return _inverted(*_of_series(old, new, labels[0]), limit)


def _of_series(before: Array, after: Array, label: Array) -> tuple[Array, Statistic]:
    """Return the differences of all two runs, by figure, and the statistic when a shift is taken off the second series."""
    share = label / math.sqrt((label**2).sum())

    def statistic(shifts: Array) -> Array:
        left = after - shifts[..., None]
        both = np.concatenate([np.broadcast_to(before, (*left.shape[:-1], before.shape[-1])), left], axis=-1)
        return _limited(_centred(both)) @ share

    return (after[:, :, None] - before[:, None]).reshape(len(after), -1), statistic


def drift(values: Sequence[float]) -> float:
    """Return by how much a series moved from its first half to its second, its middle run left out.

    Examples
    --------
    >>> drift([1.0, 1.0, 3.0, 3.0]), drift([1.0])
    (2.0, 0.0)
    """
    half = len(values) // 2
    return abs(float(np.median(values[-half:]) - np.median(values[:half]))) if half else 0.0


def _signs(rounds: int) -> Array:
    """Return which rounds are turned round, by exchange; the first exchange turns none, and no two are mirror images."""
    if 2 ** (rounds - 1) <= MOST:
        return np.array([(1.0, *signs) for signs in itertools.product((1.0, -1.0), repeat=rounds - 1)])
    drawn = np.random.default_rng(rounds).choice((1.0, -1.0), (MOST, rounds))
    drawn[0] = 1.0
    return drawn


def _labels(before: int, after: int) -> Array:
    """Return the exchanges of two series: 1 for what is called B's, scaled so that each row sums to 0."""
    runs = before + after
    if math.comb(runs, after) <= 2 * MOST:
        chosen = [list(range(before, runs))]
        chosen += [
            list(some) for some in itertools.combinations(range(runs), after) if list(some) != chosen[0]
        ]
    else:
        random = np.random.default_rng(runs)
        chosen = [
            list(range(before, runs)),
            *(list(random.permutation(runs)[:after]) for _ in range(MOST - 1)),
        ]
    labels = np.zeros((len(chosen), runs))
    for row, some in zip(labels, chosen, strict=True):
        row[some] = 1.0
    return labels - after / runs


def _centred(values: Array) -> Array:
    return values - np.median(values, axis=-1, keepdims=True)


def _statistics(values: Array, exchanges: Array) -> Array:
    """Return Student's statistic, as a share of the largest there can be, by exchange and figure."""
    norms = np.sqrt((exchanges**2).sum(axis=1))
    statistics: Array = exchanges @ _limited(values).T / norms[:, None]
    return statistics


def _limited(values: Array) -> Array:
    """Return runs limited to twice their median size, scaled so that their squares sum to 1 where none is below the resolution."""
    limit = np.maximum(LIMIT * np.median(np.abs(values), axis=-1, keepdims=True), RESOLUTION)
    values = np.clip(values, -limit, limit)
    limited: Array = values / np.sqrt(
        (np.maximum(np.abs(values), RESOLUTION) ** 2).sum(axis=-1, keepdims=True)
    )
    return limited


def _limit(statistics: Array, doubt: float) -> float | None:
    """Return what the largest statistic exceeds in that share of the exchanges; None where there are too few of them."""
    largest = np.sort(np.abs(statistics).max(axis=1))[::-1]
    allowed = math.floor(doubt * len(largest) + 1e-9)
    return float(largest[allowed]) if allowed >= 1 else None


def _inverted(differences: Array, statistic: Statistic, limit: float) -> list[Bounds]:
    """Return for each figure the shifts that its statistic does not reject, around the middle of what was found.

    Where the statistic passes the limit is found by halving what is between, for all figures and both sides at once.
    """
    middle = np.median(differences, axis=1)
    reach = np.abs(differences - middle[:, None]).max(axis=1) * 4 + 4 * RESOLUTION
    sign = np.array([[-1.0], [1.0]])
    inside, outside = np.tile(middle, (2, 1)), middle + sign * reach
    for _ in range(40):
        shifts = (inside + outside) / 2
        rejected = -sign * statistic(shifts) > limit
        inside, outside = np.where(rejected, inside, shifts), np.where(rejected, shifts, outside)
    return [Bounds(*numbers) for numbers in zip(middle.tolist(), *outside.tolist(), strict=True)]


def _student(differences: Array, doubt: float) -> Bounds:
    """Return the bounds of the mean of a few differences."""
    count, middle = len(differences), float(differences.mean())
    if count < 2:
        return Bounds(middle, -math.inf, math.inf)
    error = max(float(differences.std(ddof=1)), RESOLUTION) / math.sqrt(count) * quantile(doubt, count - 1)
    return Bounds(middle, middle - error, middle + error)


def _welch(before: Array, after: Array, doubt: float) -> Bounds:
    """Return the bounds of the difference of two means (B. L. Welch, Biometrika 34, 1947)."""
    middle = float(after.mean() - before.mean())
    if min(len(before), len(after)) < 2:
        return Bounds(middle, -math.inf, math.inf)
    shares = [float(side.var(ddof=1)) / len(side) for side in (before, after)]
    variance, error = sum(shares), 0.0
    if variance > 1e-18:
        weights = [share**2 / (len(side) - 1) for share, side in zip(shares, (before, after), strict=True)]
        freedom = math.floor(variance**2 / sum(weights) + 1e-9)  # with few runs, unrounded misses too often
        error = quantile(doubt, freedom) * math.sqrt(variance)
    return Bounds(middle, middle - error, middle + error)


def quantile(doubt: float, freedom: float) -> float:
    """Return Student's quantile for both sides."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1, freedom), 1 - doubt / 2))
