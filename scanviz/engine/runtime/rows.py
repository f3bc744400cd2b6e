"""The rows of a loop while it runs: states, step outputs and carries, in bounded memory.

The row of step t and tap k of a state lies at ``(offset + t + k) % size``.  Where all rows are kept, size is
``offset + n`` and nothing wraps; where only the last are, a ring of ``max(kept, offset) + 1`` rows is enough: no row that
is read in a step is the row written in it.  A loop with a stop condition may end long before its maximum: its rows grow as
they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.program.instructions import (
    AnyInstruction,
    LoopInstruction,
    Program,
    StateSlot,
    StepOutputSlot,
    dtype_of,
)
from scanviz.engine.program.plan import wraps
from scanviz.engine.program.plan.arena import ring_size
from scanviz.engine.program.shapes import KnownValues, partial_shapes
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.errors import changed_shape, negative_steps, short_sequence, short_state

RunInstruction = Callable[[Program, AnyInstruction, Sequence[Any]], Sequence[Any]]
FIRST_ROOM = 1024  # steps that a loop with a stop condition has rows for at first


def count_steps(loop: LoopInstruction, value: Any) -> int:
    """Return the number of steps, refusing negative ones."""
    count = int(value)
    if count < 0:
        raise negative_steps(loop, count)
    return count


def first_room(loop: LoopInstruction, steps: int) -> int:
    """Return the number of steps to make rows for before the first step."""
    return steps if loop.until is None else min(steps, FIRST_ROOM)


def check_sequences(loop: LoopInstruction, arrays: Sequence[Any], steps: int) -> None:
    """Check that every sequence has a row for each step."""
    for slot, array in zip(loop.sequences, arrays, strict=True):
        if len(array) < steps:
            raise short_sequence(loop, slot.name, slot.tap, len(array), steps)


class StateRows:
    """The buffer of one state."""

    __slots__ = ("array", "loop", "module", "row_shape", "size", "slot")

    def __init__(
        self,
        loop: LoopInstruction,
        slot: StateSlot,
        initial: Any,
        steps: int,
        dtype: str,
        module: ArrayModule,
    ) -> None:
        self.loop, self.slot, self.module = loop, slot, module
        if slot.kind == "mitmot":
            self.array = initial if slot.in_place else module.copy(initial)
            self.size, self.row_shape = len(initial), tuple(initial.shape[1:])
            taps = [tap for tap, _ in (*slot.reads, *slot.writes)]
            needed = slot.offset + steps + max(taps) if steps else 0
            if self.size < needed:
                raise short_state(loop, slot, self.size, needed)
            return
        first = module.from_host(initial[None]) if slot.kind == "sitsot" else initial
        if len(first) < slot.offset:
            raise short_state(loop, slot, len(first), slot.offset)
        rows = ring_size(slot, steps) if wraps(slot) else slot.offset + first_room(loop, steps)
        self.size, self.row_shape = rows, tuple(first.shape[1:])
        self.array = module.empty((self.size, *self.row_shape), dtype)
        self.array[: slot.offset] = first[: slot.offset]

    def reserve(self, room: int) -> None:
        """Make rows for ``room`` steps, keeping what is there."""
        if not wraps(self.slot) and self.slot.kind != "mitmot" and self.slot.offset + room > self.size:
            self.size = self.slot.offset + room
            self.array = enlarged(self.module, self.array, self.size)

    def row(self, step: int, tap: int) -> Any:
        """Return the row that a tap reads at a step."""
        return self.array[self.position(step, tap)]

    def position(self, step: int, tap: int) -> int:
        """Return the number of the row of a tap at a step."""
        place = self.slot.offset + step + tap
        return place if self.slot.kind == "mitmot" else place % self.size

    def write(self, step: int, tap: int, value: Any) -> None:
        """Store a row, refusing another shape."""
        if tuple(value.shape) != self.row_shape:
            raise changed_shape(self.loop, self.slot, step, self.row_shape, tuple(value.shape))
        self.array[self.position(step, tap)] = value

    def history(self, done: int) -> Any:
        """Return the initial rows and those of ``done`` steps: all rows, in a buffer that keeps all."""
        return self.array[: self.slot.offset + done]

    def result(self, done: int) -> Any:
        """Return the rows of the result after ``done`` steps."""
        if self.slot.kind == "mitmot":
            return self.array
        kept = done if self.slot.keep_last is None else min(self.slot.keep_last, done)
        return last_rows(self.module, self.array, self.slot.offset + done, kept)


def enlarged(module: ArrayModule, array: Any, rows: int) -> Any:
    """Return an array of ``rows`` rows that begins with those of ``array``."""
    larger = module.empty((rows, *array.shape[1:]), str(array.dtype))
    larger[: len(array)] = array
    return larger


def last_rows(module: ArrayModule, array: Any, end: int, kept: int) -> Any:
    """Return the ``kept`` rows before row ``end`` of a buffer that wraps at its length."""
    size, start = len(array), end - kept
    if end <= size or not kept:
        start, end = min(start, size), min(end, size)
        return array[start:end]
    if start % size + kept <= size:
        return array[start % size : start % size + kept]
    rows, first = module.empty((kept, *array.shape[1:]), str(array.dtype)), size - start % size
    rows[:first] = array[start % size :]
    rows[first:] = array[: kept - first]
    return rows


class OutputRows:
    """The rows of one step output; made when the shape of the first row is known."""

    __slots__ = ("array", "dtype", "loop", "module", "row_shape", "size", "slot")

    def __init__(self, loop: LoopInstruction, slot: StepOutputSlot, steps: int, module: ArrayModule) -> None:
        self.loop, self.slot, self.module = loop, slot, module
        self.dtype = dtype_of(loop.body, slot.inner)
        self.size = first_room(loop, steps) if slot.keep_last is None else min(steps, slot.keep_last)
        self.row_shape: tuple[int, ...] | None = None
        self.array: Any = None

    def start(self, row_shape: tuple[int, ...]) -> None:
        """Make the buffer."""
        self.row_shape = row_shape
        self.array = self.module.empty((self.size, *row_shape), self.dtype)

    def reserve(self, room: int) -> None:
        """Make rows for ``room`` steps, keeping what is there."""
        if self.slot.keep_last is None and room > self.size:
            self.size = room
            if self.array is not None:
                self.array = enlarged(self.module, self.array, room)

    def write(self, step: int, value: Any) -> None:
        """Store a row, refusing another shape than the first one's."""
        if self.slot.result is None:
            return
        if self.row_shape is None:
            self.start(tuple(value.shape))
        elif tuple(value.shape) != self.row_shape:
            raise changed_shape(self.loop, self.slot, step, self.row_shape, tuple(value.shape))
        if self.size:
            self.array[step % self.size] = value

    def result(self, done: int, fallback: tuple[int, ...]) -> Any:
        """Return the rows kept; with no step done, no rows of shape ``fallback``."""
        if self.array is None:
            self.start(fallback)
        return last_rows(self.module, self.array, done, min(self.size, done))


def row_shape_without_steps(
    loop: LoopInstruction,
    inner: int,
    inputs: Sequence[tuple[int, ...]],
    constants: Sequence[Any],
    run: RunInstruction | None,
    module: ArrayModule,
) -> tuple[int, ...]:
    """Return the shape that rows of a step's result would have had, for a loop that takes no step.

    It follows from the shapes of the step's inputs and the values of its non-sequences.  A size that depends on the
    values of a row, such as how many elements a mask picks of it, is taken as 0.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    inner : int
        Register of the result in the step.
    inputs : sequence of tuple
        Shapes of the step's inputs.
    constants : sequence
        Values of the non-sequences.
    run : callable or None
        Runs one instruction of the step; without it nothing is computed.
    module : ArrayModule
        Where arrays come from.
    """
    found = partial_shapes(loop.body, inputs)[inner]
    if None in found and run is not None:
        values = dict(zip((slot.inner for slot in loop.non_sequences), constants, strict=True))
        found = partial_shapes(loop.body, inputs, KnownValues(values, run, module.empty))[inner]
    return tuple(0 if size is None else size for size in found)
