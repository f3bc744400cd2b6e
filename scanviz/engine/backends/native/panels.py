"""Matrices that stay as they are from step to step, packed once before the steps for the products that read them.

A block of a product's columns goes down the rows of the second matrix.  In C order each row is far from the one before: memory is
read in pieces, each on a page of its own where the matrix is wide.  In panels what a block reads lies one after another, from the
beginning of a line of the cache on, and it does not matter how the matrix itself lies.
"""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.elements import Operand, load
from scanviz.engine.backends.native.formulas import cast
from scanviz.engine.backends.native.instructions import Step
from scanviz.engine.backends.native.ir import Value, constant
from scanviz.engine.backends.native.places import CONSTANT, ArrayPlace
from scanviz.engine.backends.native.products import Matrix, panels

SMALLEST = 16  # elements: of fewer there is nothing to gain


def packed(step: Step, place: ArrayPlace, matrix: Matrix, dtype: str, lanes: int) -> Matrix:
    """Return a second matrix of a product as it is read best: packed, where it stays as it is and is not small.

    Parameters
    ----------
    place : ArrayPlace
        Where the matrix lies.
    matrix : Matrix
        How it is read.
    dtype : str
        That the product is computed in.
    lanes : int
        Elements of a register.
    """
    stays = place.base[0].startswith(("fixed", CONSTANT)) and place.shift is None
    if not stays or matrix.rows * matrix.columns < SMALLEST or matrix.columns < min(lanes, 4):
        return matrix
    key = (place.base, place.offset, matrix.rows, matrix.columns, matrix.down, matrix.along, dtype)
    size = np.dtype(dtype).itemsize

    def write(memory: Operand) -> None:
        _pack(step, matrix, memory, dtype, lanes)

    memory = step.prepared(key, (matrix.rows * matrix.columns,), dtype, write)
    return Matrix(memory, matrix.rows, matrix.columns, 0, size, packed=lanes)


def _pack(step: Step, matrix: Matrix, memory: Operand, dtype: str, lanes: int) -> None:
    """Write the lines that put a matrix into panels."""
    code, size = step.code, np.dtype(dtype).itemsize
    source = Operand(matrix.operand.place, step.operand(matrix.operand.place).address)
    for start, times, registers, width in panels(matrix.columns, lanes):
        with code.several(start, times, registers * width) as column, code.counted(0, matrix.rows) as row:
            begin = code.add(code.times(column, matrix.along), code.times(row, matrix.down))
            into = code.at(memory.address, _target(step, matrix, column, row, registers * width * size, size))
            for number in code.over(
                0, registers * width, width
            ):  # seldom run, but LLVM's time goes with the lines
                value = load(code, source, code.along(begin, number, matrix.along), matrix.along, width)
                code.store(cast(code, value, dtype), code.at(into, code.times(number, size)))


def _target(step: Step, matrix: Matrix, column: Value, row: Value, down: int, size: int) -> Value:
    """Return where a row of a panel begins, in bytes."""
    code = step.code
    return code.add(code.times(column, matrix.rows * size), code.along(constant(0, "int64"), row, down))


__all__ = ["packed"]
