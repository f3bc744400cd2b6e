"""The memory that rows of all steps take which a rule would have computed outside of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.profitability import MOST_ROW_BYTES, bytes_of_rows, elements
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import ALL, NonSequence, State, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence

FEW_BYTES = 16 << 20  # beside what a process takes that has imported NumPy: worth every call that they save
MOST_GROWTH = 4  # times as many bytes as there are in all that the loop reads and gives


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
    from scanviz.engine.rewrites.rows import most_dimensions  # much code, when there is something to move

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
    if there is not None and total > MOST_GROWTH * there:
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


__all__ = ["too_much_memory"]
