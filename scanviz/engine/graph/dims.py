"""Arithmetic on dimensions, so that one shape rule an op serves three purposes.

A shape rule is written once, over opaque dimensions, with the methods of :class:`Dims`.  Here dimensions are ints, or
None for unknown: that serves types (values of inputs known only if constant) and run time (values known).  The
symbolic twin, whose dimensions are variables, subclasses it in :mod:`scanviz.engine.ops.symbolic_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.errors import ShapeError

# A dimension is an int, None (unknown) or, in the symbolic twin, a variable: rules never look inside.
Dim = Any


class Dims:
    """The shapes of an op's inputs, and arithmetic on their dimensions.

    Parameters
    ----------
    shapes : sequence of tuple
        One tuple of dimensions an input.
    value : callable
        ``value(i)`` gives the integer value of scalar input ``i`` as a dimension, None where unknown.

    Examples
    --------
    >>> dims = Dims([(3, None), (1, 4)], lambda i: None)
    >>> dims.broadcast(*dims.shapes)
    (3, 4)
    """

    __slots__ = ("shapes", "value")

    def __init__(self, shapes: Sequence[tuple[Dim, ...]], value: Callable[[int], Dim]) -> None:
        self.shapes, self.value = shapes, value

    def add(self, first: Dim, second: Dim) -> Dim:
        """Return ``first + second``."""
        return None if first is None or second is None else first + second

    def subtract(self, first: Dim, second: Dim) -> Dim:
        """Return ``first - second``."""
        return None if first is None or second is None else first - second

    def multiply(self, first: Dim, second: Dim) -> Dim:
        """Return ``first * second``; 0 times anything is 0."""
        if first == 0 or second == 0:
            return 0
        return None if first is None or second is None else first * second

    def floor_divide(self, first: Dim, second: Dim) -> Dim:
        """Return ``first // second``, unknown for a divisor of 0."""
        return None if first is None or not second else first // second

    def maximum(self, first: Dim, second: Dim) -> Dim:
        """Return the larger dimension."""
        return None if first is None or second is None else max(first, second)

    def minimum(self, first: Dim, second: Dim) -> Dim:
        """Return the smaller dimension."""
        return None if first is None or second is None else min(first, second)

    def same(self, first: Dim, second: Dim) -> Dim:
        """Return the dimension that both are, knowing it if either is known."""
        if first is None:
            return second
        if second is None or first == second:
            return first
        raise ShapeError("two dimensions must agree", expected=first, found=second)

    def broadcast_dimension(self, sizes: Sequence[Dim]) -> Dim:
        """Return the size that dimensions broadcast to: those of size 1 stretch."""
        known = {size for size in sizes if size is not None and size != 1}
        if len(known) > 1:
            raise ShapeError(
                "dimensions do not broadcast together", expected="equal sizes, or 1", found=sorted(known)
            )
        if known:
            return known.pop()
        return None if any(size is None for size in sizes) else 1

    def broadcast(self, *shapes: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return the shape that shapes broadcast to, aligned at their last dimension."""
        wide = [shape for shape in shapes if shape]
        if not wide or all(shape == wide[0] for shape in wide):  # by far the most are
            return wide[0] if wide else ()
        rank = max(map(len, wide))
        columns: list[list[Dim]] = [[] for _ in range(rank)]
        for shape in wide:
            for k, size in enumerate(shape, start=rank - len(shape)):
                columns[k].append(size)
        return tuple(self.broadcast_dimension(column) for column in columns)

    def product(self, sizes: Sequence[Dim]) -> Dim:
        """Return the product of dimensions, 1 for none."""
        total: Dim = 1
        for size in sizes:
            total = self.multiply(total, size)
        return total

    def choose(self, condition: Dim, first: Dim, second: Dim) -> Dim:
        """Return the first dimension where a condition is not 0, else the second."""
        if condition is None:
            return first if first == second else None
        return first if condition else second

    def fill_in(self, wanted: Sequence[Dim], total: Dim) -> tuple[Dim, ...]:
        """Return sizes with the one that is -1, if any, replaced by what is left of ``total`` elements."""
        if -1 not in wanted:
            return tuple(wanted)
        missing = self.floor_divide(total, self.product([size for size in wanted if size != -1]))
        return tuple(missing if size == -1 else size for size in wanted)

    def slice_length(self, size: Dim, start: Dim, stop: Dim, step: Dim, given: tuple[bool, bool]) -> Dim:
        """Return how many elements ``[start:stop:step]`` picks of ``size``.

        ``given`` says whether start and stop were written at all; a written one may still be unknown (None).
        """
        if not step or size is None or (given[0] and start is None) or (given[1] and stop is None):
            return None
        return len(range(*slice(start if given[0] else None, stop if given[1] else None, step).indices(size)))


Shapes = Sequence[tuple[Dim, ...]]
