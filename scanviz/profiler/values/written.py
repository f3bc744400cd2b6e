"""At which step of a loop a row was written that an operation behind the loop was made of.

What a step computes of its results alone is often done behind the loop, for all steps at once.  Then a number that should not be
is met outside of loops, and its row says which step it belongs to: it is followed back by the axes that operations go along, and
through what only shows rows of others, until a loop wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction
from scanviz.profiler.values.frame import OpenCall
from scanviz.profiler.values.origin import moves_only

_DEEPEST = 200  # registers that are looked at


def steps_written(
    frame: OpenCall, instruction: AnyInstruction, where: tuple[int, ...]
) -> Iterator[tuple[LoopInstruction, int]]:
    """Iterate over the loops, with their steps, that wrote the rows which a row of a result was made of.

    Parameters
    ----------
    frame : OpenCall
        What the operation belongs to.
    instruction : instruction
        The operation; loops are in the same Program.
    where : tuple of int
        Where in its result something is wrong.
    """
    if where and isinstance(instruction, Instruction):
        yield from _through(frame, instruction, where[0], set())


def _through(
    frame: OpenCall, instruction: Instruction, row: int, seen: set[int]
) -> Iterator[tuple[LoopInstruction, int]]:
    axes, registers = instruction.op.facts.axes, frame.program.registers
    if axes is None:
        return
    given = [registers[number].type.shape for number in instruction.inputs]
    made = [registers[number].type.shape for number in instruction.outputs]
    along = axes(instruction.op, given, made)
    for position, axis in (along[0][0] if along and along[0] else {}).items():
        if axis == 0:
            yield from _row(frame, instruction.inputs[position], row, seen)


def _row(frame: OpenCall, register: int, row: int, seen: set[int]) -> Iterator[tuple[LoopInstruction, int]]:
    if register in seen or len(seen) > _DEEPEST:
        return
    seen.add(register)
    maker = next((maker for maker in frame.program.instructions if register in maker.outputs), None)
    if isinstance(maker, LoopInstruction):
        step = _step(frame, maker, register, row)
        if step is not None:
            yield maker, step
    elif isinstance(maker, Instruction) and moves_only(maker):
        shown = _shown_row(frame, maker, row)
        if shown is not None:
            yield from _row(frame, maker.inputs[maker.op.declaration.views or 0], shown, seen)
    elif isinstance(maker, Instruction):
        yield from _through(frame, maker, row, seen)


def _shown_row(frame: OpenCall, maker: Instruction, row: int) -> int | None:
    """Return which row of its input an operation shows as a row: it is asked to show the numbers of rows."""
    place = maker.op.declaration.views or 0
    source = maker.inputs[place]
    given = [frame.value(number) for number in maker.inputs]
    shape = np.shape(given[place]) if given[place] is not None else _shape(frame, source)
    if not shape:
        return None
    given[place] = np.broadcast_to(np.arange(shape[0]).reshape(-1, *(1 for _ in shape[1:])), shape)
    try:
        shown = np.asarray(maker.op.perform(given)[0])[row]
    except (
        ScanvizError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ):  # of sizes that are not known any more
        return None
    return int(shown.flat[0]) if shown.size else None


def _shape(frame: OpenCall, register: int) -> tuple[int, ...]:
    """Return the shape of what a loop gave, also after that was let go of: 1 where nobody knows; empty if no loop gave it."""
    kind = frame.program.registers[register].type
    for loop in frame.program.instructions:
        if isinstance(loop, LoopInstruction) and register in loop.outputs and isinstance(kind, TensorType):
            kept = _kept(frame, loop, register)
            return (len(kept), *(size or 1 for size in kind.shape[1:])) if kept else ()
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


__all__ = ["steps_written"]
