"""Whether an operation is worth moving, and what that may cost in memory.

Operations are *heavy* (products of matrices, solves, reductions, lookups: one call over all rows is much faster than one a
step), *views* (they cost nothing anywhere) or *light* (elementwise: one pass over memory either way, so that only the call is
saved; worth it for short rows alone, because long ones are better used while they are in the cache).
"""

from __future__ import annotations

import math

from scanviz.engine.graph.nodes import Apply, Variable, tensor_type

SHORT_ROW = 4096  # elements; of a row whose size is not known, one dimension counts as short
# of all the rows that one application may add, where sizes are known: the budget of memory for speed
MOST_ROW_BYTES = 1 << 30
MOST_GROWTH_AFTER = 2  # times as many numbers a step that a loop may keep for work that is done after it
FEW_ROWS = 4  # of the first matrix of a product: with so many all is used that is read of the second
MOST_GROWTH = 16  # times that a row may be longer than what it is computed from


def is_heavy(node: Apply) -> bool:
    """Return whether an operation is much faster over all rows at once."""
    return node.op.facts.weight == "heavy"


def is_faster_of_all_rows(node: Apply) -> bool:
    """Return whether an operation of rows is faster over all at once on every tier: heavy ones, and functions of single numbers.

    Machine code does a light operation in the step for nothing beside the memory that rows would take, and so a product of two
    matrices; but a function such as exp it computes of several numbers in the time of one, and of a product with a vector it reads
    the matrix once for each.
    """
    alone = not tensor_type(node.outputs[0]).ndim if is_light(node) else False
    return (is_heavy(node) and not is_product_of_matrices(node)) or (alone and not node.op.facts.cheap)


def is_product_of_matrices(node: Apply) -> bool:
    """Return whether an operation is the product of two matrices, the first of more than a few rows as far as is known."""
    if node.op.declaration.family != "linalg":
        return False
    from scanviz.engine.ops.linalg import DOT, MATMUL  # it is there: there is one of its operations

    if node.op.declaration not in (DOT, MATMUL):
        return False
    first, second = (tensor_type(operand) for operand in node.inputs)
    rows = first.shape[0] if first.ndim else None
    return first.ndim == second.ndim == 2 and (rows is None or rows >= FEW_ROWS)


def is_light(node: Apply) -> bool:
    """Return whether an operation is elementwise."""
    return node.op.facts.weight == "light"


def is_view(node: Apply) -> bool:
    """Return whether an operation costs nothing: its result is another look at its input, or a size."""
    return node.op.facts.weight == "free"


def is_short(row: Variable) -> bool:
    """Return whether a row is short enough for calls to cost more than memory."""
    size = elements(row)
    return size <= SHORT_ROW if size is not None else tensor_type(row).ndim <= 1


def elements(row: Variable) -> int | None:
    """Return the number of elements of a row, None where it is not known."""
    shape = tensor_type(row).shape
    return None if None in shape else math.prod(size or 0 for size in shape)


def bytes_of_rows(row: Variable, steps: int | None) -> int | None:
    """Return the bytes of as many rows as there are steps, None where it is not known."""
    size = elements(row)
    return None if size is None or steps is None else size * steps * tensor_type(row).itemsize
