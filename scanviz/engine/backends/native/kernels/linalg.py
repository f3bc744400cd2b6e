"""Native code of products of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from scanviz.engine.backends.native.emit import RunError
from scanviz.engine.backends.native.emit.elements import FEW, Operand, collapsed, lanes_of, load
from scanviz.engine.backends.native.emit.instructions import (
    WRITE,
    Step,
    copy,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import CONSTANT, ArrayPlace, must_fit
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.backends.native.kernels.products import Matrix, column_blocks, inner_product, product
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.linalg import BATCHED_DOT, DOT, MATMUL, TENSORDOT
from scanviz.engine.program.instructions import Instruction, dtype_of, is_scalar
from scanviz.engine.program.plan.location import packed

Axes = Sequence[int]
MOST_ROWS = 4  # most results of a matrix-vector product that are unrolled


def contract(step: Step, a: ArrayPlace, b: ArrayPlace, target: ArrayPlace, over: tuple[Axes, Axes]) -> None:
    """Write a tensor product into an array: remaining axes of ``a``, then those of ``b``.

    Parameters
    ----------
    a, b, target : ArrayPlace
        The operands and the result; the target shares no memory with the others.
    over : pair of sequences of int
        The axes of ``a`` and of ``b`` that are summed over, in pairs.

    Raises
    ------
    RunError
        If the sizes of a pair differ: the run will fail.
    """
    left, right = (_others(place, axes) for place, axes in ((a, over[0]), (b, over[1])))
    if not left and not right:
        step.code.store(contracted(step, a, b, target.dtype, over), step.operand(target).address)
        return
    first, second = _pair(step, a, b, over)
    behind = range(len(left), len(left) + len(right))
    groups = [axes for axes in (range(len(left)), behind) if len(axes)]
    goal = _grouped(target, groups)
    if goal is not None:
        _multiply(step, first, second, goal)
        return
    held = step.places.temporary(target.shape, target.dtype)
    in_order = _grouped(held, groups)
    assert in_order is not None
    _multiply(step, first, second, in_order)
    copy(step, held, target)


def contracted(step: Step, a: ArrayPlace, b: ArrayPlace, dtype: str, over: tuple[Axes, Axes]) -> Value:
    """Write the sum of products over all axes, and return it."""
    first, second = _pair(step, a, b, over)
    lanes = lanes_of([a.dtype, b.dtype, dtype], step.vector_bytes)
    return inner_product(step.code, _matrix(step, first, True), _matrix(step, second, False), lanes, dtype)


def _others(place: ArrayPlace, axes: Axes) -> list[int]:
    return [axis for axis in range(len(place.shape)) if axis not in axes]


def _pair(step: Step, a: ArrayPlace, b: ArrayPlace, over: tuple[Axes, Axes]) -> tuple[ArrayPlace, ArrayPlace]:
    """Return the operands as matrices, or as vectors if all their axes are summed."""
    must_fit([a.shape[axis] for axis in over[0]] == [b.shape[axis] for axis in over[1]])
    left, right = _others(a, over[0]), _others(b, over[1])
    first = _in_groups(step, a, [left, over[0]] if left else [over[0]])
    second = _in_groups(step, b, [over[1], right] if right else [over[1]])
    return first, second


def _in_groups(step: Step, place: ArrayPlace, groups: Sequence[Axes]) -> ArrayPlace:
    """Merge groups of axes, copying the array if its strides do not allow it."""
    found = _grouped(place, groups)
    if found is not None:
        return found
    order = [axis for axes in groups for axis in axes]
    shape = tuple(place.shape[axis] for axis in order)
    held = step.places.temporary(shape, place.dtype)
    copy(step, place._replace(shape=shape, strides=tuple(place.strides[axis] for axis in order)), held)
    sizes = tuple(prod(place.shape[axis] for axis in axes) for axes in groups)
    return held._replace(shape=sizes, strides=packed(sizes, np.dtype(place.dtype).itemsize))


def _grouped(place: ArrayPlace, groups: Sequence[Axes]) -> ArrayPlace | None:
    """Merge groups of axes if one stride fits each group, else return None."""
    sizes, strides = [], []
    for axes in groups:
        if len(axes) == 1:
            sizes.append(place.shape[axes[0]])
            strides.append(place.strides[axes[0]])
            continue
        together, (steps,) = collapsed(
            [place.shape[axis] for axis in axes], [[place.strides[axis] for axis in axes]]
        )
        if len(together) > 1:
            return None
        sizes.append(together[0])
        strides.append(steps[0])
    return place._replace(shape=tuple(sizes), strides=tuple(strides))


def _matrix(step: Step, place: ArrayPlace, first: bool) -> Matrix:
    """Return an operand of a product; a vector is a row on the left, a column on the right."""
    rows, columns, down, along = 1, 1, 0, 0
    if len(place.shape) == 2:
        (rows, columns), (down, along) = place.shape, place.strides
    elif first:
        columns, along = place.shape[0], place.strides[0]
    else:
        rows, down = place.shape[0], place.strides[0]
    return Matrix(step.operand(place), rows, columns, down, along)


def _multiply(step: Step, a: ArrayPlace, b: ArrayPlace, target: ArrayPlace) -> None:
    """Write the product of two matrices, or of a matrix and a vector."""
    dtype = target.dtype
    lanes = lanes_of([a.dtype, b.dtype, dtype], step.vector_bytes)
    first, second = _matrix(step, a, True), _matrix(step, b, False)
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
        product(step.code, first, packed_matrix(step, b, second, dtype, lanes), into, lanes)


def _times_vector(step: Step, first: Matrix, second: Matrix, into: Matrix, lanes: int, dtype: str) -> None:
    """Write a matrix times a vector: by rows, or vectorised over rows if columns are contiguous or packed."""
    size = np.dtype(first.operand.place.dtype).itemsize
    right = Matrix(first.operand, first.columns, first.rows, first.along, first.down)
    right = packed_matrix(step, first.operand.place, right, dtype, lanes)
    if right.packed or first.down == size != first.along or first.rows <= FEW:
        # a transposed matrix: computed as the vector times the matrix in memory order
        left = Matrix(second.operand, 1, second.rows, 0, second.down)
        into = into._replace(rows=1, columns=first.rows, down=0, along=into.down)
        product(step.code, left, right, into, lanes)
        return
    for row in step.code.over(0, first.rows, most=MOST_ROWS):
        moved = first._replace(offset=step.code.times(row, first.down))
        total = inner_product(step.code, moved, second, lanes, dtype)
        address = step.code.at(into.operand.address, step.code.times(row, into.down))
        step.code.store(total, address)


SMALLEST = 16  # matrices of fewer elements are not packed


def packed_matrix(step: Step, place: ArrayPlace, matrix: Matrix, dtype: str, lanes: int) -> Matrix:
    """Pack the second matrix of a product, if it is loop invariant and not small.

    Parameters
    ----------
    place : ArrayPlace
        The memory of the matrix.
    matrix : Matrix
        The matrix as the product reads it.
    dtype : str
        The dtype of the product.
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
    """Write the packing of a matrix; it runs once, so few lines matter more than speed."""
    code, size = step.code, np.dtype(dtype).itemsize
    source = Operand(matrix.operand.place, step.operand(matrix.operand.place).address)
    for start, end, registers, width in column_blocks(matrix.columns, lanes):
        for column in code.over(start, end, registers * width):
            for row in code.over(0, matrix.rows):
                begin = code.add(code.times(column, matrix.along), code.times(row, matrix.down))
                panel = code.times(column, matrix.rows * size)
                into = code.at(memory.address, code.along(panel, row, registers * width * size))
                for number in code.over(0, registers * width, width):
                    value = load(code, source, code.along(begin, number, matrix.along), matrix.along, width)
                    code.store(cast(code, value, dtype), code.at(into, code.times(number, size)))


