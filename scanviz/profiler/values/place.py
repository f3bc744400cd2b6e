"""Which rows of what the caller gave an operation of a step was made of.

Rows and other views lie in the memory of the array that they show, so an address tells which part of it they are, whatever was
sliced, reversed or transposed.  What was computed for all steps at once is followed back by the axes that its operations go along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction
from scanviz.profiler.values.frame import OpenCall, moves_only

# At which step of a loop a row was written that an operation behind the loop was made of.
#
# What a step computes of its results alone is often done behind the loop, for all steps at once.  Then a number that should not be
# is met outside of loops, and its place says which step it belongs to: it is followed back by the axes that operations go
# along, and through what only shows numbers of others, until a loop wrote it.

Place = tuple[int | None, ...]  # of numbers in a value: None along an axis on all of which they may lie
_DEEPEST = 200  # places, or registers, that are looked at


def steps_written(
    frame: OpenCall, register: int, where: tuple[int, ...]
) -> Iterator[tuple[LoopInstruction, int]]:
    """Iterate over the loops, with their steps, that wrote the rows which a number in a value was made of.

    Parameters
    ----------
    frame : OpenCall
        What the value belongs to; loops are in the same Program.
    register : int
        The value.
    where : tuple of int
        Where in it something is wrong.
    """
    return _written(frame, register, where, set())


def _written(
    frame: OpenCall, register: int, place: Place, seen: set[tuple[int, Place]]
) -> Iterator[tuple[LoopInstruction, int]]:
    if (register, place) in seen or len(seen) > _DEEPEST or all(at is None for at in place):
        return
    seen.add((register, place))
    maker = next((maker for maker in frame.program.instructions if register in maker.outputs), None)
    if isinstance(maker, LoopInstruction):
        step = None if place[0] is None else _step(frame, maker, register, place[0])
        if step is not None:
            yield maker, step
    elif isinstance(maker, Instruction) and moves_only(maker):
        shown = _shown_row(frame, maker, place)
        source = maker.inputs[maker.op.declaration.views or 0]
        if shown is not None:
            yield from _written(frame, source, shown, seen)
    elif isinstance(maker, Instruction):
        for position, read in _read(frame, maker, register, place).items():
            yield from _written(frame, maker.inputs[position], read, seen)


def _read(frame: OpenCall, maker: Instruction, register: int, place: Place) -> dict[int, Place]:
    """Return, by input, where an operation reads what it computes a number of, as far as it goes along their axes."""
    axes, registers = maker.op.facts.axes, frame.program.registers
    if axes is None:
        return {}
    given = [registers[number].type.shape for number in maker.inputs]
    made = [registers[number].type.shape for number in maker.outputs]
    found: dict[int, list[int | None]] = {}
    results = dict(zip(maker.outputs, axes(maker.op, given, made), strict=False))
    for at, inputs in zip(place, results.get(register, ()), strict=False):
        for position, axis in inputs.items():
            found.setdefault(position, [None] * len(given[position]))[axis] = at
    return {position: tuple(read) for position, read in found.items()}


def _shown_row(frame: OpenCall, maker: Instruction, place: Place) -> Place | None:
    """Return which row of its input an operation shows at a place, None where it is none or several.

    It is asked to show the numbers of rows, with two sizes for each that nobody knows any more: they must not matter.
    """
    position = maker.op.declaration.views or 0
    given = [frame.value(number) for number in maker.inputs]
    shape = (
        np.shape(given[position]) if given[position] is not None else _shape(frame, maker.inputs[position])
    )
    if not shape:
        return None
    shown: set[int] = set()
    for guess in (1, 1 + max(at or 0 for at in place)) if None in shape else (1,):
        sizes = [guess if size is None else size for size in shape]
        given[position] = np.broadcast_to(np.arange(sizes[0]).reshape(-1, *(1 for _ in sizes[1:])), sizes)
        try:
            rows = np.asarray(maker.op.perform(given)[0])
            at_place = [
                slice(None) if at is None else min(at, size - 1)
                for at, size in zip(place, rows.shape, strict=True)
            ]
            shown.update(np.unique(rows[tuple(at_place)]).tolist())
        except (ScanvizError, ArithmeticError, LookupError, TypeError, ValueError):
            return None  # of numbers that are not known any more
    return (shown.pop(), *(None for _ in shape[1:])) if len(shown) == 1 else None


def _shape(frame: OpenCall, register: int) -> tuple[int | None, ...]:
    """Return the shape of what a loop gave, also after that was let go of: None where nobody knows; empty if no loop gave it."""
    kind = frame.program.registers[register].type
    for loop in frame.program.instructions:
        if isinstance(loop, LoopInstruction) and register in loop.outputs and isinstance(kind, TensorType):
            kept = _kept(frame, loop, register)
            return (len(kept), *kind.shape[1:]) if kept else ()
    return ()


def _step(frame: OpenCall, loop: LoopInstruction, register: int, row: int) -> int | None:
    """Return the step that wrote a row of a loop's result; None for one before the first step, or of a buffer of gradients."""
    kept = _kept(frame, loop, register)
    return kept[row] if kept is not None and row < len(kept) and kept[row] >= 0 else None


