"""Products of matrices and vectors in blocks of registers.

A vector times a matrix in C order, the step of a recurrent network, is computed by blocks of columns, which stay in registers
while the rows of the matrix go by.  Several rows of the first matrix share a block.  A loop-invariant matrix is packed in the
order of the blocks.  A transposed matrix that changes from step to step gives inner products instead.

A block of few registers takes several rows of the second matrix at once, in separate sums, so that additions overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit.elements import Operand, load, pieces, store
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.kernels.formulas import cast, primitive
from scanviz.engine.backends.native.kernels.reductions import combined, narrowed
from scanviz.engine.graph.types import FLOATS

COLUMNS = 8  # the most registers of columns in a block
ROWS = 4  # rows of the first matrix that share a block
IN_FLIGHT = 8  # additions that may overlap
SHORTEST_LOOP = 4  # iterations of the inner loop that are unrolled
WRITTEN_OUT = 32  # products of registers that are unrolled
SMALL_MATRIX = 16  # the most elements of a matrix whose rows are gathered from any strides


class Matrix(NamedTuple):
    """A matrix in memory: address, sizes, bytes between rows and between columns.

    ``packed`` is the number of lanes of its column blocks, 0 in NumPy's order of memory.
    """

    operand: Operand
    rows: int
    columns: int
    down: int
    along: int
    offset: Value = constant(0, "int64")
    packed: int = 0

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.operand.place.dtype).itemsize


class Columns(NamedTuple):
    """Columns of a product in registers: the first column, number of registers, lanes of each."""

    first: Value
    registers: int
    lanes: int


def column_blocks(columns: int, lanes: int) -> Iterator[tuple[int, int, int, int]]:
    """Iterate over columns in blocks of one size: (first column, end, registers of each block, lanes of a register).

    Examples
    --------
    >>> list(column_blocks(150, 8))
    [(0, 128, 8, 8), (128, 144, 2, 8), (144, 148, 1, 4), (148, 150, 1, 2)]
    """
    for start, count, width in pieces(columns, lanes):
        rest, end = count % COLUMNS, start + count * width
        if count >= COLUMNS:
            yield start, end - rest * width, COLUMNS, width
        if rest:
            yield end - rest * width, end, rest, width


def plus_product(code: Code, total: Value, first: Value, second: Value) -> Value:
    """Return total + first · second, fused for floats."""
    if total.dtype in FLOATS:
        return code.intrinsic("fma", first, second, total)
    if total.dtype == "bool":
        return primitive(code, "bit_or", [total, primitive(code, "bit_and", [first, second])])
    return primitive(code, "add", [total, primitive(code, "multiply", [first, second])])


def product(code: Code, first: Matrix, second: Matrix, target: Matrix, lanes: int) -> None:
    """Write the product of two matrices into a third."""
    if not target.rows or not target.columns:
        return
    if second.packed or second.along == second.itemsize or second.columns == 1 < second.rows:
        wide = second.columns > 1 or second.rows == 1
    else:
        wide = second.along < second.down or 1 < second.columns <= SMALL_MATRIX // second.rows
    if not wide:
        _by_sums(code, first, second, target, lanes, target.operand.place.dtype)
        return
    for start, end, registers, width in column_blocks(target.columns, second.packed or lanes):
        for column in code.over(start, end, registers * width):
            _Panel(code, first, second, target, Columns(column, registers, width)).write()


class _Panel:
    """Writes all rows of some columns of a product.

    Parameters
    ----------
    first, second, target : Matrix
        The operands and the result.
    columns : Columns
        The columns of the panel.
    """

    def __init__(self, code: Code, first: Matrix, second: Matrix, target: Matrix, columns: Columns) -> None:
        self.code, self.first, self.target, self.columns = code, first, target, columns
        self.dtype, self.width = target.operand.place.dtype, columns.lanes
        if second.packed:
            begin = code.along(second.offset, columns.first, second.rows * second.itemsize)
            down = columns.registers * columns.lanes * second.itemsize
            self.second = second._replace(offset=begin, down=down)
        else:
            self.second = second._replace(offset=code.along(second.offset, columns.first, second.along))

    def write(self) -> None:
        """Write the lines."""
        rows = self.target.rows
        whole = rows // ROWS * ROWS
        for row in self.code.over(0, whole, ROWS):
            self._rows(row, ROWS)
        if rows > whole:
            self._rows(constant(whole, "int64"), rows - whole)

    def _rows(self, row: Value, rows: int) -> None:
        """Write some rows, as many registers at a time as the sums allow."""
        wide = self.width * np.dtype(self.dtype).itemsize == 64  # AVX-512 has twice the registers
        most = max(1, (16 if wide else 8) // rows)
        for done in range(0, self.columns.registers, most):
            self._block(row, rows, done, min(most, self.columns.registers - done))

    def _block(self, row: Value, rows: int, done: int, registers: int) -> None:
        """Write some rows of ``registers`` registers after the first ``done``."""
        code, width, operand = self.code, self.width, self.first.operand
        address = code.at(operand.address, code.along(self.first.offset, row, self.first.down))
        left = self.first._replace(operand=operand._replace(address=address), rows=rows)

        totals = self._sums(left, done, registers)
        target = self.target
        begin = code.along(target.offset, row, target.down)
        begin = code.at(target.operand.address, code.along(begin, self.columns.first, target.along))
        into = target.operand._replace(address=begin)
        for i in range(rows):
            for k in range(registers):
                behind = constant(i * target.down + (done + k) * width * target.along, "int64")
                store(code, totals[i * registers + k], into, behind, target.along)

    def _sums(self, left: Matrix, done: int, registers: int) -> list[Value]:
        """Return the sums of products for some rows and registers of columns."""
        code, second, inner = self.code, self.second, self.first.columns
        sums = left.rows * registers
        several = max(1, min(4, IN_FLIGHT // sums, inner)) if self.target.rows == 1 else 1

        def plus(totals: Sequence[Value], number: Value, right: Matrix) -> list[Value]:
            return self._plus_products(totals, left, number, right, done)

        totals = [constant(0, self.dtype, self.width)] * (sums * several)
        turns = inner // several
        if turns <= SHORTEST_LOOP or turns * several * sums <= WRITTEN_OUT:
            for k in range(turns * several):
                part = slice(k % several * sums, (k % several + 1) * sums)
                totals[part] = plus(totals[part], constant(k, "int64"), self._right(second, k))
        else:
            # a running pointer: with an index, memory operands need an extra instruction
            begin = code.at(second.operand.address, second.offset)
            with code.folded(0, turns * several, [begin, *totals], several) as (
                number,
                (there, *carried),
                given,
            ):
                given.append(code.at(there, code.hidden(constant(several * second.down, "int64"))))
                for k in range(several):
                    right = self._right(second, k, there)
                    given += plus(carried[k * sums : (k + 1) * sums], code.add(number, k), right)
            totals = list(given[1:])
        for k in range(turns * several, inner):
            totals[:sums] = plus(totals[:sums], constant(k, "int64"), self._right(second, k))
        for k in range(1, several):
            pairs = zip(totals[:sums], totals[k * sums : (k + 1) * sums], strict=True)
            totals[:sums] = [combined(code, "sum", one, other) for one, other in pairs]
        return totals[:sums]

    def _right(self, second: Matrix, k: int, begin: Value | None = None) -> Matrix:
        """Return the second matrix from row k on, counted from its begin or from an address."""
        rest = k * second.down
        if begin is None:
            return second._replace(offset=self.code.add(second.offset, rest))
        operand = second.operand._replace(address=begin)
        return second._replace(operand=operand, offset=constant(rest, "int64"))

    def _plus_products(
        self, totals: Sequence[Value], left: Matrix, number: Value, right: Matrix, done: int
    ) -> list[Value]:
        """Add the products of one column of the first matrix and one row of the second to the sums."""
        code, width = self.code, self.width
        registers = len(totals) // left.rows
        sides = []
        for k in range(done, done + registers):
            there = code.add(right.offset, k * width * right.along)
            sides.append(cast(code, load(code, right.operand, there, right.along, width), self.dtype))
        column = code.at(left.operand.address, code.times(number, left.along))
        column_of = left.operand._replace(address=column)
        found = []
        for i in range(left.rows):
            one = load(code, column_of, constant(i * left.down, "int64"), left.along, 1)
            factor = code.splat(cast(code, one, self.dtype), width)
            old = totals[i * registers : (i + 1) * registers]
            found += [plus_product(code, total, factor, side) for total, side in zip(old, sides, strict=True)]
        return found


def _by_sums(code: Code, first: Matrix, second: Matrix, target: Matrix, lanes: int, dtype: str) -> None:
    """Write each result as an inner product of a row and a column."""
    few = WRITTEN_OUT if target.rows * target.columns * first.columns <= WRITTEN_OUT else 1
    for row in code.over(0, target.rows, most=few):
        for column in code.over(0, target.columns, most=few):
            total = inner_product(
                code, first._replace(offset=code.along(first.offset, row, first.down)),
                second._replace(offset=code.along(second.offset, column, second.along)), lanes, dtype,
            )  # fmt: skip
            at = code.along(code.along(target.offset, row, target.down), column, target.along)
            store(code, total, target.operand, at, target.along)


def inner_product(code: Code, first: Matrix, second: Matrix, lanes: int, dtype: str) -> Value:
    """Return the sum of products along the first row of one matrix and the first column of another."""
    size = first.columns
    even = all(
        step == np.dtype(side.operand.place.dtype).itemsize
        for side, step in ((first, first.along), (second, second.down))
    )
    total: Value | None = None
    for start, count, width in pieces(size, lanes if even else 1):
        several = min(4, count)

        def both(number: Value, width: int = width) -> list[Value]:
            return [
                cast(
                    code, load(code, side.operand, code.along(side.offset, number, step), step, width), dtype
                )
                for side, step in ((first, first.along), (second, second.down))
            ]

        zeros = [constant(0, dtype, width)] * several
        whole = count // several * several

        def plus(number: Value, totals: Sequence[Value], width: int = width) -> list[Value]:
            return [
                plus_product(code, old, *both(code.add(number, k * width))) for k, old in enumerate(totals)
            ]

        ends = code.turns(start, start + whole * width, zeros, plus, several * width)
        for k in range(whole, count):
            ends[0] = plus_product(code, ends[0], *both(constant(start + k * width, "int64")))
        part = reduce(lambda one, other: combined(code, "sum", one, other), ends)
        total = part if total is None else combined(code, "sum", narrowed(code, "sum", total, width), part)
    return constant(0, dtype) if total is None else narrowed(code, "sum", total, 1)