def for_each_matrix(
    step: Step,
    places: Sequence[ArrayPlace],
    cores: Sequence[int],
    write: Callable[[Sequence[ArrayPlace]], Value],
) -> Value:
    """Write code for each matrix of stacks, which broadcast; return whether all succeeded.

    Parameters
    ----------
    places : sequence of ArrayPlace
        The stacks that are read and written.
    cores : sequence of int
        The number of last axes that belong to a matrix (2), a vector (1) or a scalar (0).
    write : callable
        Writes the code for one matrix of each stack, and returns whether it succeeded.

    Raises
    ------
    RunError
        If the stacks do not broadcast: the run will fail.
    """
    code = step.code
    for place in places:
        step.operand(place)  # its row is computed before the loop
    leading = [place.shape[: len(place.shape) - core] for place, core in zip(places, cores, strict=True)]
    sizes, strides = collapsed(*_broadcast(places, leading))

    def nest(axis: int, offsets: list[Value], so_far: Value) -> Value:
        if axis == len(sizes):
            cut = [
                place._replace(
                    shape=place.shape[len(own) :],
                    strides=place.strides[len(own) :],
                    shift=_moved(step, place, offset),
                )
                for place, own, offset in zip(places, leading, offsets, strict=True)
            ]
            good = write(cut)
            return code.both(so_far, good)

        if sizes[axis] == 1:
            return nest(axis + 1, offsets, so_far)
        with code.folded(0, sizes[axis], [so_far]) as (number, (carried,), given):
            moved = zip(offsets, strides, strict=True)
            further = [code.along(old, number, apart[axis]) for old, apart in moved]
            given.append(nest(axis + 1, further, carried))
        return given[0]

    return nest(0, [constant(0, "int64")] * len(places), constant(True, BOOLEAN))


