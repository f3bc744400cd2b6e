"""Native code of indices by arrays of integers: rows, or elements, that are picked one after another.

All indices are looked at first: where one is beyond its axis the operation is called out, so that NumPy says which.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.elements import for_each, lanes_of
from scanviz.engine.backends.native.errors import NotWrittenError, RunError
from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.instructions import Step, copy, source_of, target_of
from scanviz.engine.backends.native.ir import Value, constant
from scanviz.engine.backends.native.places import ArrayPlace
from scanviz.engine.ops.index_pattern import IndexParameters
from scanviz.engine.program.instructions import Instruction, Program, dtype_of

_WHOLE = (None, None, None)  # of a slice that keeps an axis
_LEFT = "an index by an array beyond its axis"


def why_not(pattern: IndexParameters, numbers: Sequence[int], program: Program) -> str | None:
    """Return what about an index with arrays cannot be written; None where all can."""
    kept = pattern.entries[len(numbers) :]
    picking = all(entry.kind == "array" for entry in pattern.entries[: len(numbers)])
    if not picking or any(entry.kind != "slice" or entry.numbers() != _WHOLE for entry in kept):
        return "an index by arrays beside numbers has no native code"
    kinds = {np.dtype(dtype_of(program, number)).kind for number in numbers}
    if kinds != {"i"}:
        return "an index by arrays of unsigned numbers or truth values has no native code"
    return None


class Picks(NamedTuple):
    """Which rows of an array an index picks.

    Attributes
    ----------
    shape : tuple of int
        Of the picks.
    held : tuple of ArrayPlace
        The index along each axis, int64, one pick after another.
    sizes, strides : tuple of int
        Of those axes.
    rest : int
        The first axis that stays.
    """

    shape: tuple[int, ...]
    held: tuple[ArrayPlace, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    rest: int

    @property
    def many(self) -> int:
        """How many there are."""
        return math.prod(self.shape)


def picks_of(step: Step, place: ArrayPlace, numbers: Sequence[int]) -> Picks:
    """Return the picks of an index, its arrays brought to one shape.

    Raises
    ------
    RunError
        If they do not broadcast, or there are more than axes: an error of the run.
    """
    arrays = [source_of(step, number) for number in numbers]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise RunError("arrays of an index that do not broadcast are an error of the run") from None
    if len(arrays) > len(place.shape):
        raise RunError("an index of too many axes is an error of the run")
    held = []
    for array in arrays:
        held.append(step.places.temporary(shape, "int64"))
        copy(step, array, held[-1])
    rest = len(arrays)
    return Picks(shape, tuple(held), place.shape[:rest], place.strides[:rest], rest)


def _index(step: Step, picks: Picks, axis: int, number: Value) -> Value:
    """Return the index of a pick along an axis, counted from the front."""
    code = step.code
    found = code.load(code.at(step.operand(picks.held[axis]).address, code.times(number, 8)), "int64")
    below = code.op(f"icmp slt i64 {found.text}, 0", "bool")
    return code.select(below, code.add(found, picks.sizes[axis]), found)


def all_inside(step: Step, picks: Picks) -> Value:
    """Return whether no index is beyond its axis."""
    code = step.code
    with code.folded(0, picks.many, [constant(True, "bool")]) as (number, (so_far,), given):
        good = so_far
        for axis, size in enumerate(picks.sizes):
            inside = code.op(f"icmp ult i64 {_index(step, picks, axis, number).text}, {size}", "bool")
            good = code.op(f"and i1 {good.text}, {inside.text}", "bool")
        given.append(good)
    return given[0]


@contextmanager
def _each_pick(
    step: Step, picks: Picks, place: ArrayPlace, packed: ArrayPlace
) -> Iterator[tuple[ArrayPlace, ArrayPlace]]:
    """Write the body of a loop over the picks: what is picked of a place, and the row of that number of another."""
    code = step.code
    kept = packed.shape[len(picks.shape) :], packed.strides[len(picks.shape) :]
    row = math.prod(kept[0]) * np.dtype(packed.dtype).itemsize
    with code.counted(0, picks.many) as number:
        shift = constant(0, "int64") if place.shift is None else place.shift
        for axis, stride in enumerate(picks.strides):
            shift = code.along(shift, _index(step, picks, axis, number), stride)
        picked = place._replace(
            shape=place.shape[picks.rest :], strides=place.strides[picks.rest :], shift=shift
        )
        yield picked, packed._replace(shape=kept[0], strides=kept[1], shift=code.times(number, row))


def write_take(step: Step, instruction: Instruction) -> None:
    """Write an array that is picked of another by arrays of integers."""
    source, *numbers = instruction.inputs
    place, target = source_of(step, source), target_of(step, instruction)
    picks = picks_of(step, place, numbers)

    def write() -> list[Value]:
        with _each_pick(step, picks, place, target) as (picked, row):
            copy(step, picked, row)
        return []

    step.where(all_inside(step, picks), instruction, _LEFT, write)


def write_put(step: Step, instruction: Instruction) -> None:
    """Write a copy of an array, and rows of it, picked by arrays of integers, one after another."""
    source, value, *numbers = instruction.inputs
    increment = instruction.op.parameters.increment
    old, new, target = source_of(step, source), source_of(step, value), target_of(step, instruction)
    picks = picks_of(step, target, numbers)
    held = step.places.temporary((*picks.shape, *target.shape[picks.rest :]), new.dtype)
    copy(step, new, held)
    if held.dtype == "float16" or target.dtype == "float16":
        raise NotWrittenError("float16 is not computed with")

    def written(values: list[Value], lanes: int) -> list[Value]:
        first = cast(step.code, values[0], target.dtype)
        if not increment:
            return [first]
        return [primitive(step.code, "bit_or" if first.dtype == "bool" else "add", [values[1], first])]

    def write() -> list[Value]:
        copy(step, old, target)
        with _each_pick(step, picks, target, held) as (picked, row):
            there = step.operand(picked)
            reads = [step.operand(row), *([there] if increment else [])]
            lanes = lanes_of([held.dtype, target.dtype], step.vector_bytes)
            for_each(step.code, picked.shape, reads, [there], written, lanes)
        return []

    step.where(all_inside(step, picks), instruction, _LEFT, write)


__all__ = ["why_not", "write_put", "write_take"]