def _kept(frame: OpenCall, loop: LoopInstruction, register: int) -> range | None:
    """Return the steps whose rows a loop's result holds, initial rows as those before step 0; None of a buffer of gradients."""
    done = frame.steps_done.get(loop.key)
    if done is None:
        return None
    for state in loop.states:
        if register == state.history:
            return range(-state.offset, done)
        if register == state.result and state.kind != "mitmot":
            return _last(state.keep_last, done)
    for output in loop.step_outputs:
        if register == output.result:
            return _last(output.keep_last, done)
    return None


def _last(rows: int | None, done: int) -> range:
    return range(0 if rows is None else max(0, done - rows), done)


MOST = 6  # rows that are named


def rows_given(
    frames: Sequence[OpenCall], instruction: AnyInstruction, where: tuple[int, ...]
) -> tuple[str, ...]:
    """Return the rows of the function's inputs that an operation was made of, such as ``x[731]``.

    Parameters
    ----------
    frames : sequence of OpenCall
        The call, then the loops that are going on, outer first.
    instruction : instruction
        The operation in the innermost of them.
    where : tuple of int
        Where in its result something is wrong: outside of loops its row is followed.
    """
    if frames[-1].loop is None:
        found = list(_Search(frames).through(0, instruction, where[0])) if where else []
    else:
        found = _of_step(frames, instruction, False) or _of_step(frames, instruction, True)
    return tuple(dict.fromkeys(found))[:MOST]


def _of_step(frames: Sequence[OpenCall], instruction: AnyInstruction, states: bool) -> list[str]:
    search, depth = _Search(frames, states), len(frames) - 1
    return [place for number in instruction.inputs for place in search.in_step(depth, number)]


