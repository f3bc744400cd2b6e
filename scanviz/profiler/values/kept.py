"""The values of one run of one loop while it is going on, in memory that is fixed after its first step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.profiler.values.sampling import ROWS, KeptSteps, row_statistics, statistics_of
from scanviz.record.traces.layout import TraceHead
from scanviz.record.traces.model import STATISTICS, Numbers, TraceRecord

NUMBERS = 64  # of each value, where the budget allows
HEAD_BYTES = 2000  # about what a variable's names, arrays and entries in a file take, whatever its numbers
_ORDER = {"input": 0, "output": 1, "operation": 2}  # what is kept first where not all have room


class Piece(NamedTuple):
    """What was copied of a value: its first numbers, its size, and its statistics unless the numbers are all of it."""

    numbers: Numbers
    size: int
    shape: tuple[int, ...]
    statistics: tuple[float, ...] | None


def piece_of(value: Any, limit: int) -> Piece:
    """Return what is kept of a value.

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
    """Values of one run.

    Parameters
    ----------
    number : int
        Which run of the loop.
    n_steps : int
        The most steps it will do.
    heads : sequence of TraceHead
        What a step has.
    allowance : int
        Bytes that it may take.
    every : int
        The k of every k-th step to begin with.

    Attributes
    ----------
    bytes : int
        What it takes; 0 before its first step is done.
    has_event : bool
        Whether a NaN or an infinity was seen in what its steps computed.
    """

    def __init__(
        self, number: int, n_steps: int, heads: Sequence[TraceHead], allowance: int, every: int
    ) -> None:
        self.number, self.heads, self.bytes = number, heads, 0
        self.done = 0
        self._n_steps, self._allowance = n_steps, allowance
        self._kept = KeptSteps(every)
        self._seen_nan = self._seen_inf = False
        self._pieces: dict[int, Piece] = {}  # of the step that is going on, by register
        self._constant: dict[int, tuple[Any, Piece]] = {}
        self._chosen: list[int] | None = None
        self._limit = NUMBERS
        self._wanted = {head.register for head in heads}

    @property
    def has_event(self) -> bool:
        """Whether a NaN or an infinity was seen."""
        return self._seen_nan or self._seen_inf

    def begin_step(self, registers: Sequence[int], values: Sequence[Any], constants: int) -> None:
        """Take the inputs of a step; the last ``constants`` of them are the same objects in every step."""
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
        """Keep the step, and let go of those that nothing asks for any more."""
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
                if self._watched[k]:
                    nan, infinite = nan + found[3], infinite + found[4]
        finite = np.isfinite(numbers)
        if nan or infinite or not finite.all():
            bad = numbers[~finite & self._watched_numbers]
            nans = int(np.isnan(bad).sum())
            self._note(step, nan > 0 or nans > 0, infinite > 0 or len(bad) > nans)

    def finish(self) -> None:
        """Let go of what belongs to the engine: the run is over."""
        self._pieces.clear()
        self._constant.clear()

    def _note(self, step: int, nan: bool, infinite: bool) -> None:
        if (nan and not self._seen_nan) or (infinite and not self._seen_inf):
            self._kept.mark(step)
        self._seen_nan, self._seen_inf = self._seen_nan or nan, self._seen_inf or infinite

    def _plan(self) -> None:
        """Decide, by the sizes of the first step, how much of each value is kept, and take the memory."""
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
        self._constant.clear()  # what was taken of them may now be more than is kept
        self._widths = [min(size, limit) for size in sizes]
        self._starts = [sum(self._widths[:k]) for k in range(len(sizes))]
        self._numbers = np.zeros((rows, sum(self._widths)))
        self._statistics = np.zeros((rows, len(sizes), len(STATISTICS)))
        self._sizes = np.zeros((rows, len(sizes)), np.int64)
        self._watched = [not self._is_constant(place) for place in self._chosen]
        self._watched_numbers = np.repeat(np.array(self._watched, bool), self._widths)
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
        """Return whether a value is the same in every step: a NaN that was given is no event of a step."""
        head = self.heads[place]
        return head.record.role == "input" and head.record.tap is None

    def record(self, loop: int) -> TraceRecord:
        """Return what was kept so far."""
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
