"""Buffers: memory made before the first step, which results of known shapes are written into and share one after another."""

from __future__ import annotations

import numpy as np

from scanviz.engine.program.instructions import Instruction, dtype_of
from scanviz.engine.program.plan.draft import Draft
from scanviz.engine.program.plan.location import Buffer, aligned

Key = tuple[tuple[int, ...], str]


def place_buffers(draft: Draft, reuse: bool) -> None:
    """Give each result that can be written into memory, and has no place yet, a buffer.

    Parameters
    ----------
    draft : Draft
        What is decided so far; is changed.
    reuse : bool
        Whether buffers may be shared and written over.
    """
    free: dict[Key, list[int]] = {}
    for time, group in enumerate(draft.groups):
        touched: set[int] = set()
        for index in group:
            instruction = draft.program.instructions[index]
            touched |= {*instruction.inputs, *instruction.outputs}
            number = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
            if number >= 0 and number not in draft.located and draft.shapes[number]:
                maker = draft.writable(number)
                if maker is not None:
                    _place(draft, maker, number, free, reuse)
        if reuse:
            _let_go(draft, touched, time, free)


def _place(draft: Draft, maker: Instruction, number: int, free: dict[Key, list[int]], reuse: bool) -> None:
    shape = draft.shapes[number]
    assert shape is not None
    key = (shape, dtype_of(draft.program, number))
    for old in _candidates(draft, maker, number) if reuse else ():
        place = draft.located.get(old)
        mine = isinstance(place, Buffer) and old not in draft.shared
        if (
            mine
            and isinstance(place, Buffer)
            and draft.buffers[place.number] == key
            and draft.may_take_over(number, old)
        ):
            draft.located[number] = place
            draft.take_over(number, old)
            return
    waiting = free.get(key)
    if waiting:
        draft.located[number] = Buffer(waiting.pop())
        return
    draft.buffers.append(key)
    draft.located[number] = Buffer(len(draft.buffers) - 1)


def _candidates(draft: Draft, maker: Instruction, number: int) -> list[int]:
    """Return the registers that the result may be written over: those the instruction names, then others of its group."""
    found = [maker.inputs[k] for k in draft.emits.overwrites(maker, draft.program)]
    group = draft.groups[draft.time[draft.made[number]]]
    if len(group) > 1:
        found += [number for index in group for number in draft.program.instructions[index].inputs]
    return found


def _let_go(draft: Draft, touched: set[int], time: int, free: dict[Key, list[int]]) -> None:
    """Note the buffers that nothing needs after a group."""
    for number in touched:
        place = draft.located.get(number)
        if isinstance(place, Buffer) and draft.needed[number] <= time and number not in draft.given_up:
            kept = free.setdefault(draft.buffers[place.number], [])
            if place.number not in kept:
                kept.append(place.number)


def laid_out(buffers: list[Key]) -> tuple[tuple[int, ...], int]:
    """Return where each buffer begins in one piece of memory, aligned, and how long that is.

    Examples
    --------
    >>> laid_out([((3,), "float64"), ((2, 2), "float32")])
    ((0, 64), 128)
    """
    starts, end = [], 0
    for shape, dtype in buffers:
        starts.append(end)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        end += aligned(size)
    return tuple(starts), end
