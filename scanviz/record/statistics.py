"""Durations in bounded memory: a histogram with logarithmic buckets.

A duration's bucket is its power of two and the next six binary digits.  So buckets are at most 1.6 % wide, and a percentile
read from their middle is off by at most 0.8 %.  The bucket's number is read straight from the bits of the duration as a
float64: no logarithm is computed.  Only the stretch of buckets that was met is held, some eight kilobytes for times between 100
ns and 10 ms.  Histograms of threads or runs are merged by adding them.  Source of the idea: Gil Tene's HdrHistogram.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scanviz.record.loops import Samples
from scanviz.record.values import DurationRecord

Counts = np.ndarray[Any, Any]
_DIGITS = 6
_SHIFT = 52 - _DIGITS  # bits of a float64's fraction within a bucket
_ROOM = 32  # spare buckets, so that growing is rare
LONGEST = 2**62
FINE = 1000  # picoseconds of a nanosecond, in which steps of few nanoseconds are counted


def median_of(values: ArrayLike) -> Any:
    """Return the median of numbers, or of each column, as float64.

    ``np.median`` imports ``numpy.ma`` when it is first called, which takes 15 ms: in the middle of a script that is profiled.

    Examples
    --------
    >>> float(median_of([5, 1, 2])), median_of([[1, 5], [2, 7]]).tolist()
    (2.0, [1.5, 6.0])
    """
    ordered = np.sort(np.asarray(values, np.float64), axis=0)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class Histogram:
    """Counts of durations by logarithmic bucket, with exact count, total, least and greatest.

    Examples
    --------
    >>> times = Histogram()
    >>> times.add(np.arange(1, 1001))
    >>> times.count, times.total, abs(times.percentile(0.5) - 500) <= 5
    (1000, 500500, True)
    """

    __slots__ = ("_base", "_counts", "count", "largest", "least", "total")

    def __init__(self) -> None:
        self._base = 0  # number of the bucket that the first count is of
        self._counts = np.zeros(0, np.int64)
        self.count, self.total, self.least, self.largest = 0, 0, LONGEST, 0

    def add(self, times: Samples, weights: Samples | None = None) -> None:
        """Count durations in nanoseconds; negative ones, from a clock that went back, count as 0.

        ``weights`` has the count of each, 1 by default.
        """
        if not len(times):
            return
        least, largest = int(times.min()), int(times.max())
        if least < 0 or largest > LONGEST:
            times = np.clip(times, 0, LONGEST)
            least, largest = max(least, 0), min(largest, LONGEST)
        self._counts, self._base = _covering(self._counts, self._base, _place(least), _place(largest))
        places = times.astype(np.float64).view(np.int64) >> _SHIFT
        if least == 0:
            places = np.maximum(places, _place(0))
        if weights is None:
            self._counts += np.bincount(places - self._base, minlength=len(self._counts))
            self.count += len(times)
            self.total += sum(times.tolist()) if largest > 2**40 else int(times.sum())
        else:
            np.add.at(self._counts, places - self._base, weights)
            self.count += int(weights.sum())
            self.total += sum(a * b for a, b in zip(times.tolist(), weights.tolist(), strict=True))
        self.least, self.largest = min(self.least, least), max(self.largest, largest)

    def merge(self, other: Histogram) -> None:
        """Add another histogram's counts."""
        if not other.count:
            return
        last = other._base + len(other._counts) - 1
        self._counts, self._base = _covering(self._counts, self._base, other._base, last)
        start = other._base - self._base
        self._counts[start : start + len(other._counts)] += other._counts
        self.count += other.count
        self.total += other.total
        self.least, self.largest = min(self.least, other.least), max(self.largest, other.largest)

    def percentile(self, share: float) -> int:
        """Return the duration that ``share`` (0 to 1) of all do not exceed, to 0.8 %; 0 without durations."""
        if not self.count:
            return 0
        wanted = max(1, math.ceil(share * self.count))
        place = self._base + int(np.searchsorted(np.cumsum(self._counts), wanted))
        return int(min(max(round(_middle(place)), self.least), self.largest))

    def slowest_ns(self, share: float) -> int:
        """Estimate the total of the slowest ``share`` (0 to 1).

        Examples
        --------
        >>> times = Histogram()
        >>> times.add(np.array([10] * 990 + [1000] * 10))
        >>> abs(times.slowest_ns(0.01) - 10_000) < 100
        True
        """
        left, found = round(share * self.count), 0.0
        for place in np.flatnonzero(self._counts)[::-1].tolist():
            taken = min(left, int(self._counts[place]))
            found += taken * min(max(_middle(self._base + place), self.least), self.largest)
            left -= taken
            if not left:
                break
        return min(round(found), self.total)

    def record(self) -> DurationRecord:
        """Return the durations as a record."""
        if not self.count:
            return DurationRecord()
        p50, p95, p99 = (self.percentile(share) for share in (0.5, 0.95, 0.99))
        return DurationRecord(self.count, self.total, self.least, p50, p95, p99, self.largest)

    @property
    def median(self) -> float:
        """The median, interpolated within its bucket; 0 without durations."""
        return _interpolated(self._counts, self._base, 0.5) if self.count else 0.0

    def scaled(self, size: int = 1, less: float = 0.0) -> Histogram:
        """Return the durations divided by a size, less ``less`` each and at least 0; their total is exact.

        Examples
        --------
        >>> picoseconds = Histogram()
        >>> picoseconds.add(np.array([1600, 1600, 2400]))
        >>> times = picoseconds.scaled(1000)
        >>> times.count, times.total, times.least, times.largest
        (3, 6, 2, 2)
        """
        found = Histogram()
        filled = np.flatnonzero(self._counts)
        if len(filled):
            middles = np.array([_middle(place) for place in (filled + self._base).tolist()])
            times = np.clip(middles, self.least, self.largest) / size - less
            found.add(np.maximum(np.rint(times), 0).astype(np.int64), self._counts[filled])
            found.least = max(0, round(self.least / size - less))
            found.largest = max(0, round(self.largest / size - less))
            found.total = max(0, round(self.total / size - less * self.count))
        return found


