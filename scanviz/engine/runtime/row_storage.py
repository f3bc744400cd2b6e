"""The rows of a loop while it runs: states, step outputs and carries, in bounded memory.

The row of step t and tap k of a state is at ``(offset + t + k) % size``.  If all rows are kept, size is ``offset + n`` and nothing
wraps.  If only the last rows are kept, a ring of ``max(kept, offset) + 1`` rows is enough: no step reads the row that it writes.  A
loop with a stop condition may end long before its maximum: its rows grow when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.program.instructions import (
    AnyInstruction,
    LoopInstruction,
    Program,
    StateSlot,
    StepOutputSlot,
    dtype_of,
)
from scanviz.engine.program.plan import wraps
from scanviz.engine.program.plan.location import are_worth_over, packed, ring_size
from scanviz.engine.program.shapes import KnownValues, partial_shapes

if TYPE_CHECKING:
    from scanviz.engine.runtime.array_module import ArrayModule

RunInstruction = Callable[[Program, AnyInstruction, Sequence[Any]], Sequence[Any]]
# initial room of a loop with a stop condition: steps, and bytes of each result; at least one row
FIRST_ROOM = 1024
FIRST_BYTES = 1 << 20


def count_steps(loop: LoopInstruction, value: Any) -> int:
    """Return the number of steps, refusing negative ones."""
    count = int(value)
    if count < 0:
        from scanviz.engine.ops.size_checks import negative_steps

        raise negative_steps(loop.name, count, loop.provenance.source)
    return count


def first_room(loop: LoopInstruction, steps: int, row_bytes: int) -> int:
    """Return the number of steps that get rows, of so many bytes each, before the first step."""
    if loop.until is None:
        return steps
    return min(steps, FIRST_ROOM, max(1, FIRST_BYTES // max(1, row_bytes)))


def check_sequences(loop: LoopInstruction, arrays: Sequence[Any], steps: int) -> None:
    """Check that every sequence has a row for each step."""
    for slot, array in zip(loop.sequences, arrays, strict=True):
        if len(array) < steps:
            from scanviz.engine.ops.size_checks import short_sequence

            read = f"`{slot.name}`{f', read at tap {slot.tap},' if slot.tap else ''}"
            raise short_sequence(read, loop.name, len(array), steps, loop.provenance.source)


class StateForm:
    """The facts of a state that all runs of its loop share.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    slot : StateSlot
        The state.
    place : int
        Position of its initial rows among the inputs of the loop.
    module : ArrayModule
        The array library.
    """

    __slots__ = (
        "_known",
        "dtype",
        "is_mitmot",
        "is_sitsot",
        "loop",
        "module",
        "offset",
        "place",
        "slot",
        "taps",
        "wraps",
    )

    def __init__(self, loop: LoopInstruction, slot: StateSlot, place: int, module: ArrayModule) -> None:
        self.loop, self.slot, self.place, self.module = loop, slot, place, module
        self.dtype = np.dtype(dtype_of(loop.body, slot.writes[0][1]))
        self.is_mitmot, self.is_sitsot = slot.kind == "mitmot", slot.kind == "sitsot"
        self.offset, self.wraps = slot.offset, wraps(slot)
        self.taps = max(tap for tap, _ in (*slot.reads, *slot.writes))
        self._known = (-1, -1)

    @property
    def grows(self) -> bool:
        """True if all rows are kept, each in its own place."""
        return not (self.wraps or self.is_mitmot)

    def rows(self, steps: int, row_shape: Sequence[int]) -> int:
        """Return the number of rows at the begin of a run."""
        if self.loop.until is not None and self.grows:
            return self.slot.offset + first_room(self.loop, steps, prod(row_shape) * self.dtype.itemsize)
        # usually as in the run before; one assignment, since threads share it
        known, found = self._known
        if known != steps:
            found = ring_size(self.slot, steps) if self.wraps else self.slot.offset + steps
            self._known = (steps, found)
        return found


class StateRows:
    """The buffer of one state.

    Parameters
    ----------
    form : StateForm
        The state.
    initial : array
        Its initial rows: one row of a sitsot, the whole buffer of a mitmot.
    steps : int
        Number of wanted steps.
    """

    __slots__ = ("array", "form", "row_shape", "size")

    def __init__(self, form: StateForm, initial: Any, steps: int) -> None:
        self.form = form
        if form.is_sitsot:
            self.row_shape, self.size = initial.shape, form.rows(steps, initial.shape)
            self.array = form.module.empty((self.size, *self.row_shape), form.dtype)
            self.array[0] = form.module.from_host(initial)
        elif form.is_mitmot:
            self.array = initial if form.slot.in_place else form.module.copy(initial)
            self.size, self.row_shape = len(initial), initial.shape[1:]
            needed = form.offset + steps + form.taps if steps else 0
            if self.size < needed:
                from scanviz.engine.runtime.errors import short_state

                raise short_state(form.loop, form.slot, self.size, needed)
        else:
            if len(initial) != form.offset:
                from scanviz.engine.runtime.errors import long_state, short_state

                of_other_length = short_state if len(initial) < form.offset else long_state
                raise of_other_length(form.loop, form.slot, len(initial), form.offset)
            self.row_shape, self.size = initial.shape[1:], form.rows(steps, initial.shape[1:])
            self.array = form.module.empty((self.size, *self.row_shape), form.dtype)
            self.array[: form.offset] = initial

    @property
    def slot(self) -> StateSlot:
        """The state."""
        return self.form.slot

    def reserve(self, room: int) -> None:
        """Make room for ``room`` steps, keeping the rows so far."""
        form = self.form
        if form.grows and form.offset + room > self.size:
            self.size = form.offset + room
            self.array = enlarged(form.module, self.array, self.size)

    def row(self, step: int, tap: int) -> Any:
        """Return the row that a tap reads at a step."""
        return self.array[self.position(step, tap)]

    def position(self, step: int, tap: int) -> int:
        """Return the number of the row of a tap at a step."""
        place = self.form.offset + step + tap
        return place if self.form.is_mitmot else place % self.size

    def write(self, step: int, tap: int, value: Any) -> None:
        """Store a row, refusing another shape."""
        if tuple(value.shape) != self.row_shape:
            from scanviz.engine.runtime.errors import changed_shape

            raise changed_shape(self.form.loop, self.slot, step, self.row_shape, tuple(value.shape))
        self.array[self.position(step, tap)] = value

    def window(self, step: int) -> Any:
        """Return a copy of the rows that steps before this one may have written and it or later ones may still read."""
        return self.array[self._window(step)]

    def restore(self, step: int, rows: Any) -> None:
        """Put the rows in place that :meth:`window` returned, in a buffer that is as it was before the first step."""
        self.array[self._window(step)] = rows

    def _window(self, step: int) -> Any:
        taps = [tap for tap, _ in (*self.slot.reads, *self.slot.writes)]
        after = max(tap for tap, _ in self.slot.writes)
        return np.array([self.position(step, tap) for tap in range(min(taps), after)], np.int64)

    def history(self, done: int) -> Any:
        """Return the initial rows and those of ``done`` steps, of a buffer that keeps all rows."""
        return self.array[: self.form.offset + done]

    def result(self, done: int) -> Any:
        """Return the rows of the result after ``done`` steps."""
        form = self.form
        if form.is_mitmot:
            return self.array
        keep = form.slot.keep_last
        kept = done if keep is None or keep > done else keep
        return last_rows(form.module, self.array, form.offset + done, kept)


def enlarged(module: ArrayModule, array: Any, rows: int) -> Any:
    """Return a copy of an array, extended to ``rows`` rows."""
    larger = module.empty((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def last_rows(module: ArrayModule, array: Any, end: int, kept: int) -> Any:
    """Return the ``kept`` rows before row ``end`` of a ring buffer."""
    size, start = len(array), end - kept
    if end <= size:
        return array[start:end]
    if not kept:
        return array[:0]
    if start % size + kept <= size:
        return array[start % size : start % size + kept]
    rows, first = module.empty((kept, *array.shape[1:]), array.dtype), size - start % size
    rows[:first] = array[start % size :]
    rows[first:] = array[: kept - first]
    return rows


class OutputForm:
    """The facts of a step output that all runs of its loop share.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    slot : StepOutputSlot
        The output.
    module : ArrayModule
        The array library.
    """

    __slots__ = ("backwards", "dtype", "keep", "loop", "module", "slot")

    def __init__(self, loop: LoopInstruction, slot: StepOutputSlot, module: ArrayModule) -> None:
        self.loop, self.slot, self.module, self.keep = loop, slot, module, slot.keep_last
        self.dtype = np.dtype(dtype_of(loop.body, slot.inner))
        self.backwards = slot.backwards and module.lays_backwards

    def made(self, rows: int, row_shape: tuple[int, ...], over: Any = None) -> tuple[Any, bool]:
        """Return an array for the rows, and whether it is a donated sequence whose rows the steps overwrite.

        Parameters
        ----------
        rows : int
            Number of rows.
        row_shape : tuple of int
            Shape of a row.
        over : array, optional
            A sequence that may be overwritten: each step reads its row before it writes.
        """
        if over is not None and self._fits(over, row_shape):
            taken = over[:rows]
            if are_worth_over(rows, taken.nbytes, len(over)):
                return taken, True
        made = self.module.empty((rows, *row_shape), self.dtype)
        return (made[::-1] if self.backwards else made), False

    def _fits(self, sequence: Any, row_shape: tuple[int, ...]) -> bool:
        """Return whether a sequence is writable and has the strides of the output."""
        row = packed(row_shape, self.dtype.itemsize)
        step = row_shape[0] * row[0] if row_shape else self.dtype.itemsize
        strides = (-step if self.backwards else step, *row)
        return bool(sequence.dtype == self.dtype and sequence.strides == strides and sequence.flags.writeable)


class OutputRows:
    """The rows of one step output, made once the shape of a row is known.

    Parameters
    ----------
    form : OutputForm
        The output.
    steps : int
        Number of wanted steps.
    """

    __slots__ = ("array", "form", "is_over", "row_shape", "size", "steps")

    def __init__(self, form: OutputForm, steps: int) -> None:
        self.form, self.is_over, self.steps = form, False, steps
        # one row if both their shape and their number are unknown
        known = steps if form.loop.until is None else 1
        self.size = min(steps, known if form.keep is None else form.keep)
        self.row_shape: tuple[int, ...] | None = None
        self.array: Any = None

    @property
    def slot(self) -> StepOutputSlot:
        """The output."""
        return self.form.slot

    def start(self, row_shape: tuple[int, ...], over: Any = None) -> None:
        """Make the buffer, or take over a sequence that steps may overwrite."""
        self.row_shape = row_shape
        if self.form.keep is None:
            row_bytes = prod(row_shape) * self.form.dtype.itemsize
            self.size = max(self.size, first_room(self.form.loop, self.steps, row_bytes))
        self.array, self.is_over = self.form.made(self.size, row_shape, over)

    def reserve(self, room: int) -> None:
        """Make room for ``room`` steps, keeping the rows so far."""
        if self.form.keep is None and room > self.size:
            self.size = room
            if self.array is not None:
                self.array = enlarged(self.form.module, self.array, room)

    def write(self, step: int, value: Any) -> None:
        """Store a row; raise if its shape differs from the first row's."""
        if self.slot.result is None:
            return
        if self.row_shape is None:
            self.start(tuple(value.shape))
        elif tuple(value.shape) != self.row_shape:
            from scanviz.engine.runtime.errors import changed_shape

            raise changed_shape(self.form.loop, self.slot, step, self.row_shape, tuple(value.shape))
        if self.size:
            self.array[step % self.size] = value

    def result(self, done: int, fallback: tuple[int, ...]) -> Any:
        """Return the kept rows; after no step, an empty array of rows of shape ``fallback``."""
        if self.array is None:
            self.start(fallback)
        return last_rows(self.form.module, self.array, done, min(self.size, done))


def row_shape_without_steps(
    loop: LoopInstruction,
    inner: int,
    inputs: Sequence[tuple[int, ...]],
    constants: Sequence[Any],
    run: RunInstruction | None,
    module: ArrayModule,
) -> tuple[int, ...]:
    """Return the row shape of a step's result for a loop that takes no step.

    It follows from the shapes of the step's inputs and the values of its non-sequences.  A size that depends on the values of a
    row, such as the number of elements that a mask picks, is 0.

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
        Runs one instruction of the step; None computes nothing.
    module : ArrayModule
        The array library.
    """
    found = partial_shapes(loop.body, inputs)[inner]
    if None in found and run is not None:
        values = dict(zip((slot.inner for slot in loop.non_sequences), constants, strict=True))
        found = partial_shapes(loop.body, inputs, KnownValues(values, run, module.empty))[inner]
    return tuple(0 if size is None else size for size in found)
