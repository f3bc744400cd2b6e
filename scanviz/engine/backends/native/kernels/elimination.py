"""Factors and triangular solves of small matrices: Gaussian elimination with row exchanges, Cholesky.

Rows are padded to whole registers; loops of few turns are unrolled.  A pivot that is small beside its original column is a
rounding error of a cancelled number: such a matrix is left to LAPACK, with its answer or error.

Sources: G. H. Golub and C. F. Van Loan, *Matrix Computations*, 4th edition, algorithms 3.4.1, 3.1.3 and 4.2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit.elements import Operand
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.backends.native.kernels.formulas import primitive
from scanviz.engine.backends.native.kernels.products import plus_product
from scanviz.engine.backends.native.kernels.reductions import narrowed
from scanviz.engine.graph.types import BOOLEAN

LARGEST = 32  # the most rows: for larger matrices a call of LAPACK pays
WRITTEN_OUT = 4  # most iterations that are unrolled
CANCELLED = 8  # rounding errors of a pivot: units in the last place, times the rows

Turn = Callable[[Value, Sequence[Value]], Sequence[Value]]
ZERO = constant(0, "int64")


class PaddedRows(NamedTuple):
    """A matrix in scratch memory, its rows padded to whole registers.

    Attributes
    ----------
    code : Code
        The code that is written.
    operand : Operand
        Its memory.
    lanes : int
        Elements of a register.
    """

    code: Code
    operand: Operand
    lanes: int

    @property
    def place(self) -> ArrayPlace:
        """Memory layout."""
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
        """Load adjacent elements of a row."""
        return self.code.load(self.at(row, column), self.place.dtype, lanes)

    def put(self, value: Value, row: Value, column: Value) -> None:
        """Store adjacent elements of a row."""
        self.code.store(value, self.at(row, column))

    def registers(self, first: Value | int = 0) -> Iterator[Value]:
        """Iterate over the first columns of a row's registers, beginning with the register of column ``first``."""
        code, shift = self.code, self.lanes.bit_length() - 1
        begin: Value | int
        if isinstance(first, int) or not first.text.startswith("%"):
            begin = int(first if isinstance(first, int) else first.text) >> shift
        else:
            begin = code.op(f"lshr i64 {first.text}, {shift}", "int64")
        for number in code.over(begin, row_length(self) // self.lanes, most=WRITTEN_OUT):
            yield code.times(number, self.lanes)

    def from_on(self, value: Value, column: Value, first: Value) -> Value:
        """Zero the elements before column ``first`` of a register that begins at ``column``."""
        code, lanes = self.code, value.lanes
        if lanes == 1:
            numbers = constant(0, "int64")
        else:
            numbers = Value(f"<{', '.join(f'i64 {k}' for k in range(lanes))}>", "int64", lanes)
        begin = code.splat(code.add(first, code.times(column, -1)), lanes)
        kept = code.op(f"icmp sge {numbers.typed}, {begin.text}", BOOLEAN, lanes)
        return code.select(kept, value, constant(0, value.dtype, lanes))


def row_length(a: PaddedRows) -> int:
    """Return the length of a padded row."""
    return a.place.strides[0] // a.itemsize


def padded(size: int) -> int:
    """Return the next power of two.

    Examples
    --------
    >>> [padded(size) for size in (1, 2, 3, 9)]
    [1, 2, 4, 16]
    """
    return 1 << (size - 1).bit_length()


def _less(code: Code, value: Value, first: Value, second: Value) -> Value:
    """Return value - first · second, rounded once."""
    return plus_product(code, value, primitive(code, "negate", [first]), second)


def _threshold(a: PaddedRows, scale: Value) -> Value:
    """Return the lower bound of a pivot, from the largest original number of its column."""
    bound = CANCELLED * a.place.shape[0] * float(np.finfo(a.place.dtype).eps)
    return primitive(a.code, "multiply", [scale, constant(bound, a.place.dtype)])


def _rows(a: PaddedRows, start: Value | int = 0) -> Iterator[Value]:
    """Iterate over the row numbers from ``start`` on."""
    return a.code.over(start, a.place.shape[0], most=WRITTEN_OUT)


def _turns(a: PaddedRows, start: Value | int, initial: Sequence[Value], turn: Turn) -> list[Value]:
    """Fold ``turn(row, carried)`` over the rows from ``start`` on."""
    return a.code.turns(start, a.place.shape[0], initial, turn, most=WRITTEN_OUT)


def column_scales(a: PaddedRows, scales: PaddedRows) -> None:
    """Write the largest absolute value of each column into a row."""
    code = a.code
    for column in a.registers():

        def larger(row: Value, carried: Sequence[Value], column: Value = column) -> list[Value]:
            value = primitive(code, "absolute", [a.get(row, column, a.lanes)])
            return [code.select(primitive(code, "less", [carried[0], value]), value, carried[0])]

        (largest,) = _turns(a, 0, [constant(0, a.place.dtype, a.lanes)], larger)
        scales.put(largest, ZERO, column)


def diagonal_scales(a: PaddedRows, scales: PaddedRows) -> None:
    """Write the diagonal into a row."""
    for row in _rows(a):
        scales.put(primitive(a.code, "absolute", [a.get(row, row)]), ZERO, row)


def exchange(a: PaddedRows, one: Value, other: Value) -> None:
    """Write an exchange of two rows."""
    for column in a.registers():
        first, second = a.get(one, column, a.lanes), a.get(other, column, a.lanes)
        a.put(second, one, column)
        a.put(first, other, column)


def factorise(a: PaddedRows, scales: PaddedRows, exchanged: PaddedRows) -> Value:
    """Factorise a matrix in place to L (unit diagonal) and U; return whether all pivots were good.

    Parameters
    ----------
    scales : PaddedRows
        One row: the largest absolute value of each column.
    exchanged : PaddedRows
        One row of int64: the row that each was exchanged with, in order.
    """
    code = a.code

    def column(k: Value, carried: Sequence[Value]) -> list[Value]:
        best, pivot_row = _largest_below(a, k)
        good = primitive(code, "less", [_threshold(a, scales.get(ZERO, k)), best])
        exchanged.put(pivot_row, ZERO, k)
        exchange(a, k, pivot_row)
        pivot = a.get(k, k)
        for row in _rows(a, code.add(k, 1)):
            a.put(primitive(code, "divide", [a.get(row, k), pivot]), row, k)
        _take_away(a, k, lambda row: a.get(row, k))
        return [code.both(carried[0], good)]

    return _turns(a, 0, [constant(True, BOOLEAN)], column)[0]


def _largest_below(a: PaddedRows, k: Value) -> tuple[Value, Value]:
    """Return the largest absolute value of a column from row k on, and the first row that has it."""
    code = a.code

    def larger(row: Value, carried: Sequence[Value]) -> list[Value]:
        value = primitive(code, "absolute", [a.get(row, k)])
        better = primitive(code, "less", [carried[0], value])
        return [code.select(better, value, carried[0]), code.select(better, row, carried[1])]

    first = primitive(code, "absolute", [a.get(k, k)])
    best, row = _turns(a, code.add(k, 1), [first, k], larger)
    return best, row


def _take_away(a: PaddedRows, k: Value, factor: Callable[[Value], Value]) -> None:
    """Subtract factor(row) · row k from every row below k, in the columns beyond k."""
    code, below = a.code, a.code.add(k, 1)
    for column in a.registers(below):
        taken = a.from_on(a.get(k, column, a.lanes), column, below)
        for row in _rows(a, below):
            left = code.splat(factor(row), a.lanes)
            a.put(_less(code, a.get(row, column, a.lanes), left, taken), row, column)


def factorise_positive(a: PaddedRows, scales: PaddedRows) -> Value:
    """Factorise A = Rᵀ R in place, reading the upper triangle; return whether all pivots were good."""
    code = a.code

    def column(k: Value, carried: Sequence[Value]) -> list[Value]:
        found = a.get(k, k)
        good = primitive(code, "less", [_threshold(a, scales.get(ZERO, k)), found])
        root = code.splat(primitive(code, "sqrt", [found]), a.lanes)
        for start in a.registers():
            row = primitive(code, "divide", [a.get(k, start, a.lanes), root])
            a.put(a.from_on(row, start, k), k, start)
        _take_away(a, k, lambda row: a.get(k, row))
        return [code.both(carried[0], good)]

    return _turns(a, 0, [constant(True, BOOLEAN)], column)[0]


class Triangle(NamedTuple):
    """A triangular matrix, and the form in which it is used in a solve.

    Attributes
    ----------
    rows : PaddedRows
        Its memory.
    lower : bool
        Whether the lower triangle is read, not the upper one.
    transposed : bool
        Whether its transpose is solved with.
    unit : bool
        Whether its diagonal is taken as ones.
    """

    rows: PaddedRows
    lower: bool
    transposed: bool = False
    unit: bool = False


def substitute(triangle: Triangle, b: PaddedRows) -> None:
    """Solve a triangular system in place of its right sides, the columns of ``b``."""
    code, (a, lower, transposed, unit) = b.code, triangle
    size, forward = a.place.shape[0], lower != transposed

    def entry(row: Value, column: Value) -> Value:
        return a.get(column, row) if transposed else a.get(row, column)

    for start in b.registers():
        for count in _rows(a):
            row = count if forward else code.add(code.times(count, -1), size - 1)

            def less(
                other: Value, so_far: Sequence[Value], row: Value = row, start: Value = start
            ) -> list[Value]:
                left = code.splat(entry(row, other), b.lanes)
                return [_less(code, so_far[0], left, b.get(other, start, b.lanes))]

            begin, end = (0, row) if forward else (code.add(row, 1), size)
            (total,) = code.turns(begin, end, [b.get(row, start, b.lanes)], less, most=WRITTEN_OUT)
            if not unit:
                total = primitive(code, "divide", [total, code.splat(entry(row, row), b.lanes)])
            b.put(total, row, start)


def exchange_all(b: PaddedRows, exchanged: PaddedRows, size: int, backwards: bool = False) -> Value:
    """Apply the row exchanges of a factorisation; return whether all row numbers are valid."""
    code = b.code

    def one(count: Value, carried: Sequence[Value]) -> list[Value]:
        row = code.add(code.times(count, -1), size - 1) if backwards else count
        other = exchanged.get(ZERO, row)
        inside = code.op(f"icmp ult i64 {other.text}, {size}", BOOLEAN)
        exchange(b, row, code.select(inside, other, row))
        return [code.both(carried[0], inside)]

    return code.turns(0, size, [constant(True, BOOLEAN)], one, most=WRITTEN_OUT)[0]


def all_finite(a: PaddedRows) -> Value:
    """Return whether all numbers are finite: the sum of them times 0 is 0."""
    code, none = a.code, constant(0, a.place.dtype, a.lanes)
    with code.folded(0, row_length(a), [none], a.lanes) as (column, carried, given):
        given += _turns(
            a,
            0,
            carried,
            lambda row, so_far: [plus_product(code, so_far[0], a.get(row, column, a.lanes), none)],
        )
    total = narrowed(code, "sum", given[0], 1)
    return primitive(code, "equal", [total, constant(0, a.place.dtype)])
