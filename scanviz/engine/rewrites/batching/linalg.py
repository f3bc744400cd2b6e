"""Products: rows times one matrix are one product of matrices, which is where most of the time of many loops goes."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import linalg as la
from scanviz.engine.ops.reduce import sum as sum_of
from scanviz.engine.ops.shape import dimshuffle
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.row(la.DOT, la.MATMUL)
def _product(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    a, b = inputs
    left, right = (rank(variable) for variable in node.inputs)
    if max(left, right) > 2:
        return None
    match rows[0], rows[1]:
        case True, False:  # x_t @ W: one product
            return la.dot(a, b)
        case False, True if right == 1:  # W @ x_t: one product with W transposed
            return la.dot(b, a if left == 1 else dimshuffle(a, 1, 0))
        case False, True:
            return _one_column(la.matmul(dimshuffle(a, "x", 0), b)) if left == 1 else la.matmul(a, b)
        case _:
            return _of_pairs(a, b, left, right)


def _of_pairs(a: Variable, b: Variable, left: int, right: int) -> Variable:
    """Return the product of each row of one with the same row of the other."""
    if left == right == 1 and surely_equal(shape_of(a)[1], shape_of(b)[1]):  # other sizes would broadcast
        products = e.multiply(a, b)
        return sum_of(products, axis=1, dtype=tensor_type(products).dtype)  # a sum alone would be wider
    first = dimshuffle(a, 0, "x", 1) if left == 1 else a
    second = dimshuffle(b, 0, 1, "x") if right == 1 else b
    product = la.matmul(first, second)
    if left == right == 1:
        return dimshuffle(product, 0)
    if left == 1:
        return _one_column(product)
    return dimshuffle(product, 0, 1) if right == 1 else product


def _one_column(product: Variable) -> Variable:
    """Return matrices of one row as vectors."""
    return dimshuffle(product, 0, 2)


@BATCHING.row(la.BATCHED_DOT)
def _batched_dot(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if not all(rows) or any(rank(variable) != 3 for variable in node.inputs):
        return None
    return la.matmul(*inputs)


@BATCHING.row(la.TRACE)
def _trace(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    own = node.op.parameters
    ndim = rank(node.inputs[0])
    shifted = own._replace(axis1=own.axis1 % ndim + 1, axis2=own.axis2 % ndim + 1)
    return build_one(type(node.op)(node.op.declaration, shifted), inputs[0])
