"""Native code of products of vectors and matrices."""

from __future__ import annotations

import numpy as np

from scanviz.engine.backends.native.elements import FEW, lanes_of
from scanviz.engine.backends.native.instructions import (
    WRITE,
    Step,
    Writing,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.panels import packed
from scanviz.engine.backends.native.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.products import Matrix, inner_product, product
from scanviz.engine.ops.linalg import DOT, MATMUL
from scanviz.engine.program.instructions import Instruction, Program, rank_of

MOST_ROWS = 4  # results of a matrix times a vector that are written out


def _matrix(step: Step, place: ArrayPlace, first: bool) -> Matrix:
    """Return a matrix or a vector as an operand of a product: a vector is a row on the left, a column on the right."""
    rows, columns, down, along = 1, 1, 0, 0
    if len(place.shape) == 2:
        (rows, columns), (down, along) = place.shape, place.strides
    elif first:
        columns, along = place.shape[0], place.strides[0]
    else:
        rows, down = place.shape[0], place.strides[0]
    return Matrix(step.operand(place), rows, columns, down, along)


def _write_product(step: Step, instruction: Instruction) -> None:
    a, b = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    code, dtype = step.code, target.dtype
    lanes = lanes_of([a.dtype, b.dtype, dtype], step.vector_bytes)
    first, second = _matrix(step, a, True), _matrix(step, b, False)
    must_fit(first.columns == second.rows)
    if not target.shape:
        step.give(instruction.outputs[0], inner_product(code, first, second, lanes, dtype))
        return
    into = Matrix(step.operand(target), first.rows, second.columns, 0, 0)
    if len(target.shape) == 2:
        into = into._replace(down=target.strides[0], along=target.strides[1])
    elif len(a.shape) == 1:
        into = into._replace(along=target.strides[0])
    else:
        into = into._replace(down=target.strides[0])
    if second.columns == 1 and len(b.shape) == 1:
        _times_vector(step, first, second, into, lanes, dtype)
    else:
        product(code, first, packed(step, b, second, dtype, lanes), into, lanes)


def _times_vector(step: Step, first: Matrix, second: Matrix, into: Matrix, lanes: int, dtype: str) -> None:
    """Write a matrix times a vector: sums along rows, or along columns side by side where those lie one after another."""
    size = np.dtype(first.operand.place.dtype).itemsize
    right = Matrix(first.operand, first.columns, first.rows, first.along, first.down)
    right = packed(step, first.operand.place, right, dtype, lanes)
    if (
        right.packed or first.down == size != first.along or first.rows <= FEW
    ):  # a transposed matrix, or numbers: the vector times it as it lies
        left = Matrix(second.operand, 1, second.rows, 0, second.down)
        into = into._replace(rows=1, columns=first.rows, down=0, along=into.down)
        product(step.code, left, right, into, lanes)
        return
    for row in step.code.over(0, first.rows, most=MOST_ROWS):
        moved = first._replace(offset=step.code.times(row, first.down))
        total = inner_product(step.code, moved, second, lanes, dtype)
        address = step.code.at(into.operand.address, step.code.times(row, into.down))
        step.code.store(total, address)


def _why_no_product(instruction: Instruction, program: Program) -> str | None:
    ranks = [rank_of(program, number) for number in instruction.inputs]
    if not all(1 <= rank <= 2 for rank in ranks):
        return f"`{instruction.op.name}` of {ranks[0]} and {ranks[1]} dimensions has no native code"
    return None


for _declaration in (DOT, MATMUL):
    WRITE.row(_declaration)(Writing(_why_no_product, _write_product))
