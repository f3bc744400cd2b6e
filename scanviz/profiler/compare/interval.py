"""How sure a ratio of two times is: intervals, and what machines do to runs of the same program.

Where both programs ran several times, each run gives one number, and the interval is Welch's t-interval of the difference of mean
logarithms (B. L. Welch, Biometrika 34, 1947): runs are the unit, as T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable
time", ISMM 2013, advise.  It is made of the runs' averages and of their medians: a few slow steps drown in the latter, and drown
the rest in the former.  With one run on a side there is no telling how runs differ.  The interval is then made of what the run's
own sample shows, steps that follow one another being averaged in batches since they are not independent (B. Schmeiser, Operations
Research 30, 1982), of average and median, which must agree, and of a floor for what differs between runs:
the clock's frequency, the layout of memory, the neighbours.

A comparison makes many intervals.  Their confidence is raised so that all of them hold at once in 95 of 100 comparisons, whatever
they depend on (Bonferroni); operations, of which there are many, get half of the doubt, functions and loops the other.  Nothing
here is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

CONFIDENCE = 0.95  # of all intervals of a comparison together
FLOOR_REPEATED = 0.02  # what is never called a difference: between several runs,
FLOOR_ONCE = 0.10  # between single runs,
FLOOR_COLD = 0.25  # and where the only call or step also paid for the first time
BATCHES = 8
OPERATION_SPREAD = 0.5  # of one timing of one operation, as a share: records keep the average alone
MANY = 1000  # degrees of freedom where the spread is assumed, not estimated


Statistic = Literal["ns", "typical_ns"]


class Estimate(NamedTuple):
    """What one run says of a time.

    Attributes
    ----------
    ns : float
        The average, the start left out.
    typical_ns : float
        The median, which what is slow now and then does not move.
    error : float
        Standard error of the average, as a share of it.
    freedom : int
        How many numbers the error was estimated from, less one.
    cold : bool
        Whether there was but the first one, which pays for code made on demand.
    """

    ns: float
    typical_ns: float
    error: float = 0.0
    freedom: int = MANY
    cold: bool = False


class ConfidenceInterval(NamedTuple):
    """A ratio and the bounds that noise leaves of it.

    Attributes
    ----------
    ratio, low, high : float
        The ratio and its bounds.
    of : str
        Of what in each run: ``"ns"``, the average, or ``"typical_ns"``, the median.
    """

    ratio: float
    low: float
    high: float
    of: Statistic = "ns"


def of_steps(times: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[float, int]:
    """Return the standard error of the average of consecutive times, as a share of it, and its degrees of freedom.

    Examples
    --------
    >>> of_steps(np.array([10, 10, 10, 10]))
    (0.0, 3)
    """
    count = min(BATCHES, len(times))
    means = np.array([batch.mean() for batch in np.array_split(times, count)]) if count else np.zeros(0)
    if count < 2 or means.mean() <= 0:
        return FLOOR_COLD, 1
    return float(means.std(ddof=1) / math.sqrt(count) / means.mean()), count - 1


def interval(before: Sequence[Estimate], after: Sequence[Estimate], doubt: float) -> ConfidenceInterval:
    """Return the ratio of what is after to what was before, with the bounds that noise leaves of it.

    Parameters
    ----------
    before, after : sequence of Estimate
        One a run.
    doubt : float
        How often the interval may miss, as a share.

    Examples
    --------
    >>> runs = [Estimate(ns, ns) for ns in (100.0, 101.0, 99.0)]
    >>> twice = [Estimate(2 * ns, 2 * ns) for ns, _, *_ in runs]
    >>> [round(each, 2) for each in interval(runs, twice, 0.05)[:3]]
    [2.0, 1.91, 2.1]
    """
    if min(len(before), len(after)) > 1:
        return _between_repeats(before, after, doubt)
    ratios = [_ratio(before, after, "ns"), _ratio(before, after, "typical_ns")]
    cold = any(estimate.cold for estimate in (*before, *after))
    error = math.sqrt(sum(max(estimate.error for estimate in side) ** 2 for side in (before, after)))
    freedom = min(estimate.freedom for estimate in (*before, *after))
    wider = _widened(FLOOR_COLD if cold else FLOOR_ONCE, _quantile(doubt, freedom) * error)
    return ConfidenceInterval(ratios[0], min(ratios) / wider, max(ratios) * wider)


def _between_repeats(
    before: Sequence[Estimate], after: Sequence[Estimate], doubt: float
) -> ConfidenceInterval:
    """Return the interval of the averages or of the medians: the first that shows a difference, else the narrower."""
    means, medians = (_of_means(before, after, doubt / 2, name) for name in ("ns", "typical_ns"))
    for each in (means, medians):
        if not each.low <= 1 <= each.high:
            return each
    return min(means, medians, key=lambda each: each.high / each.low)


def _of_means(
    before: Sequence[Estimate], after: Sequence[Estimate], doubt: float, name: Statistic
) -> ConfidenceInterval:
    """Return Welch's interval of what each run is summed up by."""
    old, new = (np.log([_positive(getattr(estimate, name)) for estimate in side]) for side in (before, after))
    shares = [float(side.var(ddof=1)) / len(side) for side in (old, new)]
    variance, ratio = sum(shares), math.exp(float(new.mean() - old.mean()))
    error = 0.0
    if variance > 1e-18:
        weights = [share**2 / (len(side) - 1) for share, side in zip(shares, (old, new), strict=True)]
        freedom = math.floor(variance**2 / sum(weights) + 1e-9)  # with few runs, unrounded misses too often
        error = _quantile(doubt, freedom) * math.sqrt(variance)
    wider = _widened(FLOOR_REPEATED, error)
    return ConfidenceInterval(ratio, ratio / wider, ratio * wider, name)


def mean_ns(side: Sequence[Estimate], name: Statistic = "ns") -> float:
    """Return the geometric mean of the runs."""
    if len(side) == 1:
        return float(getattr(side[0], name))
    return math.exp(sum(math.log(_positive(getattr(estimate, name))) for estimate in side) / len(side))


def _ratio(before: Sequence[Estimate], after: Sequence[Estimate], name: Statistic) -> float:
    return _positive(mean_ns(after, name)) / _positive(mean_ns(before, name))


def _positive(ns: float) -> float:
    return max(ns, 0.01)  # what was too short to be measured is short, not nothing


def _widened(floor: float, error: float) -> float:
    return (1 + floor) * math.exp(min(error, 50.0))


def _quantile(doubt: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(1, freedom), 1 - doubt / 2))


__all__ = [
    "CONFIDENCE",
    "FLOOR_ONCE",
    "FLOOR_REPEATED",
    "ConfidenceInterval",
    "Estimate",
    "Statistic",
    "interval",
    "mean_ns",
    "of_steps",
]
