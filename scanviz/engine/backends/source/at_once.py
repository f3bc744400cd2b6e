"""The lines of a loop that take many steps at once, where its states are accumulated.

Which loops these are says :mod:`scanviz.engine.backends.accumulated`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends import accumulated
from scanviz.engine.backends.accumulated import Accumulated
from scanviz.engine.program.plan import StoreKind, wraps

if TYPE_CHECKING:
    from scanviz.engine.backends.source.loop import LoopWriter


def condition(writer: LoopWriter) -> str:
    """Return the source of what holds where there are steps enough."""
    steps = "last" if writer.first == "0" else f"last - {writer.first}"
    return f"{steps} >= {accumulated.FEWEST}"


def lines_at_once(writer: LoopWriter, found: tuple[Accumulated, ...]) -> Iterator[str]:
    """Iterate over the lines of all steps."""
    loop, timed = writer.loop, writer.variant == "steps"
    most = accumulated.steps_at_once(loop, writer.plan)
    blocks = [_Block(writer, k) for k in range(len(loop.states))]
    for block in blocks:
        yield from block.begin(most)
    if timed:
        yield "record = arena.record"
        yield f"record({writer.first})"
    yield f"for t in range({writer.first}, last, {most}):"
    yield f"    end = min(t + {most}, last)"
    for block, how in zip(blocks, found, strict=True):
        yield f"    {block.name} = {block.rows()}"
        if how.sequence is not None:
            yield f"    {block.name}[1:] = {writer.sequences[how.sequence]}[t:end]"
        call = writer.emitter.bind(how.ufunc.accumulate, f"{how.ufunc.__name__}_up")
        yield f"    {call}({block.name}, 0, None, {block.name})"
    for k, slot in enumerate(loop.step_outputs):
        row = accumulated.row_of(loop, slot.inner)
        if row is not None and slot.result is not None:
            state, is_written = row
            yield f"    {writer.outputs[k]}[t:end] = {blocks[state].name}{'[1:]' if is_written else '[:-1]'}"
    for block in blocks:
        yield from (f"    {text}" for text in block.hand_on())
    if timed:
        yield "    record(end)"
    for block in blocks:
        yield from block.end()


class _Block:
    """The rows of a state that are filled at once, with the one before them: its own, or room where only the last row is kept."""

    def __init__(self, writer: LoopWriter, k: int) -> None:
        self.writer, self.k = writer, k
        self.slot, self.store = writer.loop.states[k], writer.plan.stores["state", k]
        self.name = writer.emitter.fresh(f"{self.slot.name}_block")
        kept = self.store.kind in (StoreKind.WHOLE, StoreKind.TAKEN)
        self.room = None if kept else writer.emitter.fresh(f"{self.slot.name}_room")

    def begin(self, most: int) -> Iterator[str]:
        """Iterate over the lines before the first steps."""
        if self.room is not None:
            writer, row = self.writer, self.store.row
            assert row is not None
            empty = writer.emitter.bind(np.empty, "empty")
            dtype = writer.emitter.bind(np.dtype(self.store.dtype), "dtype")
            yield f"{self.room} = {empty}((min(last - {writer.first}, {most}) + 1, *{row}), {dtype})"
            yield f"{self.room}[0] = {writer.states[self.k]}[{writer.place_of(self.k, writer.first, -1)}]"

    def rows(self) -> str:
        """Return the source of the rows of steps ``t`` to ``end``."""
        if self.room is not None:
            return f"{self.room}[:end - t + 1]"
        shift = self.slot.offset - (self.slot.kind != "mitmot")
        return f"{self.writer.states[self.k]}[{f't + {shift}' if shift else 't'}:end + {shift + 1}]"

    def hand_on(self) -> Iterator[str]:
        """Iterate over the lines that hand the last row on to the next steps."""
        if self.room is not None:
            yield f"{self.room}[0] = {self.name}[-1]"

    def end(self) -> Iterator[str]:
        """Iterate over the lines that keep the last row where the steps do."""
        if self.room is None:
            return
        if self.store.kind is StoreKind.PAIR or not wraps(self.slot):
            place = self.writer.place_of(self.k, "last", -1)
            yield f"{self.writer.states[self.k]}[{place}] = {self.room}[0]"
        else:
            yield f"{self.writer.history[self.k][0]} = {self.room}[0]"
