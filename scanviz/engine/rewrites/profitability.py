"""Whether an operation is worth moving, and what that may cost in memory.

Operations are *heavy* (products of matrices, solves, reductions, lookups), *views* (they cost nothing anywhere) or *light*
(elementwise).  On NumPy one call over all rows is much faster than one a step of heavy operations, and of light ones on short rows;
long ones are better used while they are in the cache.  Machine code makes no calls: of all rows at once only products with an
array that stays the same are faster, because they read that array once, and functions of single numbers such as exp, which it
computes of several numbers in the time of one (1.8 times).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scanviz.engine.graph.nodes import Apply, Constant, Variable, tensor_type

SHORT_ROW = 4096  # elements; of a row whose size is not known, one dimension counts as short
# of all the rows that one application may add, where sizes are known: the budget of memory for speed
MOST_ROW_BYTES = 1 << 30
MOST_GROWTH_AFTER = 2  # times as many numbers a step that a loop may keep for work that is done after it
FEW_ROWS = 4  # of the first matrix of a product: with so many all is used that is read of the second
MOST_GROWTH = 16  # times as much as a draw takes of its random state that a step may take of it


def is_heavy(node: Apply) -> bool:
    """Return whether an operation is much faster over all rows at once."""
    return node.op.facts.weight == "heavy"


def is_short_call(node: Apply) -> bool:
    """Return whether an operation takes NumPy a call whose work is worth less than the call."""
    return node.op.facts.weight != "free" and is_short(node.outputs[0])


def is_function(node: Apply) -> bool:
    """Return whether an operation is an elementwise function that costs much more than an addition, such as exp."""
    return node.op.facts.weight == "light" and not node.op.facts.cheap


def becomes_one(node: Apply, varies: Callable[[Variable], bool]) -> bool:
    """Return whether an operation of all rows is one product, or one solution, with an array that is the same at every step.

    ``varies`` says of a variable whether it changes from step to step.

    A product of two matrices, the first of more than a few rows as far as is known, reads the second once for many rows anyway.
    """
    if not is_heavy(node) or node.op.declaration.family not in ("linalg", "factorise"):
        return False
    if all(varies(operand) for operand in node.inputs if not isinstance(operand, Constant)):
        return False
    first, second = (tensor_type(operand) for operand in node.inputs[:2])
    rows = first.shape[0] if first.ndim else None
    many = first.ndim == second.ndim == 2 and (rows is None or rows >= FEW_ROWS)
    return not (node.op.facts.product and many)


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
