"""Laws of axes: along an unmixed axis, a change in one row changes that row of the results alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.engine.backends.registry import resolve
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.axes import Axis, step_axes
from scanviz.engine.program.instructions import LoopInstruction, Program
from scanviz.testing.loop_case import LoopCase
from tests.laws.law import law
from tests.laws.programs import LOOPS, compiled


@law(sample=15, case=LOOPS, rewrites=st.booleans(), row=st.integers(0, 7))
def rows_along_an_unmixed_axis_are_independent(case: LoopCase, rewrites: bool, row: int) -> None:
    """Changing a row of a sequence or state along an unmixed axis changes that row of every result alone."""
    f, given = compiled(case, rewrites, "reference")
    for k, loop in enumerate(f.program.instructions):
        if isinstance(loop, LoopInstruction):
            values = _values(f.program, k, loop, given)
            for axes in step_axes(loop, _step_shapes(loop, values)).kept:
                _check(f.program, loop, values, axes, row)


def _values(program: Program, place: int, loop: LoopInstruction, given: Sequence[Array]) -> dict[int, Array]:
    """Return the values read by a loop, by register."""
    wanted = tuple(number for number in dict.fromkeys(loop.inputs) if number not in program.constants)
    before = replace(program, outputs=wanted, instructions=program.instructions[:place])
    found = resolve("reference").compile(before).run(given, None)
    return {**program.constants, **dict(zip(wanted, found, strict=True))}


def _step_shapes(loop: LoopInstruction, values: dict[int, Array]) -> list[tuple[int, ...]]:
    shapes = [values[slot.outer].shape[1:] for slot in loop.sequences]
    for state in loop.states:
        shapes += [values[state.outer].shape[int(state.kind != "sitsot") :]] * len(state.reads)
    shapes += [values[carry.outer].shape for carry in loop.carries]
    return [*shapes, *(values[slot.outer].shape for slot in loop.non_sequences)]


def _check(
    program: Program, loop: LoopInstruction, values: dict[int, Array], axes: Sequence[Axis], row: int
) -> None:
    places = _places(loop, dict(axes))
    slots: list[Any] = [*loop.sequences, *loop.states, *loop.carries, *loop.non_sequences]
    read = [slot.outer for slot in slots]
    if not all(read.count(number) == len(found) and len(set(found)) == 1 for number, found in places.items()):
        return  # the same array is read in other ways too
    changed = dict(values)
    for number, (axis, *_) in places.items():
        changed[number] = _other_row(values[number], axis, row)
    results = []
    for held in (values, changed):
        alone = replace(
            program, inputs=(), outputs=loop.outputs, constants=held, instructions=(replace(loop, frees=()),)
        )
        try:
            results.append(resolve("reference").compile(alone).run([], None))
        except Exception:
            return  # other numbers may be an error
    kept = _result_axes(loop, dict(axes))
    for number, before, after in zip(loop.outputs, *results, strict=True):
        if number in kept and before.shape[kept[number]]:
            gone = row % before.shape[kept[number]]
            before, after = (np.delete(array, gone, kept[number]) for array in (before, after))
        same = np.isclose(before, after, 1e-5, 1e-8, equal_nan=True)
        assert before.shape == after.shape and np.all(same), (
            f"row {row} along {axes} changes result {number} of `{loop.name}` elsewhere: {before}, {after}"
        )


def _places(loop: LoopInstruction, axes: dict[int, int]) -> dict[int, list[int]]:
    """Return of each array that slots with one of the axes read, along which axis that lies: once a slot."""
    found: dict[int, list[int]] = {}
    for slot in loop.sequences:
        if slot.inner in axes:
            found.setdefault(slot.outer, []).append(axes[slot.inner] + 1)
    for state in loop.states:
        inside = {axes.get(number, -1) for _, number in (*state.reads, *state.writes)} - {-1}
        for axis in inside:
            found.setdefault(state.outer, []).append(axis + int(state.kind != "sitsot"))
    return found


def _result_axes(loop: LoopInstruction, axes: dict[int, int]) -> dict[int, int]:
    """Return along which axis of results the axes lie."""
    pairs = [
        (register, number)
        for slot in loop.states
        for _, number in slot.writes
        for register in (slot.result, slot.history)
    ]
    pairs += [(slot.result, slot.inner) for slot in loop.step_outputs]
    return {into: axes[number] + 1 for into, number in pairs if into is not None and number in axes}


def _other_row(value: Array, axis: int, row: int) -> Array:
    """Return an array with other numbers in one row along an axis."""
    size = value.shape[axis]
    if not size:
        return value
    found, at = np.array(value), (slice(None),) * axis
    other = value[(*at, (row + 1) % size)]
    found[(*at, row % size)] = other * 0.75 if value.dtype.kind == "f" else ~other
    return found


__all__: list[str] = []
