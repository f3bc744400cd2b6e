"""Arithmetic on dimensions, so that one shape rule an op serves three purposes.

A shape rule is written once, over opaque dimensions, with the methods of :class:`Dims`.  A dimension is an int, None for
unknown, or a polynomial of unknown sizes (:mod:`scanviz.engine.sizes.polynomial`).  Ints and None serve types (values of inputs are
known only if constant) and run time (values are known); polynomials serve questions about shapes before there are values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from scanviz.engine.errors import ShapeError
from scanviz.engine.sizes.polynomial import (
    Call,
    Polynomial,
    arguments_of,
    surely_at_most,
    surely_not_negative,
)

Dim = Any  # int, Polynomial or None: rules never look inside
MOST_TERMS = 32  # pairs of terms that are added or multiplied; what has more is one unknown


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
    >>> n = Polynomial.of("n")
    >>> print(dims.add(n, 2), dims.subtract(dims.add(n, 2), n), dims.floor_divide(dims.multiply(n, 4), 2))
    n + 2 2 2·n
    """

    __slots__ = ("shapes", "value")

    def __init__(self, shapes: Sequence[tuple[Dim, ...]], value: Callable[[int], Dim]) -> None:
        self.shapes, self.value = shapes, value

    def add(self, first: Dim, second: Dim) -> Dim:
        """Return ``first + second``."""
        return _combined(operator.add, "add", first, second)

    def subtract(self, first: Dim, second: Dim) -> Dim:
        """Return ``first - second``."""
        return _combined(operator.sub, "subtract", first, second)

    def multiply(self, first: Dim, second: Dim) -> Dim:
        """Return ``first * second``; 0 times anything is 0."""
        return 0 if first == 0 or second == 0 else _combined(operator.mul, "multiply", first, second)

    def floor_divide(self, first: Dim, second: Dim) -> Dim:
        """Return ``first // second``, unknown for a divisor of 0."""
        if first is None or not second:
            return None
        if second == 1:
            return first
        if isinstance(first, int) and isinstance(second, int):
            return first // second
        if not isinstance(second, int):
            return called("floor_divide", first, second)
        terms = first.terms.items()
        whole = Polynomial({key: value // second for key, value in terms if value % second == 0})
        rest = Polynomial({key: value for key, value in terms if value % second}).simplest
        left = rest // second if isinstance(rest, int) else called("floor_divide", rest, second)
        return self.add(whole.simplest, left)

    def maximum(self, first: Dim, second: Dim) -> Dim:
        """Return the larger dimension."""
        if first is None or second is None or surely_at_most(second, first):
            return None if second is None else first
        return second if surely_at_most(first, second) else called("maximum", first, second)

    def minimum(self, first: Dim, second: Dim) -> Dim:
        """Return the smaller dimension."""
        if first is None or second is None or surely_at_most(first, second):
            return None if second is None else first
        return second if surely_at_most(second, first) else called("minimum", first, second)

    def same(self, first: Dim, second: Dim) -> Dim:
        """Return the dimension that both are, knowing it if either is known."""
        if first is None or (isinstance(second, int) and isinstance(first, Polynomial)):
            return second
        if isinstance(first, int) and isinstance(second, int) and first != second:
            raise ShapeError("two dimensions must agree", expected=first, found=second)
        return first

    def broadcast_dimension(self, sizes: Sequence[Dim]) -> Dim:
        """Return the size that dimensions broadcast to: those of size 1 stretch."""
        known: list[int] = []
        terms: dict[Any, None] = {}
        some_unknown = False
        for size in sizes:
            if size is None:
                some_unknown = True
            elif not isinstance(size, int):
                terms.update(dict.fromkeys(arguments_of(size, "broadcast_size")))
            elif size != 1 and size not in known:
                known.append(size)
        if len(known) > 1:
            raise ShapeError(
                "dimensions do not broadcast together", expected="equal sizes, or 1", found=sorted(known)
            )
        if known or some_unknown:
            return known[0] if known else None
        if len(terms) > 1:
            return called("broadcast_size", *terms)
        return next(iter(terms), 1)

    def broadcast(self, *shapes: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return the shape that shapes broadcast to, aligned at their last dimension."""
        wide = [shape for shape in shapes if shape]
        if not wide:
            return ()
        first = wide[0]
        for shape in wide:
            if shape != first:
                break
        else:  # by far the most
            return first
        rank = max(map(len, wide))
        columns: list[list[Dim]] = [[] for _ in range(rank)]
        for shape in wide:
            for k, size in enumerate(shape, start=rank - len(shape)):
                columns[k].append(size)
        return tuple(map(self.broadcast_dimension, columns))

    def product(self, sizes: Sequence[Dim]) -> Dim:
        """Return the product of dimensions, 1 for none."""
        total: Dim = 1
        for size in sizes:
            total = self.multiply(total, size)
        return total

    def choose(self, condition: Dim, first: Dim, second: Dim) -> Dim:
        """Return the first dimension where a condition is not 0, else the second."""
        if isinstance(condition, int):
            return first if condition else second
        if first == second:
            return first
        if condition is None or first is None or second is None:
            return None
        return called("where", called("not_equal", condition, 0), first, second)

    def fill_in(self, wanted: Sequence[Dim], total: Dim) -> tuple[Dim, ...]:
        """Return sizes with -1 replaced by the size that makes ``total`` elements."""
        if -1 in wanted:
            missing = self.floor_divide(total, self.product([size for size in wanted if size != -1]))
            return tuple(missing if size == -1 else size for size in wanted)
        doubtful = [isinstance(size, Polynomial) and not surely_not_negative(size) for size in wanted]
        if not any(doubtful):
            return tuple(wanted)
        # by the others, if one is -1
        missing = self.floor_divide(total, self.subtract(0, self.product(wanted)))
        return tuple(
            called("where", called("equal", size, -1), missing, size)
            if doubted and missing is not None
            else size
            for size, doubted in zip(wanted, doubtful, strict=True)
        )

    def slice_length(self, size: Dim, start: Dim, stop: Dim, step: Dim, given: tuple[bool, bool]) -> Dim:
        """Return how many elements ``[start:stop:step]`` picks of ``size``.

        ``given`` holds whether start and stop were written; a written one may still be unknown (None).
        """
        if not step or size is None or (given[0] and start is None) or (given[1] and stop is None):
            return None
        first, last = start if given[0] else None, stop if given[1] else None
        if not any(isinstance(bound, Polynomial) for bound in (size, first, last, step)):
            return len(range(*slice(first, last, step).indices(size)))
        if isinstance(step, int):
            rising = step > 0
            return (self._upward if rising else self._downward)(size, first, last, abs(step))
        up = self._upward(size, first, last, self.maximum(step, 1))  # a step of 0 is refused where it is run
        down = self._downward(size, first, last, self.maximum(self.subtract(0, step), 1))
        return called("where", called("greater", step, 0), up, down)

    def from_start(self, bound: Dim, size: Dim) -> Dim:
        """Return a bound as one counted from the start, where a negative one is counted from the end."""
        if isinstance(bound, int) or surely_not_negative(bound):
            return self.add(bound, size) if isinstance(bound, int) and bound < 0 else bound
        return called("where", called("less", bound, 0), self.add(bound, size), bound)

    def _upward(self, size: Dim, start: Dim, stop: Dim, stride: Dim) -> Dim:
        last = size if stop is None else self._clamped(stop, size, 0, size)
        if start is None or start == 0:
            return self._strides(last, stride)
        plain = stop is None and isinstance(start, int) and start > 0  # beyond the end the span is negative
        first = start if plain else self._clamped(start, size, 0, size)
        return self.maximum(self._strides(self.subtract(last, first), stride), 0)

    def _downward(self, size: Dim, start: Dim, stop: Dim, stride: Dim) -> Dim:
        top = self.subtract(size, 1)
        first = top if start is None else self._clamped(start, size, -1, top)
        if stop is None:
            return self._strides(size if start is None else self.add(first, 1), stride)
        last = self._clamped(stop, size, -1, top)
        return self.maximum(self._strides(self.subtract(first, last), stride), 0)

    def _strides(self, span: Dim, stride: Dim) -> Dim:
        """Return how many strides begin within a span; 0 or less for a negative one."""
        return self.floor_divide(self.add(span, self.subtract(stride, 1)), stride)

    def _clamped(self, bound: Dim, size: Dim, low: Dim, high: Dim) -> Dim:
        """Return a slice bound counted from the start and limited to where a slice of this direction may end."""
        place = self.from_start(bound, size)
        return place if bound == low == 0 else self.minimum(self.maximum(place, low), high)


def called(name: str, *args: Dim) -> Polynomial:
    """Return the result of an operation on dimensions, as one unknown."""
    return Polynomial({(Call(name, args),): 1})


def _combined(operation: Callable[[Any, Any], Any], name: str, first: Dim, second: Dim) -> Dim:
    """Return the sum, difference or product of two dimensions."""
    if type(first) is int and type(second) is int:
        return operation(first, second)
    if first is None or second is None:
        return None
    terms = [len(polynomial.terms) for polynomial in (first, second) if isinstance(polynomial, Polynomial)]
    return called(name, first, second) if prod(terms) > MOST_TERMS else operation(first, second).simplest


SIZES = Dims([], lambda position: None)  # arithmetic alone
Shapes = Sequence[tuple[Dim, ...]]
