"""At which step of a loop a row was written that an operation behind the loop was made of.

What a step computes of its results alone is often done behind the loop, for all steps at once.  Then a number that should not be
is met outside of loops, and its place says which step it belongs to: it is followed back by the axes that operations go along, and
through what only shows numbers of others, until a loop wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import Instruction, LoopInstruction
from scanviz.profiler.values.frame import OpenCall
from scanviz.profiler.values.origin import moves_only

Place = tuple[int | None, ...]  # of numbers in a value: None along an axis on all of which they may lie
_DEEPEST = 200  # places that are looked at


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


__all__ = ["steps_written"]