class _Search:
    """One search back, which looks at no register twice; with ``states`` also at what the step was made of that wrote a state."""

    def __init__(self, frames: Sequence[OpenCall], states: bool = False) -> None:
        self.frames, self.states = frames, states
        self._seen: set[tuple[int, int]] = set()

    def in_step(self, depth: int, register: int) -> Iterator[str]:
        """Iterate over the rows that a value of a step of a loop was made of, through the loops around it."""
        frame = self.frames[depth]
        if (depth, register) in self._seen or len(self._seen) > _DEEPEST:
            return
        self._seen.add((depth, register))
        loop = frame.loop
        if loop is None:
            yield from self.row(depth, register, None)
        elif register in frame.program.inputs:
            if not frame.linked:
                return
            for sequence in loop.sequences:
                if sequence.inner == register:
                    yield from self.row(depth - 1, sequence.outer, frame.step)
            for constant in loop.non_sequences:
                if constant.inner == register and depth > 1:
                    yield from self.in_step(depth - 1, constant.outer)
            if self.states:
                yield from self._written(depth, loop, register)
        else:
            for number in _maker_inputs(frame, register):
                yield from self.in_step(depth, number)

    def _written(self, depth: int, loop: LoopInstruction, register: int) -> Iterator[str]:
        """Iterate over the rows that the step read which wrote a row of a state."""
        step = self.frames[depth].step
        taps = [tap for state in loop.states for tap, read in state.reads if read == register]
        for before in (step + tap for tap in taps if step + tap >= 0):
            for sequence in loop.sequences:
                yield from self.row(depth - 1, sequence.outer, before)
            for constant in loop.non_sequences:
                if depth > 1:
                    yield from self.in_step(depth - 1, constant.outer)

    def row(self, depth: int, register: int, row: int | None) -> Iterator[str]:
        """Iterate over the rows of inputs that a row of a value around a loop is, or was computed of."""
        frame = self.frames[depth]
        value = _value(frame, register)
        if row is not None and isinstance(value, np.ndarray) and value.ndim and row < len(value):
            value = value[row : row + 1]
        place = self._place(value) if isinstance(value, np.ndarray) else ""
        if place:
            yield place
        elif depth and frame.loop is not None:
            yield from self.in_step(depth, register)
        elif row is not None:
            maker = next((maker for maker in frame.program.instructions if register in maker.outputs), None)
            if maker is not None:
                yield from self.through(depth, maker, row)

    def through(self, depth: int, instruction: AnyInstruction, row: int) -> Iterator[str]:
        """Iterate over the rows of inputs that a row of an operation's result was computed of."""
        if not isinstance(instruction, Instruction) or len(self._seen) > _DEEPEST:
            return
        axes, frame = instruction.op.facts.axes, self.frames[depth]
        if axes is None:
            return
        registers = frame.program.registers
        given = [registers[number].type.shape for number in instruction.inputs]
        made = [registers[number].type.shape for number in instruction.outputs]
        along = axes(instruction.op, given, made)
        for position, axis in (along[0][0] if along and along[0] else {}).items():
            number = instruction.inputs[position]
            if axis == 0 and (depth, number) not in self._seen:
                self._seen.add((depth, number))
                yield from self.row(depth, number, row)

    def _place(self, value: np.ndarray[Any, Any]) -> str:
        program = self.frames[0].program
        for place, (number, given) in enumerate(zip(program.inputs, self.frames[0].inputs, strict=True)):
            found = _part(np.asarray(given), value)
            if found:
                return f"{program.registers[number].name or f'input {place}'}[{', '.join(map(str, found))}]"
        return ""


def _value(frame: OpenCall, register: int) -> Any:
    """Return the value of a register; of what only shows another value, also after it was let go of."""
    value = frame.value(register)
    if value is None and register in frame.program.inputs:
        return frame.inputs[frame.program.inputs.index(register)]
    maker = next((maker for maker in frame.program.instructions if register in maker.outputs), None)
    if value is not None or not isinstance(maker, Instruction) or not moves_only(maker):
        return value
    given = [_value(frame, number) for number in maker.inputs]
    return None if any(value is None for value in given) else maker.op.perform(given)[0]


def _maker_inputs(frame: OpenCall, register: int) -> tuple[int, ...]:
    maker = next((maker for maker in frame.program.instructions if register in maker.outputs), None)
    return maker.inputs if maker is not None and not isinstance(maker, LoopInstruction) else ()


def _part(given: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Return the indices that the first and the last element of a view have in common in the array that it shows.

    Examples
    --------
    >>> x = np.zeros((5, 3))
    >>> _part(x, x[::-1][1]), _part(x, x[2:3, 1:2]), _part(x, x), _part(x, x + 1)
    ((3,), (2, 1), (), ())
    """
    if given.dtype != value.dtype or not given.flags.c_contiguous or not given.ndim or not value.size:
        return ()
    begin = _address(given, [0] * given.ndim)
    ends = [[0] * value.ndim, [size - 1 for size in value.shape]]
    offsets = [(_address(value, end) - begin) // given.itemsize for end in ends]
    if not all(0 <= offset < given.size for offset in offsets):
        return ()
    first, last = (np.unravel_index(offset, given.shape) for offset in offsets)
    differ = next(
        (k for k, (one, other) in enumerate(zip(first, last, strict=True)) if one != other), given.ndim
    )
    return tuple(int(index) for index in first[:differ])


def _address(array: np.ndarray[Any, Any], index: Sequence[int]) -> int:
    begin = int(array.__array_interface__["data"][0])
    return begin + sum(k * stride for k, stride in zip(index, array.strides, strict=True))
