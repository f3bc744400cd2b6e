"""How sure a ratio of two times is where a program ran once, and what one run says of a time at all.

With one run on a side there is no telling how runs differ (``randomised`` has the others).  The interval is then made of what the
run's own sample shows, steps that follow one another being averaged in batches since they are not independent (B. Schmeiser,
Operations Research 30, 1982), of average and median, which must agree, and of a floor for what differs between runs: the clock's
frequency, the layout of memory, the neighbours.

A comparison makes many intervals.  Their confidence is raised so that all of them hold at once in 95 of 100 comparisons, whatever
they depend on (Bonferroni); operations, of which there are many, get half of the doubt, functions and loops the other.  Nothing
here is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from scanviz.profiler.compare.randomised import quantile

CONFIDENCE = 0.95  # of all intervals of a comparison together
FLOOR_REPEATED = 0.02  # what is never called a difference: between several runs,
FLOOR_ONCE = 0.10  # between single runs,
FLOOR_COLD = 0.25  # and where the only call or step also paid for the first time
BATCHES = 8
OPERATION_SPREAD = 0.5  # of one timing of one operation, as a share: records keep the average alone
MANY = 1000  # degrees of freedom where the spread is assumed, not estimated


Statistic = Literal["mean", "median", "cpu time"]


class Estimate(NamedTuple):
    """What one run says of a time.

    Attributes
    ----------
    ns : float
        The average, the start left out.
    typical_ns : float
        The median, which what is slow now and then does not move, or the CPU time, which does not grow while others run.
    error : float
        Standard error of the average, as a share of it.
    freedom : int
        How many numbers the error was estimated from, less one.
    cold : bool
        Whether there was but the first one, which pays for code made on demand.
    of : str
        What ``typical_ns`` is: ``"median"`` or ``"cpu time"``.
    """

    ns: float
    typical_ns: float
    error: float = 0.0
    freedom: int = MANY
    cold: bool = False
    of: Statistic = "median"


class ConfidenceInterval(NamedTuple):
    """A ratio and the bounds that noise leaves of it.

    Attributes
    ----------
    ratio, low, high : float
        The ratio and its bounds.
    of : str
        Of what in each run: ``"mean"``, ``"median"`` or ``"cpu time"``.
    """

    ratio: float
    low: float
    high: float
    of: Statistic = "mean"


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


def of_single_runs(before: Sequence[Estimate], after: Sequence[Estimate], doubt: float) -> ConfidenceInterval:
    """Return the ratio of what is after to what was before, with the bounds that noise leaves of it, where a side has one run.

    Parameters
    ----------
    before, after : sequence of Estimate
        One a run.
    doubt : float
        How often the interval may miss, as a share.

    Examples
    --------
    >>> [round(number, 2) for number in of_single_runs([Estimate(100.0, 100.0)], [Estimate(200.0, 200.0)], 0.05)[:3]]
    [2.0, 1.82, 2.2]
    """
    ratios = [
        positive(typical_ns(after, mean=mean)) / positive(typical_ns(before, mean=mean))
        for mean in (True, False)
    ]
    cold = any(estimate.cold for estimate in (*before, *after))
    error = math.sqrt(sum(max(estimate.error for estimate in side) ** 2 for side in (before, after)))
    freedom = min(estimate.freedom for estimate in (*before, *after))
    wider = widened(FLOOR_COLD if cold else FLOOR_ONCE, quantile(doubt, freedom) * error)
    return ConfidenceInterval(ratios[0], min(ratios) / wider, max(ratios) * wider)


def typical_ns(side: Sequence[Estimate], *, mean: bool = False) -> float:
    """Return the geometric mean of the runs' medians, or of their averages."""
    times = [estimate.ns if mean else estimate.typical_ns for estimate in side]
    return times[0] if len(times) == 1 else math.exp(sum(math.log(positive(ns)) for ns in times) / len(times))


def positive(ns: float) -> float:
    """Return a time that has a logarithm."""
    return max(ns, 0.01)  # what was too short to be measured is short, not nothing


def widened(floor: float, error: float) -> float:
    """Return the factor by which an interval reaches beyond its middle, from an error of logarithms."""
    return (1 + floor) * math.exp(min(error, 50.0))
