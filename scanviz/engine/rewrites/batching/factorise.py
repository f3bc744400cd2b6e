"""Solving and factorising: one matrix and many right-hand sides are one call with the sides as columns."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops import factorise as f
from scanviz.engine.ops.elementwise import multiply
from scanviz.engine.ops.shape import dimension, dimshuffle, reshape
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.row(f.INV, f.CHOLESKY, f.DET)
def _of_matrices(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    return build_one(node.op, inputs[0])


@BATCHING.row(f.SOLVE, f.SOLVE_TRIANGULAR)
def _solve(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    matrix, sides = inputs
    if rank(node.inputs[0]) != 2 or rank(node.inputs[1]) > 2 or not rows[1]:
        return None
    if rank(node.inputs[1]) == 1:
        if not rows[0]:
            return dimshuffle(build_one(node.op, matrix, dimshuffle(sides, 1, 0)), 1, 0)
        return dimshuffle(build_one(node.op, matrix, dimshuffle(sides, 0, 1, "x")), 0, 1)
    if rows[0]:
        return build_one(node.op, matrix, sides)
    count, size, columns = (dimension(sides, axis) for axis in range(3))
    flat = reshape(dimshuffle(sides, 1, 0, 2), [size, multiply(count, columns)])
    solved = reshape(build_one(node.op, matrix, flat), [size, count, columns])
    return dimshuffle(solved, 1, 0, 2)
