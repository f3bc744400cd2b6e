"""Intervals of all figures that were measured in both programs, so wide that they hold at once in 95 of 100 comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scanviz.profiler.compare.figures import Figure, Key
from scanviz.profiler.compare.interval import (
    CONFIDENCE,
    FLOOR_REPEATED,
    ConfidenceInterval,
    Estimate,
    of_single_runs,
    positive,
    typical_ns,
    widened,
)
from scanviz.profiler.compare.randomised import Bounds, between_rounds, between_series, drift

Runs = Mapping[int, Figure]  # by the number of the run
Side = Mapping[Key, Runs]


class _Times(NamedTuple):
    """The times of one figure: in the runs of A and of B that it is compared by."""

    key: Key
    before: list[Estimate]
    after: list[Estimate]

    @property
    def logarithms(self) -> tuple[list[float], list[float]]:
        old, new = (
            [math.log(positive(one.typical_ns)) for one in side] for side in (self.before, self.after)
        )
        return old, new


def intervals(
    before: Side, after: Side, counts: tuple[int, int], *, rounds: bool
) -> dict[Key, ConfidenceInterval]:
    """Return the ratio of B to A and its bounds of each figure that both have a time of.

    Parameters
    ----------
    before, after : mapping
        What was measured of A and of B, by key and run.
    counts : tuple of int
        How often either program ran.
    rounds : bool
        Whether the runs of one number were made one after the other.
    """
    found: dict[Key, ConfidenceInterval] = {}
    measured = [_times(key, before[key], after[key], rounds) for key in before if key in after]
    for operations in (False, True):
        family = [
            times
            for times in measured
            if times.before and times.after and (_kind(before, times) == "operation") == operations
        ]
        doubt = (1 - CONFIDENCE) / 2
        if min(counts) == 1:
            found.update(_single(family, doubt))
        else:
            found.update(_repeated(family, counts, doubt, rounds))
    return found


def times_of(runs: Iterable[Figure]) -> list[Estimate]:
    """Return the times that were measured."""
    return [figure.estimate for figure in runs if figure.estimate is not None]


def _kind(side: Side, times: _Times) -> str:
    return next(iter(side[times.key].values())).kind


def _times(key: Key, before: Runs, after: Runs, rounds: bool) -> _Times:
    if rounds:  # of a round both or none
        both = sorted(
            number
            for number in before.keys() & after.keys()
            if before[number].estimate is not None and after[number].estimate is not None
        )
        before, after = ({number: side[number] for number in both} for side in (before, after))
    return _Times(key, times_of(before.values()), times_of(after.values()))


def _single(family: Sequence[_Times], doubt: float) -> dict[Key, ConfidenceInterval]:
    return {times.key: of_single_runs(times.before, times.after, doubt / len(family)) for times in family}


def _repeated(
    family: Sequence[_Times], counts: tuple[int, int], doubt: float, rounds: bool
) -> dict[Key, ConfidenceInterval]:
    """Judge together what all runs have, and by itself what only some have."""
    whole = [times for times in family if (len(times.before), len(times.after)) == counts]
    groups = [whole, *([times] for times in family if times not in whole)]
    found: dict[Key, ConfidenceInterval] = {}
    for group in groups:
        share = doubt * len(group) / len(family) if family else doubt
        for times, bounds in zip(group, _bounds(group, share, rounds), strict=True):
            found[times.key] = _interval(times, bounds, rounds)
    return found


def _bounds(group: Sequence[_Times], doubt: float, rounds: bool) -> list[Bounds]:
    old, new = [times.logarithms[0] for times in group], [times.logarithms[1] for times in group]
    if rounds:
        pairs = zip(old, new, strict=True)
        return between_rounds([[y - x for x, y in zip(*pair, strict=True)] for pair in pairs], doubt)
    return between_series(old, new, doubt)


def _interval(times: _Times, bounds: Bounds, rounds: bool) -> ConfidenceInterval:
    """Return an interval widened by the floor, and by what series that were made apart moved by within themselves."""
    moved = 0.0 if rounds else max(map(drift, times.logarithms))
    low, high = (
        widened(FLOOR_REPEATED, error + moved)
        for error in (bounds.middle - bounds.low, bounds.high - bounds.middle)
    )
    ratio = math.exp(bounds.middle)
    return ConfidenceInterval(ratio, ratio / low, ratio * high, times.after[0].of)


def shown_ns(runs: Iterable[Figure], ratio: ConfidenceInterval | None) -> float | None:
    """Return the time that is shown of a figure: of what the interval is."""
    times = times_of(runs)
    return typical_ns(times, mean=ratio is None or ratio.of == "mean") if times else None
