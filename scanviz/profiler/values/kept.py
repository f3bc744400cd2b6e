"""Keep the values of one run of a loop, in memory that is fixed after its first step.

The first and the last steps are kept, every k-th one, and those around the first NaN and the first infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.record.traces.layout import TraceHead
from scanviz.record.traces.model import STATISTICS, Numbers, TraceRecord

FIRST, LAST, SPREAD = 8, 8, 64
BEFORE, AFTER = 2, 2  # steps kept around an event
EVENTS = 2  # the first NaN, the first infinity
ROWS = FIRST + LAST + SPREAD + EVENTS * (BEFORE + 1 + AFTER) + 2
_EVERY, _LAST, _FIRST, _EVENT = 1, 2, 4, 8  # of several reasons the largest is shown
_REASONS = {_EVERY: "every", _LAST: "last", _FIRST: "first", _EVENT: "event"}


class KeptSteps:
    """The kept steps, each with the number of its row.

    Parameters
    ----------
    every : int
        The initial k.

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
        """Keep the newest step, which has an event, and the steps around it."""
        for number in range(max(0, step - BEFORE), step + 1):
            if number in self._held:
                self._held[number] |= _EVENT
        self._after = max(self._after, AFTER)

    def reasons(self) -> dict[int, str]:
        """Return the kept steps, in order, each with its reason."""
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
    if not math.isfinite(total):  # rare: a finite sum has finite terms
        finite = np.isfinite(flat)
        nan = int(np.isnan(flat).sum())
        infinite = int(flat.size - finite.sum()) - nan
        flat = flat[finite]
        total = _sum(flat)
    if not flat.size:
        return (np.nan, np.nan, np.nan, float(nan), float(infinite))
    low, high = float(np.minimum.reduce(flat)), float(np.maximum.reduce(flat))
    mean = total / flat.size
    if not math.isfinite(mean):  # the sum overflows
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


NUMBERS = 64  # kept of each value, where the budget allows
HEAD_BYTES = 2000  # estimate for a variable's names, array headers and file entries
_ORDER = {"input": 0, "output": 1, "operation": 2}  # priority when room is short


class Piece(NamedTuple):
    """The first numbers of a value and its size; statistics only if there are more numbers."""

    numbers: Numbers
    size: int
    shape: tuple[int, ...]
    statistics: tuple[float, ...] | None


def piece_of(value: Any, limit: int) -> Piece:
    """Return the part of a value that is kept.

    Examples
    --------
    >>> piece_of(np.arange(5), 2)
    Piece(numbers=array([0., 1.]), size=5, shape=(5,), statistics=(0.0, 4.0, 2.0, 0.0, 0.0))
    """
    array = np.asarray(value)
    flat = array.reshape(-1)
    whole = flat.size <= limit
    numbers = np.array(flat[:limit], np.float64)
    return Piece(numbers, flat.size, array.shape, None if whole else statistics_of(array))


