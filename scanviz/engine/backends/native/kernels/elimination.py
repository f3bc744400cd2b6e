"""Triangular factors of small matrices in memory, and what they solve: Gaussian elimination with row exchanges, and Cholesky's.

Rows lie a whole number of registers apart, so that what is done to a row is done to whole registers.  Loops of few turns are
written out.  A pivot is looked at: one that is small beside its own column as it was given is what rounding left of a cancelled
number, and such a matrix is not factorised here (LAPACK's answer, or its error, stands for it).

Sources: G. H. Golub and C. F. Van Loan, *Matrix Computations*, 4th edition, algorithms 3.4.1, 3.1.3 and 4.2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit.elements import Operand
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.backends.native.kernels.formulas import primitive
from scanviz.engine.backends.native.kernels.products import plus_product
from scanviz.engine.backends.native.kernels.reductions import narrowed
from scanviz.engine.graph.types import BOOLEAN

LARGEST = 32  # rows: those of larger matrices are worth a call of LAPACK
WRITTEN_OUT = 4  # turns of a loop that are written one after another
CANCELLED = 8  # units in the last place, times the rows, that a pivot may have of rounding

Turn = Callable[[Value, list[Value]], Sequence[Value]]


def turns(
    code: Code, start: Value | int, end: Value | int, initial: Sequence[Value], turn: Turn
) -> list[Value]:
    """Write ``turn(number, carried)`` for the numbers of a range, few known ones without a loop; return what is carried last."""
    first, last = (constant(n, "int64") if isinstance(n, int) else n for n in (start, end))
    known = [int(bound.text) for bound in (first, last) if not bound.text.startswith("%")]
    if len(known) == 2 and known[1] - known[0] <= WRITTEN_OUT:
        carried = list(initial)
        for k in range(*known):
            carried = list(turn(constant(k, "int64"), carried))
        return carried
    with code.folded(first, last, initial) as (number, so_far, given):
        given += turn(number, so_far)
    return given


class PaddedRows(NamedTuple):
    """A matrix in memory of its own, its rows padded to whole registers.

    Attributes
    ----------
    code : Code
        What works on it is written to.
    operand : Operand
        Where it lies.
    lanes : int
        Numbers in a register.
    """

    code: Code
    operand: Operand
    lanes: int

    @property
    def place(self) -> ArrayPlace:
        """How it lies."""
        return self.operand.place

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return np.dtype(self.place.dtype).itemsize

    def at(self, row: Value, column: Value) -> Value:
        """Return the address of an element."""
        moved = self.code.along(self.code.times(row, self.place.strides[0]), column, self.itemsize)
        return self.code.at(self.operand.address, moved)

    def get(self, row: Value, column: Value, lanes: int = 1) -> Value:
        """Return elements beside each other."""
        return self.code.load(self.at(row, column), self.place.dtype, lanes)

    def put(self, value: Value, row: Value, column: Value) -> None:
        """Store elements beside each other."""
        self.code.store(value, self.at(row, column))

    def registers(self, first: Value | int, write: Callable[[Value], None]) -> None:
        """Write lines for each register of a row from the one that has column ``first`` on."""
        code, lanes = self.code, self.lanes
        count = row_length(self) // lanes
        start = constant(first, "int64") if isinstance(first, int) else first
        if not start.text.startswith("%"):
            begin = constant(int(start.text) // lanes, "int64")
        else:
            begin = code.op(f"lshr i64 {start.text}, {lanes.bit_length() - 1}", "int64")

        def one(number: Value, carried: list[Value]) -> list[Value]:
            write(code.times(number, lanes))
            return []

        turns(code, begin, count, [], one)

    def from_on(self, value: Value, column: Value, first: Value) -> Value:
        """Return the elements of a register that begins at ``column``; zeros of those before column ``first``."""
        code, lanes = self.code, value.lanes
        if lanes == 1:
            numbers = constant(0, "int64")
        else:
            numbers = Value(f"<{', '.join(f'i64 {k}' for k in range(lanes))}>", "int64", lanes)
        begin = code.splat(code.add(first, code.times(column, -1)), lanes)
        kept = code.op(f"icmp sge {numbers.typed}, {begin.text}", BOOLEAN, lanes)
        return code.select(kept, value, constant(0, value.dtype, lanes))


def row_length(a: PaddedRows) -> int:
    """Return the numbers of a row with those that pad it."""
    return a.place.strides[0] // a.itemsize


def padded(size: int) -> int:
    """Return the power of two that is not smaller.

    Examples
    --------
    >>> [padded(size) for size in (1, 2, 3, 9)]
    [1, 2, 4, 16]
    """
    return 1 << (size - 1).bit_length()


def _less(code: Code, value: Value, first: Value, second: Value) -> Value:
    """Return value - first · second, rounded once."""
    return plus_product(code, value, primitive(code, "negate", [first]), second)


def _both(code: Code, one: Value, other: Value) -> Value:
    return code.op(f"and i1 {one.text}, {other.text}", BOOLEAN)


def _threshold(a: PaddedRows, scale: Value) -> Value:
    """Return what a pivot must be larger than, of the largest number of its column as it was given."""
    bound = CANCELLED * a.place.shape[0] * float(np.finfo(a.place.dtype).eps)
    return primitive(a.code, "multiply", [scale, constant(bound, a.place.dtype)])


def column_scales(a: PaddedRows, scales: PaddedRows) -> None:
    """Write the largest absolute value of each column into a row."""
    code, zero = a.code, constant(0, "int64")

    def register(column: Value) -> None:
        def larger(row: Value, carried: list[Value]) -> list[Value]:
            value = primitive(code, "absolute", [a.get(row, column, a.lanes)])
            return [code.select(primitive(code, "less", [carried[0], value]), value, carried[0])]

        start = [constant(0, a.place.dtype, a.lanes)]
        scales.put(turns(code, 0, a.place.shape[0], start, larger)[0], zero, column)

    a.registers(0, register)


def diagonal_scales(a: PaddedRows, scales: PaddedRows) -> None:
    """Write the diagonal into a row."""

    def one(row: Value, carried: list[Value]) -> list[Value]:
        scales.put(primitive(a.code, "absolute", [a.get(row, row)]), constant(0, "int64"), row)
        return []

    turns(a.code, 0, a.place.shape[0], [], one)


def exchange(a: PaddedRows, one: Value, other: Value) -> None:
    """Write an exchange of two rows."""

    def register(column: Value) -> None:
        first, second = a.get(one, column, a.lanes), a.get(other, column, a.lanes)
        a.put(second, one, column)
        a.put(first, other, column)

    a.registers(0, register)


def factorise(a: PaddedRows, scales: PaddedRows, exchanged: PaddedRows) -> Value:
    """Write the factors L and U of a matrix over it, L with ones on its diagonal; return whether it has such.

    Parameters
    ----------
    scales : PaddedRows
        One row, of the largest numbers of its columns.
    exchanged : PaddedRows
        One row of int64: which row each was exchanged with, in order.
    """
    code, size = a.code, a.place.shape[0]
    zero = constant(0, "int64")

    def column(k: Value, carried: list[Value]) -> list[Value]:
        best, pivot_row = _largest_below(a, k)
        good = primitive(code, "less", [_threshold(a, scales.get(zero, k)), best])
        exchanged.put(pivot_row, zero, k)
        exchange(a, k, pivot_row)
        pivot, below = a.get(k, k), code.add(k, 1)

        def multiplier(row: Value, none: list[Value]) -> list[Value]:
            a.put(primitive(code, "divide", [a.get(row, k), pivot]), row, k)
            return []

        turns(code, below, size, [], multiplier)
        _take_away(a, k, lambda row: a.get(row, k))
        return [_both(code, carried[0], good)]

    return turns(code, 0, size, [constant(True, BOOLEAN)], column)[0]


def _largest_below(a: PaddedRows, k: Value) -> tuple[Value, Value]:
    """Return the largest absolute value of a column from row k on, and the first row that has it."""
    code = a.code

    def larger(row: Value, carried: list[Value]) -> list[Value]:
        value = primitive(code, "absolute", [a.get(row, k)])
        better = primitive(code, "less", [carried[0], value])
        return [code.select(better, value, carried[0]), code.select(better, row, carried[1])]

    first = primitive(code, "absolute", [a.get(k, k)])
    best, row = turns(code, code.add(k, 1), a.place.shape[0], [first, k], larger)
    return best, row


def _take_away(a: PaddedRows, k: Value, factor: Callable[[Value], Value]) -> None:
    """Write row - factor(row) · row k for all rows below row k, of the columns beyond k."""
    code, below = a.code, a.code.add(k, 1)

    def register(column: Value) -> None:
        taken = a.from_on(a.get(k, column, a.lanes), column, below)

        def one(row: Value, carried: list[Value]) -> list[Value]:
            left = code.splat(factor(row), a.lanes)
            a.put(_less(code, a.get(row, column, a.lanes), left, taken), row, column)
            return []

        turns(code, below, a.place.shape[0], [], one)

    a.registers(below, register)


def factorise_positive(a: PaddedRows, scales: PaddedRows) -> Value:
    """Write R with A = Rᵀ R over a matrix, of which what is below the diagonal is not read; return whether there is one."""
    code, size = a.code, a.place.shape[0]

    def column(k: Value, carried: list[Value]) -> list[Value]:
        found = a.get(k, k)
        good = primitive(code, "less", [_threshold(a, scales.get(constant(0, "int64"), k)), found])
        root = code.splat(primitive(code, "sqrt", [found]), a.lanes)

        def register(start: Value) -> None:
            row = primitive(code, "divide", [a.get(k, start, a.lanes), root])
            a.put(a.from_on(row, start, k), k, start)

        a.registers(0, register)
        _take_away(a, k, lambda row: a.get(k, row))
        return [_both(code, carried[0], good)]

    return turns(code, 0, size, [constant(True, BOOLEAN)], column)[0]


class Triangle(NamedTuple):
    """A triangular matrix as it is solved with.

    Attributes
    ----------
    rows : PaddedRows
        Where it lies.
    lower : bool
        Which triangle is read.
    transposed : bool
        Whether what is solved with is its transpose.
    unit : bool
        Whether its diagonal is ones, whatever lies there.
    """

    rows: PaddedRows
    lower: bool
    transposed: bool = False
    unit: bool = False


def substitute(triangle: Triangle, b: PaddedRows) -> None:
    """Write the solution of a triangular system over its right sides, the columns of ``b``."""
    code, (a, lower, transposed, unit) = b.code, triangle
    size, forward = a.place.shape[0], lower != transposed

    def entry(row: Value, column: Value) -> Value:
        return a.get(column, row) if transposed else a.get(row, column)

    def register(start: Value) -> None:
        def one(count: Value, carried: list[Value]) -> list[Value]:
            row = count if forward else code.add(code.times(count, -1), size - 1)

            def less(other: Value, so_far: list[Value]) -> list[Value]:
                left = code.splat(entry(row, other), b.lanes)
                return [_less(code, so_far[0], left, b.get(other, start, b.lanes))]

            begin, end = (0, row) if forward else (code.add(row, 1), size)
            total = turns(code, begin, end, [b.get(row, start, b.lanes)], less)[0]
            if not unit:
                total = primitive(code, "divide", [total, code.splat(entry(row, row), b.lanes)])
            b.put(total, row, start)
            return []

        turns(code, 0, size, [], one)

    b.registers(0, register)


def exchange_all(b: PaddedRows, exchanged: PaddedRows, size: int, backwards: bool = False) -> Value:
    """Write the exchanges of rows that a factorisation noted; return whether all rows are some of the matrix."""
    code = b.code

    def one(count: Value, carried: list[Value]) -> list[Value]:
        row = code.add(code.times(count, -1), size - 1) if backwards else count
        other = exchanged.get(constant(0, "int64"), row)
        inside = code.op(f"icmp ult i64 {other.text}, {size}", BOOLEAN)
        exchange(b, row, code.select(inside, other, row))
        return [_both(code, carried[0], inside)]

    return turns(code, 0, size, [constant(True, BOOLEAN)], one)[0]


def all_finite(a: PaddedRows) -> Value:
    """Return whether all numbers are: a sum of them times 0 is 0."""
    code, none = a.code, constant(0, a.place.dtype, a.lanes)
    with code.folded(0, row_length(a), [none], a.lanes) as (column, carried, given):

        def one(row: Value, so_far: list[Value]) -> list[Value]:
            return [plus_product(code, so_far[0], a.get(row, column, a.lanes), none)]

        given += turns(code, 0, a.place.shape[0], carried, one)
    total = narrowed(code, "sum", given[0], 1)
    return primitive(code, "equal", [total, constant(0, a.place.dtype)])
