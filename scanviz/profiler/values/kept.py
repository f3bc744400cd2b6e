"""Keep the values of one run of a loop, under a limit that is fixed after its first step.

The first and the last steps are kept, every k-th one, and those around the first NaN and the first infinity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.record.traces.layout import TraceHead
from scanviz.record.traces.model import STATISTICS, Numbers, TracedVariableRecord, TraceRecord

FIRST, LAST, SPREAD = 8, 8, 64
BEFORE, AFTER = 2, 2  # steps kept around an event
EVENTS = 2  # the first NaN, the first infinity
ROWS = FIRST + LAST + SPREAD + EVENTS * (BEFORE + 1 + AFTER) + 2
_EVERY, _LAST, _FIRST, _EVENT = 1, 2, 4, 8  # of several reasons the largest is shown
_REASONS = {_EVERY: "every", _LAST: "last", _FIRST: "first", _EVENT: "event"}


class Piece(NamedTuple):
    """The first numbers of a value and its size; statistics only if there are more numbers."""

    numbers: Numbers
    size: int
    shape: tuple[int, ...]
    statistics: tuple[float, ...] | None


StepValues = dict[int, Piece]  # of a step, by register


class KeptSteps:
    """The kept steps and the values of each.

    Parameters
    ----------
    every : int
        The initial k.

    Attributes
    ----------
    rows : dict of int to dict
        Step → its values by register.

    Examples
    --------
    >>> kept = KeptSteps()
    >>> for step in range(3):
    ...     kept.take(step, {})
    >>> kept.reasons()
    {0: 'first', 1: 'first', 2: 'first'}
    """

    __slots__ = ("_after", "_held", "_spread", "_stride", "rows")

    def __init__(self, every: int = 1) -> None:
        self.rows: dict[int, StepValues] = {}
        self._held: dict[int, int] = {}
        self._stride, self._after, self._spread = every, 0, 0

    def take(self, step: int, values: StepValues) -> None:
        """Take the values of the next step; steps come in order from 0."""
        self._release(step - LAST, _LAST)
        self.rows[step] = values
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
            del self._held[step], self.rows[step]


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


NUMBERS = 64  # kept of each value, where the budget allows
HEAD_BYTES = 2000  # estimate for a variable's names, array headers and file entries
_ORDER = {"input": 0, "output": 1, "operation": 2}  # priority when room is short


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


def _shortened(piece: Piece, limit: int) -> Piece:
    """Return a piece with at most so many numbers."""
    if len(piece.numbers) <= limit:
        return piece
    known = statistics_of(piece.numbers) if piece.statistics is None else piece.statistics
    return piece._replace(numbers=piece.numbers[:limit], statistics=known)


def traced_variable(head: TracedVariableRecord, pieces: Sequence[Piece | None]) -> TracedVariableRecord:
    """Return a variable with its values; NaN fills values that are smaller than others or missing after an error."""
    width = max((len(piece.numbers) for piece in pieces if piece is not None), default=0)
    values = np.full((len(pieces), width), np.nan)
    statistics = np.zeros((len(pieces), len(STATISTICS)))
    for row, piece in enumerate(pieces):
        if piece is None:
            statistics[row, :3] = np.nan
            continue
        values[row, : len(piece.numbers)] = piece.numbers
        statistics[row] = piece.statistics if piece.statistics is not None else statistics_of(piece.numbers)
    shape = next((piece.shape for piece in pieces if piece is not None), ())
    return replace(head, shape=tuple(map(int, shape)), statistics=statistics, values=values)


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
        self._pieces: StepValues = {}  # of the present step
        self._constant: dict[int, tuple[Any, Piece]] = {}
        self._chosen: list[TraceHead] | None = None
        self._limits = {head.register: NUMBERS for head in heads}  # numbers kept, by register
        self._checked: list[int] = []  # registers in which a NaN is an event of a step

    @property
    def has_event(self) -> bool:
        """True if a NaN or an infinity was seen."""
        return self._seen_nan or self._seen_inf

    def begin_step(self, registers: Sequence[int], values: Sequence[Any], constants: int) -> None:
        """Take the inputs of a step; the last ``constants`` of them are the same in every step."""
        self._pieces = {}
        changing = len(registers) - constants
        self.give(registers[:changing], values[:changing])
        for register, value in zip(registers[changing:], values[changing:], strict=True):
            if register in self._limits:
                known = self._constant.get(register)
                if known is None or known[0] is not value:
                    known = self._constant[register] = (value, piece_of(value, self._limits[register]))
                self._pieces[register] = known[1]

    def give(self, registers: Sequence[int], values: Sequence[Any]) -> None:
        """Take values of the step."""
        for register, value in zip(registers, values, strict=True):
            if register in self._limits:
                self._pieces[register] = piece_of(value, self._limits[register])

    def end_step(self) -> None:
        """Keep the step, and release steps without a reason to be kept."""
        if self._chosen is None:
            self._chosen = self._plan()
        step = self.done
        self.done += 1
        if not self._chosen:
            return
        self._kept.take(step, self._pieces)
        checked = [self._pieces[register] for register in self._checked if register in self._pieces]
        larger = [piece.statistics for piece in checked if piece.statistics is not None]
        numbers = np.concatenate([piece.numbers for piece in checked]) if checked else np.zeros(0)
        if larger or not np.isfinite(numbers).all():
            nan = bool(np.isnan(numbers).any()) or any(found[3] for found in larger)
            infinite = bool(np.isinf(numbers).any()) or any(found[4] for found in larger)
            self._note(step, nan, infinite)

    def finish(self) -> None:
        """Release the engine's arrays at the end of the run."""
        self._pieces = {}
        self._constant.clear()

    def _note(self, step: int, nan: bool, infinite: bool) -> None:
        if (nan and not self._seen_nan) or (infinite and not self._seen_inf):
            self._kept.mark(step)
        self._seen_nan, self._seen_inf = self._seen_nan or nan, self._seen_inf or infinite

    def _plan(self) -> list[TraceHead]:
        """Decide from the first step which variables are kept, and how many numbers of each; return the variables."""
        rows = max(1, min(ROWS, self._n_steps))
        head_bytes = HEAD_BYTES + rows * 8 * (len(STATISTICS) + 1)
        order = sorted(range(len(self.heads)), key=lambda k: (_ORDER[self.heads[k].record.role], k))
        chosen = [self.heads[k] for k in sorted(order[: max(0, self._allowance // head_bytes)])]
        pieces = [self._pieces.get(head.register) for head in chosen]
        sizes = [0 if piece is None else piece.size for piece in pieces]
        left, limit = self._allowance - head_bytes * len(chosen), NUMBERS
        while limit and rows * 8 * sum(min(size, limit) for size in sizes) > left:
            limit //= 2
        self._limits = {head.register: min(size, limit) for head, size in zip(chosen, sizes, strict=True)}
        self._constant.clear()  # taken under the old limit
        self._pieces = {
            register: _shortened(piece, self._limits[register])
            for register, piece in self._pieces.items()
            if register in self._limits
        }
        self._checked = list(dict.fromkeys(head.register for head in chosen if not _is_constant(head)))
        self.bytes = head_bytes * len(sizes) + 8 * rows * sum(min(size, limit) for size in sizes)
        return chosen

    def record(self, loop: int) -> TraceRecord:
        """Return the kept values as a record."""
        reasons, chosen = self._kept.reasons(), self._chosen or []
        rows = [self._kept.rows[step] for step in reasons]
        return TraceRecord(
            loop=loop,
            run=self.number,
            total_steps=self.done,
            steps=tuple(reasons),
            reasons=tuple(reasons.values()),
            variables=tuple(
                traced_variable(head.record, [row.get(head.register) for row in rows]) for head in chosen
            ),
            left_out=len(self.heads) - len(chosen),
        )


def _is_constant(head: TraceHead) -> bool:
    """Return whether a value is the same in every step, so that a NaN in it is no event of a step."""
    return head.record.role == "input" and head.record.tap is None
