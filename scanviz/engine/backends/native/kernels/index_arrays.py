"""Native code of indexing and assignment with integer arrays, and of assignment with a mask.

All indices are checked first; if one is out of bounds, the operation is called out, and NumPy raises the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError, RunError
from scanviz.engine.backends.native.emit.elements import UNROLLED, Body, lanes_of, pieces
from scanviz.engine.backends.native.emit.instructions import Step, copy, each_element, source_of, target_of
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.index_pattern import IndexParameters, picking
from scanviz.engine.program.instructions import Instruction, dtype_of
from scanviz.engine.program.plan.location import packed

_LEFT = "an index by an array beyond its axis"


class Picks(NamedTuple):
    """The rows that an integer array index picks.

    Attributes
    ----------
    shape : tuple of int
        The shape of the picks.
    held : tuple of Value
        The address of the index along each axis: int64, one pick after another.
    checked : tuple of int
        Number of checked indices along each axis: one for a scalar beside an empty array of indices.
    sizes, strides : tuple of int
        The sizes and strides of those axes.
    before : int
        The number of axes before them.
    """

    shape: tuple[int, ...]
    held: tuple[Value, ...]
    checked: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    before: int

    @property
    def many(self) -> int:
        """Number of picks."""
        return math.prod(self.shape)


def picks_of(
    step: Step, place: ArrayPlace, pattern: IndexParameters, numbers: Sequence[int], written: ArrayPlace
) -> Picks:
    """Broadcast the arrays of an index to one shape; ``written`` is the target, which they must not share.

    Raises
    ------
    RunError
        If they do not broadcast, or there are too many: the run will fail.
    """
    found = picking(pattern)
    assert found is not None  # else there is no native code
    (before, entries), given = found, iter(numbers)
    arrays = [
        _number(step, entry.start)
        if entry.kind == "integer" and isinstance(entry.start, int)
        else source_of(step, next(given))
        for entry in entries
    ]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        raise RunError("arrays of an index that do not broadcast are an error of the run") from None
    axes = slice(before, before + len(arrays))
    if len(place.shape[axes]) < len(arrays):
        raise RunError("an index of too many axes is an error of the run")
    # without picks NumPy still checks scalars, but no broadcast arrays
    shapes = [shape if array.shape or math.prod(shape) else () for array in arrays]
    held = [
        step.operand(_in_order(step, array, wanted, written)).address
        for array, wanted in zip(arrays, shapes, strict=True)
    ]
    checked = tuple(map(math.prod, shapes))
    return Picks(shape, tuple(held), checked, place.shape[axes], place.strides[axes], before)


def _in_order(step: Step, array: ArrayPlace, shape: tuple[int, ...], written: ArrayPlace) -> ArrayPlace:
    """Return indices as contiguous int64: the array itself if possible, else a copy."""
    is_so = array.dtype == "int64" and array.shape == shape and array.strides == packed(shape, 8)
    if is_so and array.base != written.base:
        return array
    held = step.places.temporary(shape, "int64")
    copy(step, array, held)
    return held


def _number(step: Step, number: int) -> ArrayPlace:
    """Store a number of the pattern to memory."""
    place = step.places.temporary((), "int64")
    step.code.store(constant(number, "int64"), step.operand(place).address)
    return place


def _first(place: ArrayPlace, before: int, count: int) -> ArrayPlace:
    """Move some axes to the front."""
    order = [*range(before, before + count), *range(before), *range(before + count, len(place.shape))]
    return place._replace(
        shape=tuple(place.shape[axis] for axis in order), strides=tuple(place.strides[axis] for axis in order)
    )


def _index(step: Step, picks: Picks, axis: int, number: Value) -> Value:
    """Return the index of a pick along an axis, negative ones counted from the end."""
    code, found = step.code, _held(step, picks, axis, number, 1)
    below = code.op(f"icmp slt i64 {found.text}, 0", BOOLEAN)
    return code.select(below, code.add(found, picks.sizes[axis]), found)


def _held(step: Step, picks: Picks, axis: int, number: Value, lanes: int) -> Value:
    """Load the given indices of picks along an axis."""
    code = step.code
    return code.load(code.at(picks.held[axis], code.times(number, 8)), "int64", lanes)


def all_inside(step: Step, picks: Picks) -> Value:
    """Return whether all indices are inside their axes."""
    code, holds = step.code, constant(True, BOOLEAN)
    for axis, (size, many) in enumerate(zip(picks.sizes, picks.checked, strict=True)):
        if not many:
            continue
        farthest = constant(0, "int64")
        for first, count, lanes in pieces(many, lanes_of(["int64"], step.vector_bytes)):

            def further(number: Value, carried: Sequence[Value]) -> list[Value]:
                found = _held(step, picks, axis, number, carried[0].lanes)  # noqa: B023  # it is called at once
                from_front = code.op(
                    f"add {found.typed}, {constant(size, 'int64', found.lanes).text}",  # noqa: B023
                    "int64",
                    found.lanes,
                )
                return [code.intrinsic("umax", from_front, carried[0])]

            start = [constant(0, "int64", lanes)]
            (most,) = code.turns(first, first + count * lanes, start, further, lanes, UNROLLED)
            while most.lanes > 1:
                most = code.intrinsic("umax", *code.halves(most))
            farthest = most if farthest.text == "0" else code.intrinsic("umax", farthest, most)
        inside = code.op(f"icmp ult i64 {farthest.text}, {2 * size}", BOOLEAN)
        holds = code.both(holds, inside)
    return holds


@contextmanager
def _each_pick(
    step: Step, picks: Picks, place: ArrayPlace, packed: ArrayPlace
) -> Iterator[tuple[ArrayPlace, ArrayPlace]]:
    """Write a loop over the picks: the picked part of ``place``, and the pick's row of ``packed``."""
    code, count = step.code, len(picks.shape)
    packed, place = _first(packed, picks.before, count), _first(place, picks.before, len(picks.held))
    row = packed.strides[count - 1] if count else 0  # picks are contiguous in any case
    with code.counted(0, picks.many) as number:
        shift = constant(0, "int64") if place.shift is None else place.shift
        for axis, stride in enumerate(picks.strides):
            shift = code.along(shift, _index(step, picks, axis, number), stride)
        rest = len(picks.held)
        picked = place._replace(shape=place.shape[rest:], strides=place.strides[rest:], shift=shift)
        moved = code.times(number, row)
        moved = moved if packed.shift is None else code.add(packed.shift, moved)
        yield picked, packed._replace(shape=packed.shape[count:], strides=packed.strides[count:], shift=moved)


