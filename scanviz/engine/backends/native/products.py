"""Products of matrices and vectors, in blocks of registers.

A vector times a matrix in C order, the step of a recurrent network, is done over columns: a block of them is held in registers
while the rows of the matrix go by.  Several rows of a first matrix share a block.  Where the second operand lies the other way
round (a transposed matrix) each result is a sum along both, as a reduction takes it.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.elements import Operand, load, pieces, store
from scanviz.engine.backends.native.formulas import cast, primitive
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.reductions import combined, narrowed
from scanviz.engine.graph.types import FLOATS

COLUMNS = 8  # registers of columns
ROWS = 4  # rows of the first matrix that share them, with two registers of columns each


class Matrix(NamedTuple):
    """A matrix in memory: where it begins, its sizes, and bytes between its rows and its columns."""

    operand: Operand
    rows: int
    columns: int
    down: int
    along: int
    offset: Value = constant(0, "int64")


def _element(code: Code, matrix: Matrix, row: Value, column: Value, lanes: int, dtype: str) -> Value:
    at = code.add(code.add(code.times(row, matrix.down), code.times(column, matrix.along)), matrix.offset)
    return cast(code, load(code, matrix.operand, at, matrix.along, lanes), dtype)


def _added(code: Code, total: Value, first: Value, second: Value) -> Value:
    """Return total + first · second; floating-point numbers are rounded once."""
    if total.dtype in FLOATS:
        return code.intrinsic("fma", first, second, total)
    if total.dtype == "bool":
        return primitive(code, "bit_or", [total, primitive(code, "bit_and", [first, second])])
    return primitive(code, "add", [total, primitive(code, "multiply", [first, second])])


def product(code: Code, first: Matrix, second: Matrix, target: Matrix, lanes: int) -> None:
    """Write the product of two matrices into a third."""
    dtype = target.operand.place.dtype
    if not target.rows or not target.columns:
        return
    if second.along == np.dtype(second.operand.place.dtype).itemsize or second.columns == 1 < second.rows:
        wide = second.columns > 1 or second.rows == 1
    else:
        wide = second.along < second.down
    if wide:
        _by_columns(code, first, second, target, lanes, dtype)
    else:
        _by_sums(code, first, second, target, lanes, dtype)


def _by_columns(code: Code, first: Matrix, second: Matrix, target: Matrix, lanes: int, dtype: str) -> None:
    whole = target.rows // ROWS * ROWS
    if whole:
        with code.counted(0, whole, ROWS) as row:
            _block_row(code, first, second, target, row, ROWS, lanes, dtype)
    for row_number in range(whole, target.rows):
        _block_row(code, first, second, target, constant(row_number, "int64"), 1, lanes, dtype)


def _block_row(
    code: Code, first: Matrix, second: Matrix, target: Matrix, row: Value, rows: int, lanes: int, dtype: str
) -> None:
    most = COLUMNS if rows == 1 else COLUMNS // 4
    for start, count, width in pieces(target.columns, lanes):
        blocks, done = [(most, count // most), (count % most, 1)], start
        for registers, times in blocks:
            if not registers or not times:
                continue
            if times == 1:
                column = constant(done, "int64")
                _block(code, first, second, target, (row, rows), (column, registers, width), dtype)
            else:
                with code.counted(done, done + times * registers * width, registers * width) as column:
                    _block(code, first, second, target, (row, rows), (column, registers, width), dtype)
            done += times * registers * width


def _block(
    code: Code,
    first: Matrix,
    second: Matrix,
    target: Matrix,
    down: tuple[Value, int],
    along: tuple[Value, int, int],
    dtype: str,
) -> None:
    """Write some rows and some registers of columns of the product."""
    (row, rows), (column, registers, width) = down, along
    zeros = [constant(0, dtype, width)] * (rows * registers)
    with code.folded(0, first.columns, zeros) as (number, totals, given):
        right = [
            _element(code, second, number, code.add(column, k * width), width, dtype)
            for k in range(registers)
        ]
        for i in range(rows):
            left = code.splat(_element(code, first, code.add(row, i), number, 1, dtype), width)
            given += [_added(code, totals[i * registers + k], left, each) for k, each in enumerate(right)]
    for i in range(rows):
        for k in range(registers):
            _put(code, target, code.add(row, i), code.add(column, k * width), given[i * registers + k])


def _put(code: Code, target: Matrix, row: Value, column: Value, value: Value) -> None:
    at = code.add(code.add(code.times(row, target.down), code.times(column, target.along)), target.offset)
    store(code, value, target.operand, at, target.along)


def _by_sums(code: Code, first: Matrix, second: Matrix, target: Matrix, lanes: int, dtype: str) -> None:
    """Write each result as a sum along a row of the first and a column of the second."""
    with code.counted(0, target.rows) as row, code.counted(0, target.columns) as column:
        total = inner_product(
            code, first._replace(offset=code.along(first.offset, row, first.down)),
            second._replace(offset=code.along(second.offset, column, second.along)), lanes, dtype,
        )  # fmt: skip
        _put(code, target, row, column, total)


def inner_product(code: Code, first: Matrix, second: Matrix, lanes: int, dtype: str) -> Value:
    """Return the sum of products along the first row of one matrix and the first column of another."""
    size = first.columns
    even = all(
        step == np.dtype(each.operand.place.dtype).itemsize
        for each, step in ((first, first.along), (second, second.down))
    )
    total = constant(0, dtype)
    for start, count, width in pieces(size, lanes if even else 1):
        several = min(4, count)

        def both(number: Value, width: int = width) -> list[Value]:
            return [
                cast(
                    code, load(code, each.operand, code.along(each.offset, number, step), step, width), dtype
                )
                for each, step in ((first, first.along), (second, second.down))
            ]

        zeros = [constant(0, dtype, width)] * several
        whole = count // several * several
        with code.folded(start, start + whole * width, zeros, several * width) as (number, carried, given):
            for k, each in enumerate(carried):
                given.append(_added(code, each, *both(code.add(number, k * width))))
        ends = list(given)
        for k in range(whole, count):
            ends[0] = _added(code, ends[0], *both(constant(start + k * width, "int64")))
        part = reduce(lambda one, other: combined(code, "sum", one, other), ends)
        total = combined(code, "sum", total, narrowed(code, "sum", part, 1))
    return total


__all__ = ["Matrix", "inner_product", "product"]
