"""Derivatives of inverses, determinants, solutions and factors.

Sources: Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), section 2; for Cholesky, Murray, "Differentiation of the Cholesky decomposition" (2016), equations
8 and 10.  ``cholesky`` and ``solve(…, assume_a="pos")`` read one triangle of a matrix that is taken to be symmetric: their
derivatives with respect to it are those along symmetric changes, and symmetric.  ``det`` has its derivative from the
inverse, so a singular matrix is an error there.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.linalg import swapped
from scanviz.engine.gradient.sweeps.accumulate import added
from scanviz.engine.gradient.table import (
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivatives,
    Undefined,
    cotangent_of,
    cotangents_of,
    sum_to_shape,
    tangent_of,
    tangents_of,
)
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops import factorise as f
from scanviz.engine.ops.creation import triangle
from scanviz.engine.ops.linalg import matmul
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import dimshuffle


@cotangent_of(f.INV)
def _inv(node: Apply, g: Variable) -> Variable:
    turned = swapped(node.outputs[0])
    return -matmul(matmul(turned, g), turned)


@tangent_of(f.INV)
def _inv_forward(node: Apply, t: Variable) -> Variable:
    y = node.outputs[0]
    return -matmul(matmul(y, t), y)


def _over_matrices(value: Variable) -> Variable:
    """Return one number a matrix as an array that multiplies its elements."""
    return dimshuffle(value, [*range(rank(value)), "x", "x"])


def _sum_of_products(first: Variable, second: Variable) -> Variable:
    last = rank(first)
    return sum_over(first * second, axis=(last - 2, last - 1))


@cotangent_of(f.DET)
def _det(node: Apply, g: Variable) -> Variable:
    return _over_matrices(g * node.outputs[0]) * swapped(f.inv(node.inputs[0]))


@tangent_of(f.DET)
def _det_forward(node: Apply, t: Variable) -> Variable:
    return node.outputs[0] * _sum_of_products(swapped(f.inv(node.inputs[0])), t)


@PULLBACKS.row(f.SLOGDET)
def _slogdet(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    g = cotangents[1]  # the sign changes nowhere but where it is not defined
    return [None if g is None else _over_matrices(g) * swapped(f.inv(node.inputs[0]))]


@tangents_of(f.SLOGDET)
def _slogdet_forward(node: Apply, t: Variable) -> Derivatives:
    return [None, _sum_of_products(swapped(f.inv(node.inputs[0])), t)]


def symmetric_part(value: Variable) -> Variable:
    """Return the symmetric part of matrices."""
    return (value + swapped(value)) * 0.5


def _lower_half(value: Variable) -> Variable:
    """Return the lower triangle with half of the diagonal: Φ in Murray's paper."""
    return (triangle(value, 0, True) + triangle(value, -1, True)) * 0.5


@cotangent_of(f.CHOLESKY)
def _cholesky(node: Apply, g: Variable) -> Variable:
    lower = node.op.parameters.lower
    factor, given = (node.outputs[0], g) if lower else (swapped(node.outputs[0]), swapped(g))
    # cut first: an infinite cotangent of one of the zeros above the diagonal would become NaN in the product
    inner = _lower_half(matmul(swapped(factor), triangle(given, 0, True)))
    left = f.solve_triangular(factor, inner, lower=True, trans=1)
    whole = swapped(f.solve_triangular(factor, swapped(left), lower=True, trans=1))
    return symmetric_part(whole)


@tangent_of(f.CHOLESKY)
def _cholesky_forward(node: Apply, t: Variable) -> Variable:
    lower = node.op.parameters.lower
    factor = node.outputs[0] if lower else swapped(node.outputs[0])
    left = f.solve_triangular(factor, symmetric_part(t), lower=True)
    inner = swapped(f.solve_triangular(factor, swapped(left), lower=True))
    moved = matmul(factor, _lower_half(inner))
    return moved if lower else swapped(moved)


def _as_columns(value: Variable, right: Variable) -> Variable:
    """Return a solution or its derivative as matrices of columns, also if the right side is one vector."""
    return dimshuffle(value, [*range(rank(value)), "x"]) if rank(right) == 1 else value


def _as_sides(value: Variable, right: Variable) -> Variable:
    """Return columns in the shape of the right side: summed over batch axes that it was broadcast to."""
    if rank(right) > 1:
        return sum_to_shape(value, right)
    vectors = dimshuffle(value, list(range(rank(value) - 1)))
    return sum_to_shape(vectors, right)


