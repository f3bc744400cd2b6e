"""Whether an operation is worth moving out of a loop, and whether the memory of its rows allows it.

Operations are *heavy* (products of matrices, solves, reductions, lookups), *views* (they cost nothing anywhere) or *light*
(elementwise).  On NumPy one call over all rows is much faster than one a step of heavy operations, and of light ones on short rows;
long ones are better used while they are in the cache.  Machine code makes no calls: of all rows at once only products with an
array that stays the same are faster, because they read that array once, and functions of single numbers such as exp, which it
computes of several numbers in the time of one (1.8 times).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe, tensor_type
from scanviz.engine.ops import axes
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.level import Level
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import ALL, NonSequence, State, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence

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
    if not (node.op.facts.product or node.op.facts.axes is axes.solved):
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


FEW_BYTES = 16 << 20  # beside what a process takes that has imported NumPy: worth every call that they save
MOST_MEMORY_GROWTH = 4  # times as many bytes as there are in all that the loop reads and gives


def too_much_memory(
    view: ScanView, level: Level, held: Sequence[Variable], passing: Sequence[Variable] = ()
) -> str | None:
    """Return what is wrong with the memory that rows would take, None where it is well.

    Where sizes are not known, rows may have as many dimensions as those of a sequence, or of a result that is kept whole.

    Parameters
    ----------
    view : ScanView
        The loop.
    level : Level
        What it is in.
    held : sequence of Variable
        Variables of its step whose rows are held together.
    passing : sequence of Variable
        Those whose rows are held one after the other, beside them.
    """
    from scanviz.engine.rewrites.loops.rows import (
        most_dimensions,  # much code, when there is something to move
    )

    most = most_dimensions(view, level) or 0
    for value in (*held, *passing):
        if tensor_type(value).ndim > most and elements(value) is None:
            return f"rows of `{describe(value)}` may be much longer than all that the loop reads and gives"
    steps = constant_integer(view.n_steps)
    row = sum(_bytes(variable, 1) for variable in held) + max(
        (_bytes(variable, 1) for variable in passing), default=0
    )
    total = row * (steps or 0)
    if total > MOST_ROW_BYTES:
        return f"the rows of all steps would take {total} bytes, more than {MOST_ROW_BYTES}"
    if total <= FEW_BYTES:
        return None
    there = _bytes_there(view, steps)
    if there is not None and total > MOST_MEMORY_GROWTH * there:
        return f"the rows of all steps would take {total} bytes, where the loop reads and gives {there}"
    return None


def _bytes(row: Variable, steps: int | None) -> int:
    """Return the bytes of rows, 0 where they are not known."""
    return bytes_of_rows(row, steps) or 0


def _bytes_there(view: ScanView, steps: int | None) -> int | None:
    """Return the bytes of all that a loop reads and gives, None where they are not known."""
    found: list[int | None] = []
    for variable in view.op.variables:
        match variable:
            case LoopSequence():
                found.append(bytes_of_rows(variable.slice, steps))
            case NonSequence():
                found.append(bytes_of_rows(variable.variable, 1))
            case StepOutput():
                found.append(bytes_of_rows(variable.value, steps if variable.keep == ALL else 1))
            case State():
                found.append(bytes_of_rows(variable.writes[0], steps if variable.keep == ALL else 1))
            case _:
                pass
    known = [size for size in found if size is not None]
    return sum(known) if len(known) == len(found) else None
