"""Derivatives of products of matrices and tensors.

For Y = A B the cotangents are Ā = Ȳ Bᵀ and B̄ = Aᵀ Ȳ (Giles, "An extended collection of matrix derivative results", 2008,
section 2.2.2); the tangent is that of a product.  Transposes are views, so a backward step has two products and no copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sweeps.accumulate import added
from scanviz.engine.gradient.table import (
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    cotangents_of,
    reshape_like,
    sum_to_shape,
)
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops import linalg as la
from scanviz.engine.ops.shape import dimshuffle, reshape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.sizes.dims import SIZES


def swapped(value: Variable) -> Variable:
    """Return matrices with their last two axes exchanged: a view."""
    last = rank(value)
    return dimshuffle(value, [*range(last - 2), last - 1, last - 2])


def _outer(column: Variable, row: Variable) -> Variable:
    return dimshuffle(column, 0, "x") * dimshuffle(row, "x", 0)


@PUSHFORWARDS.row(la.DOT, la.MATMUL, la.BATCHED_DOT, la.TENSORDOT)
def _product_forward(node: Apply, tangents: Arriving) -> Derivatives:
    a, b = node.inputs
    first, second = tangents
    return [
        added(
            None if first is None else build_one(node.op, first, b),
            None if second is None else build_one(node.op, a, second),
        )
    ]


@cotangents_of(la.DOT)
def _dot(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    a, b = node.inputs
    first, second = wanted
    match rank(a), rank(b):
        case 1, 1:
            return [g * b if first else None, g * a if second else None]
        case 2, 1:
            return [_outer(g, b) if first else None, la.dot(swapped(a), g) if second else None]
        case 1, 2:
            return [la.dot(b, g) if first else None, _outer(a, g) if second else None]
        case 2, 2:
            return [
                la.dot(g, swapped(b)) if first else None,
                la.dot(swapped(a), g) if second else None,
            ]
        case _:
            row = rank(b) - 2 if rank(b) > 1 else 0
            return _contraction(a, b, g, (rank(a) - 1,), (row,), wanted)


def _contraction(
    a: Variable, b: Variable, g: Variable, first: Sequence[int], second: Sequence[int], wanted: Sequence[bool]
) -> Derivatives:
    """Return the cotangents of a sum of products over pairs of axes."""
    free_a = [axis for axis in range(rank(a)) if axis not in first]
    free_b = [axis for axis in range(rank(b)) if axis not in second]
    left, right = list(range(len(free_a))), list(range(len(free_a), len(free_a) + len(free_b)))
    partner_of_b = dict(zip(second, first, strict=True))
    partner_of_a = dict(zip(first, second, strict=True))
    found: list[Derivative] = [None, None]
    if wanted[0]:
        axes = [*free_a, *(partner_of_b[axis] for axis in sorted(second))]
        found[0] = dimshuffle(la.tensordot(g, b, (right, free_b)), _inverse(axes))
    if wanted[1]:
        axes = [*(partner_of_a[axis] for axis in sorted(first)), *free_b]
        found[1] = dimshuffle(la.tensordot(a, g, (free_a, left)), _inverse(axes))
    return found


def _inverse(order: Sequence[int]) -> list[int]:
    """Return where each axis is in an order of axes."""
    return [list(order).index(axis) for axis in range(len(order))]


@cotangents_of(la.TENSORDOT)
def _tensordot(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    a, b = node.inputs
    first, second = node.op.parameters
    return _contraction(a, b, g, first, second, wanted)


@cotangents_of(la.MATMUL)
def _matmul(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    a, b = node.inputs
    if rank(b) <= 2:  # the same product as dot, and the rows of all batches are summed over at once
        return _dot(node, g, wanted)
    one = rank(a) == 1
    matrix_a = dimshuffle(a, "x", 0) if one else a
    matrix_g = dimshuffle(g, [*range(rank(g) - 1), "x", rank(g) - 1]) if one else g
    found: list[Derivative] = [None, None]
    if wanted[0]:
        part = sum_to_shape(la.matmul(matrix_g, swapped(b)), matrix_a)
        found[0] = dimshuffle(part, 1) if one else part
    if wanted[1]:
        found[1] = sum_to_shape(la.matmul(swapped(matrix_a), matrix_g), b)
    return found


@cotangents_of(la.BATCHED_DOT)
def _batched_dot(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    a, b = node.inputs
    first, second = wanted
    match rank(a), rank(b):
        case 2, 2:
            column = dimshuffle(g, 0, "x")
            return [column * b if first else None, column * a if second else None]
        case 3, 2:
            return [
                _batched_outer(g, b) if first else None,
                la.batched_dot(swapped(a), g) if second else None,
            ]
        case 2, 3:
            return [la.batched_dot(b, g) if first else None, _batched_outer(a, g) if second else None]
        case _:
            return _batched_matrices(a, b, g, wanted)


def _batched_outer(columns: Variable, rows: Variable) -> Variable:
    return dimshuffle(columns, 0, 1, "x") * dimshuffle(rows, 0, "x", 1)


def _batched_matrices(a: Variable, b: Variable, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    """Bring operands to stacks of matrices, multiply them, and restore the axes."""
    columns = max(rank(b) - 2, 0)
    order = list(range(rank(b)))
    order.insert(1, order.pop(max(rank(b) - 2, 1)))  # the summed axis right after the batch
    moved = dimshuffle(b, order)
    matrix_a, matrix_b = _stacked(a, rank(a) - 2), _stacked(moved, 1)
    matrix_g = _stacked(g, rank(g) - 1 - columns)
    found: list[Derivative] = [None, None]
    if wanted[0]:
        found[0] = _in_shape(la.batched_dot(matrix_g, swapped(matrix_b)), a)
    if wanted[1]:
        part = _in_shape(la.batched_dot(swapped(matrix_a), matrix_g), moved)
        found[1] = dimshuffle(part, _inverse(order))
    return found


def _stacked(value: Variable, rows: int) -> Variable:
    """Return a stack of matrices: the given number of axes after the first as rows, the others as columns."""
    shape = shape_of(value)
    if len(shape) == 3 and rows == 1:
        return value
    # sizes are multiplied, since reshape cannot find out a -1 beside a 0
    return reshape(
        value,
        [as_size(SIZES.product(sizes)) for sizes in (shape[:1], shape[1 : 1 + rows], shape[1 + rows :])],
    )


def _in_shape(value: Variable, like: Variable) -> Variable:
    # a stack of matrices already, of three axes
    return value if rank(like) == 3 else reshape_like(value, like)
