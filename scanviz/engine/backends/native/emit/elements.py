"""Vectorised loops over the elements of arrays.

Adjacent axes with one stride in every array are joined first, so that contiguous arrays are one line of elements.  The innermost
axis is divided into pieces of one register's lanes, then of half the lanes, and so on down to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace

FEW = 3  # most elements kept as single numbers
WRITTEN_OUT = 16  # most elements computed without a loop
UNROLLED = 4  # most pieces that are unrolled


class Operand(NamedTuple):
    """An array with its address in this step."""

    place: ArrayPlace
    address: Value


def collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Join adjacent axes that have one stride in every array; return the shape and each array's strides.

    Examples
    --------
    >>> collapsed((3, 1, 4), [(32, 32, 8), (0, 0, 8)])
    ([3, 4], [[32, 8], [0, 8]])
    >>> collapsed((3, 4), [(32, 8), (32, 8)])
    ([12], [[8], [8]])
    """
    sizes: list[int] = []
    kept: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        here = [apart[axis] for apart in strides]
        if sizes and all(old[-1] == step * size for old, step in zip(kept, here, strict=True)):
            sizes[-1] *= size
            for old, step in zip(kept, here, strict=True):
                old[-1] = step
            continue
        sizes.append(size)
        for old, step in zip(kept, here, strict=True):
            old.append(step)
    if not sizes:
        return [1], [[0] for _ in strides]
    return sizes, kept


def pieces(size: int, lanes: int) -> list[tuple[int, int, int]]:
    """Divide ``size`` elements into pieces: (first element, number of pieces, lanes of each).

    A few elements are single numbers, as in ``x, y, z = s``.

    Examples
    --------
    >>> pieces(21, 8)
    [(0, 2, 8), (16, 1, 4), (20, 1, 1)]
    >>> pieces(3, 8)
    [(0, 3, 1)]
    """
    if size <= FEW:
        return [(0, size, 1)] if size else []
    found, start = [], 0
    while start < size:
        count = (size - start) // lanes
        if count:
            found.append((start, count, lanes))
            start += count * lanes
        lanes //= 2
    return found


def load(code: Code, operand: Operand, offset: Value, step: int, lanes: int) -> Value:
    """Load elements ``step`` bytes apart, from ``offset`` on."""
    dtype = operand.place.dtype
    size, address = np.dtype(dtype).itemsize, code.at(operand.address, offset)
    if step == size or lanes == 1:
        return code.load(address, dtype, lanes)
    return code.side_by_side(lambda k: code.load(code.at(address, k * step), dtype), dtype, lanes)


def store(code: Code, value: Value, operand: Operand, offset: Value, step: int) -> None:
    """Store elements ``step`` bytes apart, from ``offset`` on."""
    address = code.at(operand.address, offset)
    if value.lanes == 1 or step == np.dtype(value.dtype).itemsize:
        code.store(value, address)
        return
    for k in range(value.lanes):
        code.store(code.lane(value, k), code.at(address, k * step))


Body = Callable[[list[Value], int], list[Value]]


def for_each(
    code: Code,
    shape: Sequence[int],
    reads: Sequence[Operand],
    writes: Sequence[Operand],
    body: Body,
    lanes: int,
) -> None:
    """Write a loop over all elements of a shape.

    Parameters
    ----------
    reads, writes : sequence of Operand
        Arrays of that shape; those that broadcast have strides of 0.
    body : callable
        ``body(values, lanes)`` returns the elements to write for the elements that were read.
    lanes : int
        The most elements at once.
    """
    if 0 in shape:
        return
    operands = (*reads, *writes)
    sizes, strides = collapsed(shape, [operand.place.strides for operand in operands])
    steps = [apart[-1] for apart in strides]
    for offsets in outer(code, sizes, strides):
        accesses = list(zip(operands, offsets, steps, strict=True))
        sources, targets = accesses[: len(reads)], accesses[len(reads) :]
        # values broadcast along the elements are read once before the loop
        same = [None if step else load(code, operand, offset, 0, 1) for operand, offset, step in sources]
        for number, width in _pieces_of(code, sizes[-1], lanes):
            given = [
                load(code, operand, code.along(offset, number, step), step, width)
                if one is None
                else code.splat(one, width)
                for one, (operand, offset, step) in zip(same, sources, strict=True)
            ]
            results = zip(body(given, width), targets, strict=True)
            for value, (operand, offset, step) in results:
                store(code, code.splat(value, width), operand, code.along(offset, number, step), step)


def _pieces_of(code: Code, size: int, lanes: int) -> Iterator[tuple[Value, int]]:
    """Iterate over the pieces of a line: first element, number of elements."""
    for first, count, width in pieces(size, lanes):
        for number in code.over(first, first + count * width, width, UNROLLED):
            yield number, width


def outer(code: Code, sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> Iterator[list[Value]]:
    """Iterate over the lines along the last axis: the byte offset of each in every array."""
    most = WRITTEN_OUT if prod(sizes) <= WRITTEN_OUT else 1

    def further(at: list[Value], axis: int) -> Iterator[list[Value]]:
        if axis == len(sizes) - 1:
            yield at
            return
        for number in code.over(0, sizes[axis], most=most):
            moved = [code.along(old, number, apart[axis]) for old, apart in zip(at, strides, strict=True)]
            yield from further(moved, axis + 1)

    yield from further([constant(0, "int64")] * len(strides), 0)


def lines(
    code: Code, sizes: Sequence[int], strides: Sequence[Sequence[int]], lanes: int
) -> Iterator[tuple[list[Value], int]]:
    """Iterate over all elements of a shape in pieces: byte offsets in every array, number of elements."""
    for at in outer(code, sizes, strides):
        for number, width in _pieces_of(code, sizes[-1], lanes):
            yield [code.along(old, number, apart[-1]) for old, apart in zip(at, strides, strict=True)], width


def lanes_of(dtypes: Sequence[str], vector_bytes: int) -> int:
    """Return how many elements of the widest dtype fit into a register."""
    return max(1, vector_bytes // max((np.dtype(dtype).itemsize for dtype in dtypes), default=8))