class HistogramTable:
    """One histogram per row: durations of several parts that are counted together.

    Parameters
    ----------
    rows : int
        Number of rows.

    Examples
    --------
    >>> times = HistogramTable(2)
    >>> times.add(np.array([[10, 12, 11], [400, 500, 90_000]]))
    >>> times.count, times.quantile(0, 0.5), abs(times.quantile(1, 0.5) - 500) <= 4
    (3, 11.0, True)
    """

    __slots__ = ("_base", "_counts", "count")

    def __init__(self, rows: int) -> None:
        self._base, self.count = 0, 0
        self._counts = np.zeros((rows, 0), np.int32)

    def add(self, times: Samples) -> None:
        """Count durations in nanoseconds, shape (rows, n)."""
        if not times.size:
            return
        times = np.clip(times, 1, LONGEST)
        low, high = _place(int(times.min())), _place(int(times.max()))
        self._counts, self._base = _covering(self._counts, self._base, low, high)
        rows, width = self._counts.shape
        places = (times.astype(np.float64).view(np.int64) >> _SHIFT) - self._base
        places += np.arange(rows)[:, None] * width
        found = np.bincount(places.ravel(), minlength=rows * width).reshape(rows, width)
        self._counts += found.astype(np.int32)
        self.count += times.shape[1]

    def quantile(self, row: int, share: float) -> float:
        """Return the duration that ``share`` (0 to 1) of a row do not exceed, interpolated; 0 without durations."""
        return _interpolated(self._counts[row], self._base, share) if self.count else 0.0


def _covering(counts: Counts, base: int, low: int, high: int) -> tuple[Counts, int]:
    """Return counts with room for the buckets from ``low`` to ``high``, and the number of their first bucket."""
    width = counts.shape[-1]
    base = base if width else low
    before, after = max(0, base - low), max(0, high + 1 - base - width)
    if not (before or after):
        return counts, base
    before = min(base, before + _ROOM) if before else 0
    around = *[(0, 0)] * (counts.ndim - 1), (before, after + _ROOM if after else 0)
    return np.pad(counts, around), base - before


def _interpolated(counts: Counts, base: int, share: float) -> float:
    """Return a quantile of whole nanoseconds, interpolated within its bucket."""
    up_to = np.cumsum(counts)
    wanted = share * int(up_to[-1])
    at = int(np.searchsorted(up_to, wanted, side="left"))
    inside = counts[at]
    first, end = math.ceil(_lower_end(base + at)), math.ceil(_lower_end(base + at + 1))
    place = (wanted - (int(up_to[at]) - int(inside))) / int(inside)
    return first - 0.5 + place * max(1, end - first)


def _place(time: int) -> int:
    """Return the number of the bucket of a duration; 0 shares that of 1."""
    return int(np.float64(max(time, 1)).view(np.int64)) >> _SHIFT


def _lower_end(place: int) -> float:
    """Return the shortest duration of a bucket."""
    return float(np.int64(place << _SHIFT).view(np.float64))


def _middle(place: int) -> float:
    """Return the duration in the middle of a bucket."""
    return (_lower_end(place) + _lower_end(place + 1)) / 2
