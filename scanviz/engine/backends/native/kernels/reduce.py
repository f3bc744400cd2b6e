"""Native code of reductions, cumulative sums and products, argmax and argmin.

Cumulative operations carry their state along one axis in registers, for one adjacent line per lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scanviz.engine.backends.native.emit.elements import Operand, collapsed, lanes_of, lines, load, store
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.backends.native.kernels.reductions import reduce, reduced_shape
from scanviz.engine.graph.types import FLOATS
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.reduce import SUM_TO_SHAPE, ReductionDeclaration
from scanviz.engine.program.instructions import Instruction
from scanviz.engine.program.plan.location import packed


def _write_reduction(step: Step, instruction: Instruction) -> None:
    name, parameters = instruction.op.declaration.name, instruction.op.parameters
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    declaration = instruction.op.declaration
    assert isinstance(declaration, ReductionDeclaration)
    must_fit(declaration.identity or 0 not in [source.shape[axis] for axis in parameters.axes])
    wanted = target._replace(
        shape=reduced_shape(source, parameters.axes), strides=_kept(target.strides, parameters)
    )
    reduced(step, name, source, parameters.axes, wanted)
    finish(step, instruction, target)


def _kept(strides: Sequence[int], parameters: object) -> tuple[int, ...]:
    axes, keepdims = parameters.axes, parameters.keepdims  # type: ignore[attr-defined]
    return tuple(step for axis, step in enumerate(strides) if not (keepdims and axis in axes))


def reduced(step: Step, name: str, source: ArrayPlace, axes: Sequence[int], target: ArrayPlace) -> None:
    """Write a reduction of an array along axes."""
    lanes = lanes_of([source.dtype, target.dtype], step.vector_bytes)
    reduce(step.code, name, step.operand(source), axes, step.operand(target), lanes)


def _write_sum_to_shape(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    missing = len(source.shape) - len(target.shape)
    axes = [
        axis
        for axis, size in enumerate(source.shape)
        if axis < missing or target.shape[axis - missing] != size
    ]
    must_fit(missing >= 0 and all(axis < missing or target.shape[axis - missing] == 1 for axis in axes))
    if axes:
        kept = [axis - missing for axis in range(len(source.shape)) if axis not in axes]
        shape = tuple(target.shape[axis] for axis in kept)
        strides = tuple(target.strides[axis] for axis in kept)
        reduced(step, "sum", source, axes, target._replace(shape=shape, strides=strides))
    elif step.places.view(instruction) is None:
        copy(step, source, target)
    finish(step, instruction, target)


WRITE.kind(ReductionDeclaration)(_write_reduction)
WRITE.row(SUM_TO_SHAPE)(_write_sum_to_shape)


Line = Callable[[Value, Value, int], None]


def for_each_line(code: Code, axis: int, source: Operand, target: Operand, lanes: int, line: Line) -> None:
    """Write code for each line of elements along an axis.

    Parameters
    ----------
    source, target : Operand
        Arrays of the same shape except along the axis, where the target may have stride 0.
    lanes : int
        The most lines at once.
    line : callable
        ``line(read, written, width)`` writes the code for ``width`` adjacent lines, given the byte offsets of their first
        elements.
    """
    places = (source.place, target.place)
    if 0 in source.place.shape:
        return
    kept = [k for k in range(len(source.place.shape)) if k != axis]
    sizes, strides = collapsed(
        [source.place.shape[k] for k in kept], [[place.strides[k] for k in kept] for place in places]
    )
    even = all(
        steps[-1] == np.dtype(place.dtype).itemsize for steps, place in zip(strides, places, strict=True)
    )
    for (read, written), width in lines(code, sizes, strides, lanes if even else 1):
        line(read, written, width)


def _in_one_line(step: Step, place: ArrayPlace) -> ArrayPlace:
    """Flatten an array, copying it if it is not contiguous."""
    if place.strides != packed(place.shape, np.dtype(place.dtype).itemsize):
        held = step.places.temporary(place.shape, place.dtype)
        copy(step, place, held)
        place = held
    return place._replace(shape=(place.elements,), strides=(np.dtype(place.dtype).itemsize,))


def write_cumulative(step: Step, combine: str, source: ArrayPlace, axis: int, target: ArrayPlace) -> None:
    """Write a cumulative primitive along an axis; ``target`` may be ``source``."""
    code, reads, writes = step.code, step.operand(source), step.operand(target)
    sizes = [np.dtype(place.dtype).itemsize for place in (source, target)]

    def line(read: Value, written: Value, width: int) -> None:
        def element(at: Value) -> Value:
            return cast(code, load(code, reads, at, sizes[0], width), target.dtype)

        first = element(read)
        store(code, first, writes, written, sizes[1])
        with code.folded(1, source.shape[axis], [first]) as (number, (so_far,), given):
            new = element(code.along(read, number, source.strides[axis]))
            given.append(primitive(code, combine, [so_far, new]))
            store(code, given[0], writes, code.along(written, number, target.strides[axis]), sizes[1])

    for_each_line(code, axis, reads, writes, lanes_of([source.dtype, target.dtype], step.vector_bytes), line)


def _write_cumulative(step: Step, instruction: Instruction) -> None:
    axis = instruction.op.parameters.axis
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    goal = target if target.shape else target._replace(shape=(1,), strides=(0,))
    if axis is None:
        source, axis = _in_one_line(step, source), 0
    combine = "add" if instruction.op.declaration is r.CUMSUM else "multiply"
    write_cumulative(step, combine, source, axis, goal)
    finish(step, instruction, target)


def _write_place(step: Step, instruction: Instruction) -> None:
    code, (axis, keepdims) = step.code, instruction.op.parameters
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    goal = target
    if axis is None:
        source, axis = _in_one_line(step, source), 0
        goal = target._replace(shape=(1,), strides=(0,))
    elif not keepdims:
        goal = target._replace(
            shape=(*target.shape[:axis], 1, *target.shape[axis:]),
            strides=(*target.strides[:axis], 0, *target.strides[axis:]),
        )
    must_fit(source.shape[axis] > 0)  # NumPy refuses empty input even for an empty result
    largest = instruction.op.declaration is r.ARGMAX
    reads, writes = step.operand(source), step.operand(goal)
    itemsize = np.dtype(source.dtype).itemsize

    def line(read: Value, written: Value, width: int) -> None:
        first = load(code, reads, read, itemsize, width)
        with code.folded(1, source.shape[axis], [first, constant(0, "int64", width)]) as (
            number,
            carried,
            given,
        ):
            found, place = carried
            new = load(code, reads, code.along(read, number, source.strides[axis]), itemsize, width)
            better = _is_better(code, found, new, largest)
            given.append(code.select(better, new, found))
            given.append(code.select(better, code.splat(number, width), place))
        store(code, given[1], writes, written, 8)

    for_each_line(code, axis, reads, writes, lanes_of([source.dtype, "int64"], step.vector_bytes), line)
    finish(step, instruction, target)


def _is_better(code: Code, found: Value, new: Value, largest: bool) -> Value:
    """Return where a new element wins; the first of equal ones and the first NaN stay."""
    if found.dtype not in FLOATS:
        return primitive(code, "less", [found, new] if largest else [new, found])
    beyond = code.op(f"fcmp {'ugt' if largest else 'ult'} {new.typed}, {found.text}", "bool", new.lanes)
    known = code.op(f"fcmp ord {found.typed}, {found.text}", "bool", new.lanes)
    return code.op(f"and {beyond.typed}, {known.text}", "bool", new.lanes)


WRITE.row(r.CUMSUM, r.CUMPROD)(_write_cumulative)
WRITE.row(r.ARGMAX, r.ARGMIN)(_write_place)