@cotangents_of(f.SOLVE)
def _solve(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    a, b = node.inputs
    positive = node.op.parameters.assume == "pos"
    side = f.solve(a if positive else swapped(a), _as_columns(g, b), assume_a=node.op.parameters.assume)
    matrix = None
    if wanted[0]:
        matrix = sum_to_shape(-matmul(side, swapped(_as_columns(node.outputs[0], b))), a)
        matrix = symmetric_part(matrix) if positive else matrix
    return [matrix, _as_sides(side, b) if wanted[1] else None]


@PUSHFORWARDS.row(f.SOLVE)
def _solve_forward(node: Apply, tangents: Arriving) -> Derivatives:
    b = node.inputs[1]
    matrix, side = tangents
    if matrix is not None and node.op.parameters.assume == "pos":
        matrix = symmetric_part(matrix)
    moved = None if matrix is None else -matmul(matrix, _as_columns(node.outputs[0], b))
    return [_solved_again(node, moved, side)]


def _solved_again(node: Apply, moved: Variable | None, side: Variable | None) -> Variable:
    """Solve for the solution's tangent: the right side's own tangent and the effect of the matrix's."""
    a, b = node.inputs
    total = added(None if side is None else _as_columns(side, b), moved)
    assert total is not None
    solved = build_one(node.op, a, total)
    return dimshuffle(solved, list(range(rank(solved) - 1))) if rank(b) == 1 else solved


@cotangents_of(f.SOLVE_TRIANGULAR)
def _triangular(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    a, b = node.inputs
    lower, transposed, unit = node.op.parameters
    side = f.solve_triangular(
        a, _as_columns(g, b), lower=lower, trans=0 if transposed else 1, unit_diagonal=unit
    )
    matrix = None
    if wanted[0]:
        x = _as_columns(node.outputs[0], b)
        whole = -matmul(x, swapped(side)) if transposed else -matmul(side, swapped(x))
        matrix = sum_to_shape(_kept_triangle(whole, lower, unit), a)
    return [matrix, _as_sides(side, b) if wanted[1] else None]


def _kept_triangle(value: Variable, lower: bool, unit: bool) -> Variable:
    """Return the triangle that is read; without the diagonal if that is assumed to be 1."""
    shift = 0 if not unit else -1 if lower else 1
    return triangle(value, shift, lower)


@PUSHFORWARDS.row(f.SOLVE_TRIANGULAR)
def _triangular_forward(node: Apply, tangents: Arriving) -> Derivatives:
    lower, transposed, unit = node.op.parameters
    matrix, side = tangents
    moved = None
    if matrix is not None:
        kept = _kept_triangle(matrix, lower, unit)
        x = _as_columns(node.outputs[0], node.inputs[1])
        moved = -matmul(swapped(kept) if transposed else kept, x)
    return [_solved_again(node, moved, side)]


def _after_building(node: Apply) -> Undefined:
    return Undefined(
        "it is made by a rewrite when a function is built, after derivatives have been taken",
        node.provenance.source,
    )


PULLBACKS.row(f.LU_FACTOR)(lambda node, cotangents, wanted: [_after_building(node)])
PUSHFORWARDS.row(f.LU_FACTOR)(lambda node, tangents: [_after_building(node), None])


@cotangents_of(f.LU_SOLVE)
def _lu_solve(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    factors, pivots, _ = node.inputs
    back = f.lu_solve(factors, pivots, g, transposed=not node.op.parameters.transposed)
    return [_after_building(node) if wanted[0] else None, None, back if wanted[2] else None]


@cotangents_of(f.CHOLESKY_SOLVE)
def _cholesky_solve(node: Apply, g: Variable, wanted: Sequence[bool]) -> Derivatives:
    back = build_one(node.op, node.inputs[0], g)
    return [_after_building(node) if wanted[0] else None, back if wanted[1] else None]


@PUSHFORWARDS.row(f.LU_SOLVE, f.CHOLESKY_SOLVE)
def _solve_by_factors_forward(node: Apply, tangents: Arriving) -> Derivatives:
    if any(tangent is not None for tangent in tangents[:-1]):
        return [_after_building(node)]
    side = tangents[-1]
    return [None if side is None else build_one(node.op, *node.inputs[:-1], side)]