def write_take(step: Step, instruction: Instruction) -> None:
    """Write an index by integer arrays."""
    source, *numbers = instruction.inputs
    place, target = source_of(step, source), target_of(step, instruction)
    picks = picks_of(step, place, instruction.op.parameters, numbers, target)

    def write() -> list[Value]:
        with _each_pick(step, picks, place, target) as (picked, row):
            copy(step, picked, row)
        return []

    step.where(all_inside(step, picks), instruction, _LEFT, write)


def write_put(step: Step, instruction: Instruction) -> None:
    """Write an assignment by integer arrays or a mask."""
    source, value, *numbers = instruction.inputs
    pattern, increment = instruction.op.parameters
    old, new, target = source_of(step, source), source_of(step, value), target_of(step, instruction)
    if any(dtype_of(step.body, number) == BOOLEAN for number in numbers):
        _write_masked(step, old, new, source_of(step, numbers[0]), target, increment)
        return
    picks = picks_of(step, target, pattern, numbers, target)
    axes = slice(picks.before, picks.before + len(picks.held))
    held = step.places.temporary(
        (*target.shape[: axes.start], *picks.shape, *target.shape[axes.stop :]), new.dtype
    )
    copy(step, new, held)
    if held.dtype == "float16" or target.dtype == "float16":
        raise NotWrittenError("float16 arithmetic has no native code")

    written = assigned(step, target.dtype, increment)

    def write() -> list[Value]:
        copy(step, old, target)
        with _each_pick(step, picks, target, held) as (picked, row):
            each_element(step, [row, *([picked] if increment else [])], picked, written)
        return []

    step.where(all_inside(step, picks), instruction, _LEFT, write)


def assigned(step: Step, dtype: str, increment: bool) -> Body:
    """Return a loop body that assigns a value, or adds it to the old one."""

    def written(values: list[Value], lanes: int) -> list[Value]:
        first = cast(step.code, values[0], dtype)
        if not increment:
            return [first]
        return [primitive(step.code, "bit_or" if first.dtype == BOOLEAN else "add", [values[1], first])]

    return written


def _write_masked(
    step: Step, old: ArrayPlace, new: ArrayPlace, mask: ArrayPlace, target: ArrayPlace, increment: bool
) -> None:
    """Write an assignment of one value to all places where a mask is true.

    Raises
    ------
    NotWrittenError
        If there is a value for each picked element: which one depends on the mask.
    """
    axes = len(mask.shape)
    while len(new.shape) > len(target.shape) - axes and new.shape[0] == 1:
        new = new._replace(shape=new.shape[1:], strides=new.strides[1:])
    if len(new.shape) > len(target.shape) - axes:
        raise NotWrittenError("assigning an array through a mask has no native code")
    must_fit(mask.shape == target.shape[:axes])
    rest = len(target.shape) - axes
    mask = mask._replace(shape=(*mask.shape, *[1] * rest), strides=(*mask.strides, *[0] * rest))
    apart = []
    for place in (new, mask):
        if place.base == target.base:  # it may overlap what is written
            held = step.places.temporary(place.shape, place.dtype)
            copy(step, place, held)
            place = held
        apart.append(place.spread(target.shape))
    copy(step, old, target)
    write = assigned(step, target.dtype, increment)

    def chosen(values: list[Value], lanes: int) -> list[Value]:
        here, truth, there = values
        return [step.code.select(truth, write([here, there], lanes)[0], there)]

    each_element(step, [*apart, target], target, chosen)
