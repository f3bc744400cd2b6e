"""Which steps of a run are kept, and rows of numbers for them: all memory is taken once, when the run's first step is known.

Kept are the first steps, the last ones (a ring), every k-th (k doubles whenever their room is full), and the steps around the
first NaN and the first infinity.  A step may be kept for several reasons; its row is free again when none is left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scanviz.record.traces.model import STATISTICS, Numbers

FIRST, LAST, SPREAD = 8, 8, 64
BEFORE, AFTER = 2, 2  # steps kept around an event
EVENTS = 2  # the first NaN, the first infinity
ROWS = FIRST + LAST + SPREAD + EVENTS * (BEFORE + 1 + AFTER) + 2
_EVERY, _LAST, _FIRST, _EVENT = 1, 2, 4, 8  # a step kept for several reasons has the largest
_REASONS = {_EVERY: "every", _LAST: "last", _FIRST: "first", _EVENT: "event"}


class KeptSteps:
    """The steps kept so far, each with the number of its row.

    Parameters
    ----------
    every : int
        The k to begin with.

    Attributes
    ----------
    rows : dict of int to int
        Step → its row.

    Examples
    --------
    >>> kept = KeptSteps()
    >>> for step in range(3):
    ...     row = kept.take(step)
    >>> kept.reasons()
    {0: 'first', 1: 'first', 2: 'first'}
    """

    __slots__ = ("_after", "_free", "_held", "_spread", "_stride", "rows")

    def __init__(self, every: int = 1) -> None:
        self.rows: dict[int, int] = {}
        self._held: dict[int, int] = {}
        self._free = list(range(ROWS - 1, -1, -1))
        self._stride, self._after, self._spread = every, 0, 0

    def take(self, step: int) -> int:
        """Return the row for the next step; steps come in order from 0."""
        self._release(step - LAST, _LAST)
        row = self.rows[step] = self._free.pop()
        why = _LAST | (_FIRST if step < FIRST else 0) | (0 if step % self._stride else _EVERY)
        if self._after:
            why |= _EVENT
            self._after -= 1
        self._held[step] = why
        self._spread += why & _EVERY
        while self._spread > SPREAD:
            self._stride *= 2
            for number in [other for other in self._held if other % self._stride]:
                self._release(number, _EVERY)
        return row

    def mark(self, step: int) -> None:
        """Keep the newest step and those around it: something happened in it."""
        for number in range(max(0, step - BEFORE), step + 1):
            if number in self._held:
                self._held[number] |= _EVENT
        self._after = max(self._after, AFTER)

    def reasons(self) -> dict[int, str]:
        """Return the steps kept, in order, each with its reason."""
        found = {}
        for step in sorted(self._held):
            held = self._held[step]
            found[step] = _REASONS[1 << (held.bit_length() - 1)]
        return found

    def _release(self, step: int, reason: int) -> None:
        held = self._held.get(step)
        if held is None:
            return
        self._spread -= held & reason & _EVERY
        held &= ~reason
        if held:
            self._held[step] = held
        else:
            del self._held[step]
            self._free.append(self.rows.pop(step))


def statistics_of(value: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> tuple[float, ...]:
    """Return smallest, largest and mean of the finite numbers (NaN if there is none), and how many are NaN or infinite.

    Examples
    --------
    >>> statistics_of(np.array([1.0, np.nan, 3.0, np.inf]))
    (1.0, 3.0, 2.0, 1.0, 1.0)
    """
    flat = np.asarray(value).reshape(-1)
    if flat.dtype.kind != "f":
        flat = flat.astype(np.float64)
    nan = infinite = 0
    total = _sum(flat)
    if not math.isfinite(total):  # nearly always it is, and then so is every number
        finite = np.isfinite(flat)
        nan = int(np.isnan(flat).sum())
        infinite = int(flat.size - finite.sum()) - nan
        flat = flat[finite]
        total = _sum(flat)
    if not flat.size:
        return (np.nan, np.nan, np.nan, float(nan), float(infinite))
    low, high = float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))
    mean = total / flat.size
    if not math.isfinite(mean):  # the sum of the largest numbers is too large, their mean is not
        mean = _sum(flat / flat.size)
    return (low, high, min(max(mean, low), high), float(nan), float(infinite))


def _sum(flat: np.ndarray[tuple[int, ...], np.dtype[Any]]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.add.reduce(flat, dtype=np.float64))


def row_statistics(rows: Numbers, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Numbers:
    """Return the statistics of the first ``sizes[k]`` numbers of each row."""
    found = np.empty((len(rows), len(STATISTICS)))
    for k, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        found[k] = statistics_of(row[: int(size)])
    return found
