"""Which rows of what the caller gave an operation of a step was made of.

Rows and other views lie in the memory of the array that they show, so an address tells which part of it they are, whatever was
sliced, reversed or transposed.  What was computed for all steps at once is followed back by the axes that its operations go along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction
from scanviz.profiler.values.frame import OpenCall
from scanviz.profiler.values.origin import moves_only

MOST = 6  # rows that are named
_DEEPEST = 200  # registers that are looked at


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


__all__ = ["rows_given"]
