"""Native code over stacks of matrices: what is written for one of them is done with each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from scanviz.engine.backends.native.emit.elements import collapsed
from scanviz.engine.backends.native.emit.instructions import Step
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.graph.types import BOOLEAN


def for_each_matrix(
    step: Step,
    places: Sequence[ArrayPlace],
    cores: Sequence[int],
    write: Callable[[Sequence[ArrayPlace]], Value],
) -> Value:
    """Write lines for each matrix of some stacks, whose axes broadcast; return whether all could be done.

    Parameters
    ----------
    places : sequence of ArrayPlace
        The stacks, read and written.
    cores : sequence of int
        How many of the last axes of each belong to its matrix: 2, 1 of a vector, 0 of a number.
    write : callable
        Writes the lines for one matrix of each, and gives whether it could be done.

    Raises
    ------
    RunError
        If the stacks do not broadcast: an error of the run.
    """
    code = step.code
    for place in places:
        step.operand(place)  # its row is found before the loop
    leading = [place.shape[: len(place.shape) - core] for place, core in zip(places, cores, strict=True)]
    sizes, strides = collapsed(*_broadcast(places, leading))

    def nest(axis: int, offsets: list[Value], so_far: Value) -> Value:
        if axis == len(sizes):
            cut = [
                place._replace(
                    shape=place.shape[len(own) :],
                    strides=place.strides[len(own) :],
                    shift=_moved(step, place, offset),
                )
                for place, own, offset in zip(places, leading, offsets, strict=True)
            ]
            good = write(cut)
            return code.op(f"and i1 {so_far.text}, {good.text}", BOOLEAN)

        def one(number: Value, carried: list[Value]) -> list[Value]:
            further = [
                code.along(old, number, apart[axis]) for old, apart in zip(offsets, strides, strict=True)
            ]
            return [nest(axis + 1, further, carried[0])]

        if sizes[axis] == 1:
            return nest(axis + 1, offsets, so_far)
        with code.folded(0, sizes[axis], [so_far]) as (number, carried, given):
            given += one(number, carried)
        return given[0]

    return nest(0, [constant(0, "int64")] * len(places), constant(True, BOOLEAN))


def _broadcast(
    places: Sequence[ArrayPlace], leading: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the shape that stacks broadcast to, and the strides of each along it."""
    try:
        shape = np.broadcast_shapes(*leading)
    except ValueError:
        must_fit(False)
        raise  # never: the line above did
    return shape, [
        place._replace(shape=own, strides=place.strides[: len(own)]).spread(shape).strides
        for place, own in zip(places, leading, strict=True)
    ]


def _moved(step: Step, place: ArrayPlace, offset: Value) -> Value | None:
    if offset.text == "0":
        return place.shift
    return offset if place.shift is None else step.code.add(place.shift, offset)
