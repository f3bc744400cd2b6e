"""Durations in bounded memory: a histogram with logarithmic buckets, and a sample of single steps.

The histogram's buckets are 2 % wide, so a percentile read from it is off by at most 1 % (the idea of DDSketch: Masson,
Rim, Lee, "DDSketch: a fast and fully-mergeable quantile sketch", VLDB 2019).  Histograms of threads or runs are merged by
adding them.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Any

import numpy as np

from scanviz.record.model import DurationRecord, Samples

_WIDTH = 1.02
_LOG = math.log(_WIDTH)
_BUCKETS = int(math.log(2**62) / _LOG) + 2


class Histogram:
    """Counts of durations by logarithmic bucket, with exact count, total, least and largest."""

    __slots__ = ("buckets", "count", "largest", "least", "total")

    def __init__(self) -> None:
        self.buckets = np.zeros(_BUCKETS, np.int64)
        self.count, self.total, self.least, self.largest = 0, 0, 2**62, 0

    def add(self, times: Samples) -> None:
        """Count durations in nanoseconds."""
        if not len(times):
            return
        clipped = np.maximum(times, 0)
        places = np.ceil(np.log(np.maximum(clipped, 1)) / _LOG).astype(np.int64)
        self.buckets += np.bincount(places, minlength=_BUCKETS)
        self.count += len(times)
        self.total += int(clipped.sum())
        self.least, self.largest = min(self.least, int(clipped.min())), max(self.largest, int(clipped.max()))

    def add_one(self, time: int) -> None:
        """Count one duration."""
        self.buckets[math.ceil(math.log(max(time, 1)) / _LOG)] += 1
        self.count += 1
        self.total += time
        self.least, self.largest = min(self.least, time), max(self.largest, time)

    def merge(self, other: Histogram) -> None:
        """Add another histogram's counts."""
        self.buckets += other.buckets
        self.count += other.count
        self.total += other.total
        self.least, self.largest = min(self.least, other.least), max(self.largest, other.largest)

    def percentile(self, share: float) -> int:
        """Return the duration that ``share`` (0 to 1) of all do not exceed, to 1 %."""
        if not self.count:
            return 0
        wanted = max(1, math.ceil(share * self.count))
        place = int(np.searchsorted(np.cumsum(self.buckets), wanted))
        middle = 2 * _WIDTH**place / (1 + _WIDTH)
        return int(min(max(middle, self.least), self.largest))

    def record(self) -> DurationRecord:
        """Return what is shown of it."""
        if not self.count:
            return DurationRecord()
        p50, p95, p99 = (self.percentile(share) for share in (0.5, 0.95, 0.99))
        return DurationRecord(self.count, self.total, self.least, p50, p95, p99, self.largest)


FIRST, LAST, SLOWEST, SPREAD = 64, 64, 32, 512


class StepSample:
    """Single steps worth keeping: the first, the last, the slowest, and every k-th with k doubling as they fill up."""

    __slots__ = ("_stride", "first", "last", "seen", "slowest", "spread")

    def __init__(self) -> None:
        self.first: list[tuple[int, int, int]] = []
        self.last: deque[tuple[int, int, int]] = deque(maxlen=LAST)
        self.slowest: list[tuple[int, int, int]] = []  # heap of (nanoseconds, -run, -step)
        self.spread: list[tuple[int, int, int]] = []
        self._stride, self.seen = 1, 0

    def add(self, run: int, start: int, times: Samples) -> None:
        """Take consecutive steps of one run, the first of them number ``start``."""
        count = len(times)
        for k in range(min(FIRST - len(self.first), count)):
            self.first.append((run, start + k, int(times[k])))
        for k in range(max(0, count - LAST), count):
            self.last.append((run, start + k, int(times[k])))
        self._add_slowest(run, start, times)
        offset = -self.seen % self._stride
        for k in range(offset, count, self._stride):
            if (self.seen + k) % self._stride:
                continue  # the stride doubled while this chunk was taken
            self.spread.append((run, start + k, int(times[k])))
            if len(self.spread) > SPREAD:
                self.spread = self.spread[::2]
                self._stride *= 2
        self.seen += count

    def _add_slowest(self, run: int, start: int, times: Samples) -> None:
        if len(self.slowest) == SLOWEST:
            candidates = np.flatnonzero(times > self.slowest[0][0])
        else:
            candidates = np.arange(len(times))
        if len(candidates) > SLOWEST:
            order = np.argsort(times[candidates], kind="stable")
            candidates = candidates[order[-SLOWEST:]]
        for k in candidates.tolist():
            entry = (int(times[k]), -run, -(start + k))
            if len(self.slowest) < SLOWEST:
                heapq.heappush(self.slowest, entry)
            elif entry > self.slowest[0]:
                heapq.heapreplace(self.slowest, entry)

    def rows(self) -> Samples:
        """Return the steps kept as rows of (run, step, nanoseconds, why), each step once, by run and step."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        groups: list[tuple[int, Any]] = [(0, self.spread), (2, self.last), (1, self.first)]
        for why, group in groups:
            found.update({(run, step): (time, why) for run, step, time in group})
        found.update({(-run, -step): (time, 3) for time, run, step in self.slowest})
        rows = [(run, step, time, why) for (run, step), (time, why) in sorted(found.items())]
        return np.array(rows, np.int64).reshape(-1, 4)
