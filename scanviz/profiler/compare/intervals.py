"""Confidence intervals of time ratios, one for each figure that two programs share.

**Several runs of both**: each run gives one number, the logarithm of its time.  Numbers far from the others are limited, so
that one disturbed run neither creates a difference nor hides one.  Rounds, in which both programs ran one after
the other, get Student's interval of their differences: load that drifts from round to round cancels.  Series made apart get
Welch's.

**One run of either**: the differences between runs are unknown.  The interval combines the spread of the run's own steps, the
difference of average and median, and a floor for differences between runs: the clock's frequency, the layout of memory, other
programs.

A comparison makes many intervals.  They all hold at once in 95 of 100 comparisons (Bonferroni); operations, which are many,
get half of the doubt, functions and loops the other half.  Nothing here is random.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.profiler.compare.figures import FLOOR_COLD, Array, Estimate, Figure, Key, Statistic

CONFIDENCE = 0.95  # of all intervals of a comparison together
FLOOR_REPEATED = 0.02  # never called a difference: between several runs,
FLOOR_ONCE = 0.10  # and between single runs
LIMIT = 3.0  # outliers are moved to this many median distances from the median
FEWEST_LIMITED = 5
RESOLUTION = 1e-3  # of a logarithm: medians come from histograms of this resolution

Runs = Mapping[int, Figure]  # by the number of the run
Side = Mapping[Key, Runs]


class ConfidenceInterval(NamedTuple):
    """A ratio and its confidence bounds.

    Attributes
    ----------
    ratio, low, high : float
        The ratio and its bounds.
    of : str
        Kind of number in each run: ``"mean"``, ``"median"`` or ``"cpu time"``.
    """

    ratio: float
    low: float
    high: float
    of: Statistic = "mean"


def intervals(
    before: Side, after: Side, counts: tuple[int, int], *, rounds: bool
) -> dict[Key, ConfidenceInterval]:
    """Return the ratio of B to A, with its bounds, of each figure that was timed in both.

    Parameters
    ----------
    before, after : mapping
        Measured figures of A and of B, by key and run.
    counts : tuple of int
        Number of runs of either program.
    rounds : bool
        Whether the runs of one number were made one after the other.
    """
    found: dict[Key, ConfidenceInterval] = {}
    families: dict[bool, list[Key]] = {True: [], False: []}
    for key, runs in before.items():
        if times_of(runs.values()) and times_of(after.get(key, {}).values()):
            families[first(runs).kind == "operation"].append(key)
    for family in families.values():
        for key in family:
            old, new = before[key], after[key]
            doubt = (1 - CONFIDENCE) / 2 / len(family)
            if min(counts) == 1:
                found[key] = of_single_runs(times_of(old.values()), times_of(new.values()), doubt)
            else:
                found[key] = _of_several_runs(old, new, doubt, rounds)
    return found


def first(runs: Runs) -> Figure:
    """Return the figure of the first run that has it."""
    return next(iter(runs.values()))


def times_of(runs: Iterable[Figure]) -> list[Estimate]:
    """Return the times that were measured."""
    return [figure.estimate for figure in runs if figure.estimate is not None]


def _of_several_runs(before: Runs, after: Runs, doubt: float, rounds: bool) -> ConfidenceInterval:
    logarithms = [
        {number: math.log(positive(run.estimate.typical_ns)) for number, run in side.items() if run.estimate}
        for side in (before, after)
    ]
    old, new = logarithms
    if rounds:
        both = sorted(old.keys() & new.keys())
        middle, error = between_rounds([new[number] - old[number] for number in both], doubt)
    else:
        middle, error = between_series(list(old.values()), list(new.values()), doubt)
    wider, ratio = widened(FLOOR_REPEATED, error), math.exp(middle)
    return ConfidenceInterval(ratio, ratio / wider, ratio * wider, times_of(after.values())[0].of)


def between_rounds(differences: Sequence[float], doubt: float) -> tuple[float, float]:
    """Return the average of differences between paired runs, and its error bound.

    Parameters
    ----------
    differences : sequence of float
        For each round, the logarithm of B's time less that of A's.
    doubt : float
        Probability that the true difference exceeds the bound.

    Examples
    --------
    >>> middle, error = between_rounds([0.2, 0.19, 0.21, 0.2, 0.22, 0.2, 0.18, 5.0], 0.05)
    >>> round(middle, 2), round(error, 2)
    (0.2, 0.01)
    """
    from scipy import stats  # a second to import, where runs took longer

    values = _limited(differences)
    if len(values) < 2:
        return float(values.sum()), math.inf
    if np.ptp(values) < RESOLUTION:
        return float(values.mean()), RESOLUTION
    return _middle_and_error(stats.ttest_1samp(values, 0.0).confidence_interval(1 - doubt))


def between_series(before: Sequence[float], after: Sequence[float], doubt: float) -> tuple[float, float]:
    """Return the difference of two series of runs, and its error bound.

    Separate series met different conditions, so the larger drift within a series is added to the error.
    """
    from scipy import stats

    old, new = _limited(before), _limited(after)
    if min(len(old), len(new)) < 2:
        return float(new.mean() - old.mean()), math.inf
    if max(np.ptp(old), np.ptp(new)) < RESOLUTION:
        return float(new.mean() - old.mean()), RESOLUTION
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # where one side does not vary
        found = stats.ttest_ind(new, old, equal_var=False)
    middle, error = _middle_and_error(found.confidence_interval(1 - doubt))
    return middle, error + max(drift(before), drift(after))


def _middle_and_error(bounds: tuple[Any, Any]) -> tuple[float, float]:
    low, high = map(float, bounds)
    return (low + high) / 2, (high - low) / 2


def _limited(values: Sequence[float]) -> Array:
    """Return values with outliers moved nearer to the median; a few values are left as they are."""
    array = np.array(values, np.float64)
    if len(array) < FEWEST_LIMITED:
        return array
    middle = np.median(array)
    reach = max(LIMIT * float(np.median(np.abs(array - middle))), RESOLUTION)
    limited: Array = np.clip(array, middle - reach, middle + reach)
    return limited


def drift(values: Sequence[float]) -> float:
    """Return the difference between the medians of a series' first and second half, without the middle run.

    Examples
    --------
    >>> drift([1.0, 1.0, 3.0, 3.0]), drift([1.0])
    (2.0, 0.0)
    """
    half = len(values) // 2
    return abs(float(np.median(values[-half:]) - np.median(values[:half]))) if half else 0.0


def of_single_runs(before: Sequence[Estimate], after: Sequence[Estimate], doubt: float) -> ConfidenceInterval:
    """Return the ratio of B to A with its bounds, for one run of either.

    Parameters
    ----------
    before, after : sequence of Estimate
        One a run.
    doubt : float
        Probability that the interval misses the true ratio.

    Examples
    --------
    >>> [round(number, 2) for number in of_single_runs([Estimate(100.0, 100.0)], [Estimate(200.0, 200.0)], 0.05)[:3]]
    [2.0, 1.82, 2.2]
    """
    from scipy.special import stdtrit

    ratios = [typical_ns(after, mean=mean) / typical_ns(before, mean=mean) for mean in (True, False)]
    cold = any(estimate.cold for estimate in (*before, *after))
    error = math.hypot(*(max(estimate.error for estimate in side) for side in (before, after)))
    freedom = min(estimate.freedom for estimate in (*before, *after))
    quantile = float(stdtrit(max(1, freedom), 1 - doubt / 2))
    wider = widened(FLOOR_COLD if cold else FLOOR_ONCE, quantile * error)
    return ConfidenceInterval(ratios[0], min(ratios) / wider, max(ratios) * wider)


def typical_ns(side: Sequence[Estimate], *, mean: bool = False) -> float:
    """Return the geometric mean of the runs' medians, or of their averages."""
    times = [positive(estimate.ns if mean else estimate.typical_ns) for estimate in side]
    return times[0] if len(times) == 1 else math.exp(math.fsum(map(math.log, times)) / len(times))


def positive(ns: float) -> float:
    """Return a positive time for logarithms: a time too short to measure is not 0."""
    return max(ns, 0.01)


def widened(floor: float, error: float) -> float:
    """Return the factor from the middle of an interval to its bounds, for an error of logarithms."""
    return (1 + floor) * math.exp(min(error, 50.0))


def shown_ns(runs: Iterable[Figure], ratio: ConfidenceInterval | None) -> float | None:
    """Return the displayed time of a figure: of the same kind as its interval."""
    times = times_of(runs)
    return typical_ns(times, mean=ratio is None or ratio.of == "mean") if times else None