def _broadcast(
    places: Sequence[ArrayPlace], leading: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the broadcast shape of stacks, and the strides of each."""
    try:
        shape = np.broadcast_shapes(*leading)
    except ValueError:
        raise RunError("stacks that do not broadcast are an error of the run") from None
    return shape, [
        place._replace(shape=own, strides=place.strides[: len(own)]).spread(shape).strides
        for place, own in zip(places, leading, strict=True)
    ]


def _moved(step: Step, place: ArrayPlace, offset: Value) -> Value | None:
    if offset.text == "0":
        return place.shift
    return offset if place.shift is None else step.code.add(place.shift, offset)


def _matrix_axes(a: Sequence[int], b: Sequence[int]) -> tuple[Axes, Axes]:
    """Return the summed axes of a matrix product of these shapes."""
    return (len(a) - 1,), (max(0, len(b) - 2),)


def _write_product(step: Step, instruction: Instruction) -> None:
    a, b = (source_of(step, number) for number in instruction.inputs)
    (number,) = instruction.outputs
    if instruction.op.declaration is TENSORDOT:
        over: tuple[Axes, Axes] = instruction.op.parameters.first, instruction.op.parameters.second
    else:
        over = _matrix_axes(a.shape, b.shape)
    if is_scalar(step.body, number):
        step.give(number, contracted(step, a, b, dtype_of(step.body, number), over))
    elif instruction.op.declaration is MATMUL and len(b.shape) > 2:
        rows = min(2, len(a.shape))
        _write_products(step, (a, b, target_of(step, instruction)), (rows, 2, rows))
    else:
        contract(step, a, b, target_of(step, instruction), over)


def _write_products(
    step: Step, places: tuple[ArrayPlace, ArrayPlace, ArrayPlace], cores: tuple[int, int, int]
) -> None:
    """Write the products of two stacks of matrices."""

    def one(cut: Sequence[ArrayPlace]) -> Value:
        first, second, target = cut
        contract(step, first, second, target, _matrix_axes(first.shape, second.shape))
        return constant(True, BOOLEAN)

    for_each_matrix(step, places, cores, one)


def _write_batched_dot(step: Step, instruction: Instruction) -> None:
    a, b = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    must_fit(a.shape[0] == b.shape[0])
    first, second, third = (len(place.shape) - 1 for place in (a, b, target))
    _write_products(step, (a, b, target), (first, second, third))


for _declaration in (DOT, MATMUL, TENSORDOT):
    WRITE.row(_declaration)(_write_product)
WRITE.row(BATCHED_DOT)(_write_batched_dot)
