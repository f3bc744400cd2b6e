"""Sums, products, maxima, minima, all and any along axes.

If the last axis is reduced, its elements go to several vector accumulators, which are combined at the end; otherwise one result per
lane is computed.  A long sum of floats is summed by stretches, so that rounding errors do not grow with its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit.elements import (
    WRITTEN_OUT,
    Operand,
    collapsed,
    lines,
    load,
    pieces,
    store,
)
from scanviz.engine.backends.native.emit.ir import Code, Value, constant, is_integer
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.graph.types import BOOLEAN, FLOATS

ACCUMULATORS = 4
STRETCH = 4096


class Reduction(NamedTuple):
    """The combination of parts by a reduction.

    Attributes
    ----------
    numbers, truths : str
        The primitive that combines two numbers, or two booleans; ``"largest"`` and ``"smallest"`` are comparisons.
    start : int or None
        The start value; None for the lowest or highest number of the dtype.
    """

    numbers: str
    truths: str
    start: int | None = None


REDUCTIONS = {
    "sum": Reduction("add", "bit_or", 0),
    "prod": Reduction("multiply", "bit_and", 1),
    "max": Reduction("largest", "bit_or"),
    "min": Reduction("smallest", "bit_and"),
    "all": Reduction("bit_and", "bit_and", 1),
    "any": Reduction("bit_or", "bit_or", 0),
}


def combined(code: Code, name: str, first: Value, second: Value) -> Value:
    """Combine two parts of a reduction; ``max`` and ``min`` propagate NaN."""
    rule = REDUCTIONS[name]
    if first.dtype == BOOLEAN:
        return primitive(code, rule.truths, [first, second])
    if rule.start is not None:
        return primitive(code, rule.numbers, [first, second])
    better = primitive(code, "less_equal", [second, first] if rule.numbers == "largest" else [first, second])
    if not is_integer(first.dtype):
        unknown = code.op(f"fcmp uno {first.typed}, {first.text}", BOOLEAN, first.lanes)
        better = code.op(f"or {better.typed}, {unknown.text}", BOOLEAN, first.lanes)
    return code.select(better, first, second)


def start_of(name: str, dtype: str) -> object:
    """Return the neutral element of a reduction."""
    rule = REDUCTIONS[name]
    if rule.start is not None:
        return rule.start
    if dtype in FLOATS:
        return -np.inf if rule.numbers == "largest" else np.inf
    if dtype == BOOLEAN:
        return rule.numbers == "smallest"
    limits = np.iinfo(dtype)
    return limits.min if rule.numbers == "largest" else limits.max


def reduce(code: Code, name: str, source: Operand, axes: Sequence[int], target: Operand, lanes: int) -> None:
    """Write a reduction into an array without the reduced axes; its dtype is that of the computation.

    Parameters
    ----------
    name : str
        ``"sum"``, ``"prod"``, ``"max"``, ``"min"``, ``"all"`` or ``"any"``.
    source, target : Operand
        The operand and the result.
    axes : sequence of int
        The axes that are reduced.
    lanes : int
        The most elements at once.
    """
    shape, strides = source.place.shape, source.place.strides
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    outer, (read, written) = collapsed(
        [shape[axis] for axis in kept], [[strides[axis] for axis in kept], target.place.strides]
    )
    inner, (along,) = collapsed([shape[axis] for axis in axes], [[strides[axis] for axis in axes]])
    if 0 in [shape[axis] for axis in kept]:
        return
    if 0 in [shape[axis] for axis in axes]:
        inner, along = [0], [0]
    rows = _Rows(code, name, source, inner, along, target, lanes)
    side_by_side = read[-1] == np.dtype(source.place.dtype).itemsize and outer[-1] > 1
    for (begin, goal), width in lines(code, outer, [read, written], lanes if side_by_side else 1):
        result = rows.across(begin, width) if width > 1 else rows.one(begin)
        store(code, result, target, goal, written[-1])


class _Rows:
    """Writes the results of a reduction."""

    def __init__(
        self,
        code: Code,
        name: str,
        source: Operand,
        sizes: list[int],
        steps: list[int],
        target: Operand,
        lanes: int,
    ) -> None:
        self.code, self.name, self.source, self.target, self.lanes = code, name, source, target, lanes
        self.sizes, self.steps = sizes, steps
        self.dtype = target.place.dtype
        # The start value changes no result except one: the sum of -0.0 alone is 0.0.
        self.turns_zero = name == "sum" and self.dtype in FLOATS

    def zero(self, lanes: int) -> Value:
        return constant(start_of(self.name, self.dtype), self.dtype, lanes)

    def element(self, offset: Value, step: int, lanes: int) -> Value:
        return cast(self.code, load(self.code, self.source, offset, step, lanes), self.dtype)

    def across(self, offset: Value, lanes: int) -> Value:
        """Return one result per lane."""
        step = np.dtype(self.source.place.dtype).itemsize
        return self._along(
            offset, len(self.sizes), self.zero(lanes), lambda at: self.element(at, step, lanes)
        )

    def one(self, offset: Value) -> Value:
        """Return one result, its elements along the innermost axis in several accumulators."""
        return self._along(offset, len(self.sizes) - 1, self.zero(1), self._row)

    def _along(
        self, offset: Value, axes: int, so_far: Value, part: Callable[[Value], Value], axis: int = 0
    ) -> Value:
        """Combine the parts at all places along the first axes with a total."""
        if axis == axes:
            found = part(offset)
            # one number has begun from there: see `_total`
            alone = (so_far.lanes == 1 or not self.turns_zero) and so_far == self.zero(so_far.lanes)
            return found if alone else combined(self.code, self.name, so_far, found)

        def turn(number: Value, carried: Sequence[Value]) -> list[Value]:
            further = self.code.along(offset, number, self.steps[axis])
            return [self._along(further, axes, carried[0], part, axis + 1)]

        few = WRITTEN_OUT if prod(self.sizes) <= WRITTEN_OUT else 1
        return self.code.turns(0, self.sizes[axis], [so_far], turn, most=few)[0]

    def _row(self, offset: Value) -> Value:
        """Reduce the elements along the innermost axis.

        Long sums of floats are computed by stretches, whose sums are added in float64.
        """
        size, step, code = self.sizes[-1], self.steps[-1], self.code
        if not self.turns_zero or size < 2 * STRETCH:
            return self._stretch(offset, size)

        def with_next(so_far: Value, first: Value, size: int) -> Value:
            found = self._stretch(code.along(offset, first, step), size)
            return combined(code, self.name, so_far, cast(code, found, "float64"))

        rest = size % STRETCH
        total = code.turns(
            0,
            size - rest,
            [constant(0, "float64")],
            lambda first, carried: [with_next(carried[0], first, STRETCH)],
            STRETCH,
        )[0]
        if rest:
            total = with_next(total, constant(size - rest, "int64"), rest)
        return cast(code, total, self.dtype)

    def _stretch(self, offset: Value, size: int) -> Value:
        """Reduce ``size`` elements along the innermost axis."""
        step, code = self.steps[-1], self.code
        even = step == np.dtype(self.source.place.dtype).itemsize
        parts: list[Value] = []
        for first, count, width in pieces(size, self.lanes if even else 1):
            several = min(ACCUMULATORS, count)
            whole = count // several * several

            def piece(number: Value, k: int, width: int = width) -> Value:
                at = code.along(offset, code.add(number, k * width), step)
                return self.element(at, step, width)

            initial = [piece(constant(first, "int64"), k) for k in range(several)]
            found = initial
            if whole > several:
                start, end = first + several * width, first + whole * width
                with code.folded(start, end, initial, several * width) as (number, carried, given):
                    given += [
                        combined(code, self.name, old, piece(number, k)) for k, old in enumerate(carried)
                    ]
                found = list(given)
            parts += found
            parts += [piece(constant(first + (whole + k) * width, "int64"), 0) for k in range(count - whole)]
        return self._total(parts) if parts else self.zero(1)

    def _total(self, parts: list[Value]) -> Value:
        """Combine parts to one number."""
        code, total = self.code, parts[0]
        for part in parts[1:]:
            total = combined(code, self.name, narrowed(code, self.name, total, part.lanes), part)
        total = narrowed(code, self.name, total, 1)
        return combined(code, self.name, self.zero(1), total) if self.turns_zero else total


def narrowed(code: Code, name: str, value: Value, lanes: int) -> Value:
    """Combine the halves of a part until it has ``lanes`` lanes."""
    while value.lanes > lanes:
        value = combined(code, name, *code.halves(value))
    return value


def reduced_shape(place: ArrayPlace, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape without some axes."""
    return tuple(size for axis, size in enumerate(place.shape) if axis not in axes)