class RunTrace:
    """The values of one run.

    Parameters
    ----------
    number : int
        The number of the run.
    n_steps : int
        Maximum number of steps.
    heads : sequence of TraceHead
        The variables of a step.
    allowance : int
        Bytes it may take.
    every : int
        The initial k of every k-th step.

    Attributes
    ----------
    bytes : int
        Bytes it takes; 0 before the first step ends.
    has_event : bool
        Whether a step computed a NaN or an infinity.
    """

    def __init__(
        self, number: int, n_steps: int, heads: Sequence[TraceHead], allowance: int, every: int
    ) -> None:
        self.number, self.heads, self.bytes = number, heads, 0
        self.done = 0
        self._n_steps, self._allowance = n_steps, allowance
        self._kept = KeptSteps(every)
        self._seen_nan = self._seen_inf = False
        self._pieces: dict[int, Piece] = {}  # of the present step, by register
        self._constant: dict[int, tuple[Any, Piece]] = {}
        self._chosen: list[int] | None = None
        self._limit = NUMBERS
        self._wanted = {head.register for head in heads}

    @property
    def has_event(self) -> bool:
        """True if a NaN or an infinity was seen."""
        return self._seen_nan or self._seen_inf

    def begin_step(self, registers: Sequence[int], values: Sequence[Any], constants: int) -> None:
        """Take the inputs of a step; the last ``constants`` of them are the same in every step."""
        self._pieces.clear()
        changing = len(registers) - constants
        self.give(registers[:changing], values[:changing])
        for register, value in zip(registers[changing:], values[changing:], strict=True):
            known = self._constant.get(register)
            if known is None or known[0] is not value:
                known = self._constant[register] = (value, piece_of(value, self._limit))
            self._pieces[register] = known[1]

    def give(self, registers: Sequence[int], values: Sequence[Any]) -> None:
        """Take values of the step."""
        for register, value in zip(registers, values, strict=True):
            if register in self._wanted:
                self._pieces[register] = piece_of(value, self._limit)

    def end_step(self) -> None:
        """Keep the step, and release steps without a reason to be kept."""
        if self._chosen is None:
            self._plan()
        assert self._chosen is not None  # _plan has made it
        step = self.done
        self.done += 1
        if not self._chosen:
            return
        row = self._kept.take(step)
        numbers, nan, infinite = self._numbers[row], 0.0, 0.0
        for k, place in enumerate(self._chosen):
            piece = self._pieces.get(self.heads[place].register)
            start, width = self._starts[k], self._widths[k]
            if piece is None:
                numbers[start : start + width] = 0.0
                self._sizes[row, k] = 0
                continue
            kept = min(len(piece.numbers), width)
            numbers[start : start + kept] = piece.numbers[:kept]
            numbers[start + kept : start + width] = 0.0
            self._sizes[row, k] = piece.size
            if piece.size > width:
                found = piece.statistics if piece.statistics is not None else statistics_of(piece.numbers)
                self._statistics[row, k] = found
                if self._checked[k]:
                    nan, infinite = nan + found[3], infinite + found[4]
        finite = np.isfinite(numbers)
        if nan or infinite or not finite.all():
            bad = numbers[~finite & self._checked_numbers]
            nans = int(np.isnan(bad).sum())
            self._note(step, nan > 0 or nans > 0, infinite > 0 or len(bad) > nans)

    def finish(self) -> None:
        """Release the engine's arrays at the end of the run."""
        self._pieces.clear()
        self._constant.clear()

    def _note(self, step: int, nan: bool, infinite: bool) -> None:
        if (nan and not self._seen_nan) or (infinite and not self._seen_inf):
            self._kept.mark(step)
        self._seen_nan, self._seen_inf = self._seen_nan or nan, self._seen_inf or infinite

    def _plan(self) -> None:
        """Decide from the first step how much of each value is kept, and allocate the memory."""
        rows = max(1, min(ROWS, self._n_steps))
        head = HEAD_BYTES + rows * 8 * (len(STATISTICS) + 1)
        order = sorted(range(len(self.heads)), key=lambda k: (_ORDER[self.heads[k].record.role], k))
        self._chosen = sorted(order[: max(0, self._allowance // head)])
        sizes = [self._size(place) for place in self._chosen]
        left = self._allowance - head * len(self._chosen)
        limit = NUMBERS
        while limit and rows * 8 * sum(min(size, limit) for size in sizes) > left:
            limit //= 2
        self._limit = limit
        self._constant.clear()  # taken under the old limit
        self._widths = [min(size, limit) for size in sizes]
        self._starts = [sum(self._widths[:k]) for k in range(len(sizes))]
        self._numbers = np.zeros((rows, sum(self._widths)))
        self._statistics = np.zeros((rows, len(sizes), len(STATISTICS)))
        self._sizes = np.zeros((rows, len(sizes)), np.int64)
        self._checked = [not self._is_constant(place) for place in self._chosen]
        self._checked_numbers = np.repeat(np.array(self._checked, bool), self._widths)
        self._shapes = [self._shape(place) for place in self._chosen]
        self._wanted = {self.heads[place].register for place in self._chosen}
        self.bytes = head * len(sizes) + 8 * self._numbers.size

    def _size(self, place: int) -> int:
        piece = self._pieces.get(self.heads[place].register)
        return 0 if piece is None else piece.size

    def _shape(self, place: int) -> tuple[int, ...]:
        piece = self._pieces.get(self.heads[place].register)
        return () if piece is None else piece.shape

    def _is_constant(self, place: int) -> bool:
        """Return whether a value is the same in every step, so that a NaN in it is no event of a step."""
        head = self.heads[place]
        return head.record.role == "input" and head.record.tap is None

    def record(self, loop: int) -> TraceRecord:
        """Return the kept values as a record."""
        reasons = self._kept.reasons()
        steps = tuple(reasons)
        chosen = self._chosen or []
        rows = [self._kept.rows[step] for step in steps]
        found = []
        for k, place in enumerate(chosen):
            width, start = self._widths[k], self._starts[k]
            values = self._numbers[rows, start : start + width]
            sizes = self._sizes[rows, k]
            statistics = np.where(
                (sizes > width)[:, None],
                self._statistics[rows, k],
                row_statistics(values, np.minimum(sizes, width)),
            )
            values[np.arange(width) >= sizes[:, None]] = np.nan  # a smaller value than the first step's
            found.append(
                replace(
                    self.heads[place].record,
                    shape=tuple(map(int, self._shapes[k])),
                    statistics=statistics,
                    values=values,
                )
            )
        return TraceRecord(
            loop=loop,
            run=self.number,
            total_steps=self.done,
            steps=steps,
            reasons=tuple(reasons.values()),
            variables=tuple(found),
            left_out=len(self.heads) - len(chosen),
        )
