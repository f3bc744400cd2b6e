"""Questions of rules about loops: loop variables, nodes that compute sizes, rows that surely exist, and whether a move pays.

A loop checks the lengths of its sequences.  A rule that moves work out of it, or leaves a sequence out, keeps that check: it
reads the sequence by :func:`rows_of_steps`, and refuses where nobody else would look (:func:`unread_sequence`).

Operations are *heavy* (products of matrices, solves, reductions, lookups), *views* (free) or *light* (elementwise).  On NumPy
one call over all rows is much faster than one per step for heavy operations, and for light ones on short rows.  Long rows are
better used while they are in the cache.  Machine code makes no calls, so only two kinds of operations are faster over all rows
at once: products with an array that stays the same, which they read once, and functions such as exp on single numbers (1.8
times).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from scanviz.engine.graph import axes
from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe, is_integer_scalar, tensor_type
from scanviz.engine.graph.types import RANDOM_STATE
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.index import INDEX, LAST_ROW, getitem
from scanviz.engine.ops.sizes import surely_equal, surely_not_negative
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.level import HOST_TIERS, Level
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of, of_step
from scanviz.engine.scan.variables import (
    ALL,
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    inner_outputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


def own_tier(view: ScanView, level: Level) -> Refusal | None:
    """Return why nothing is moved out of a loop that has a tier of its own: the one around it may lack the operation."""
    mode = view.op.settings.mode
    if mode is None or level.target.tier in HOST_TIERS:
        return None
    return Refusal(f"`{view.op.scan_name}` has its own tier, {mode!r}", 5)


def stays_in_step(op: Scan) -> str:
    """Return why work that would leave a loop for NumPy stays in one that is rewritten for machine code."""
    return f"machine code runs `{op.scan_name}`, where elementwise work, draws, lookups and views are cheapest in the step"


def random_states(op: Scan) -> list[Carry]:
    """Return the random states that a loop carries."""
    return [carry for carry in op.of_type(Carry) if carry.read.type == RANDOM_STATE]


def drawn_name(node: Apply) -> str:
    """Return the name of the numbers that a node draws, or of the operation."""
    return node.outputs[-1].name or node.op.name


def results_left(op: Scan, gone: Collection[LoopVariable]) -> list[LoopVariable]:
    """Return the loop variables that have a result, without those that are gone."""
    return [variable for variable in op.result_variables if variable not in gone]


def results_without(op: Scan, gone: Collection[LoopVariable]) -> list[Variable]:
    """Return the step's results for loop variables that stay, and its stop condition."""
    kept = [variable for variable in op.variables if variable not in gone]
    results = [output for variable in kept for output in inner_outputs(variable)]
    return results if op.until is None else [*results, op.until.condition]


@of_step
def always_in_step(op: Scan) -> frozenset[Apply]:
    """Return the nodes that every step of a loop computes; ask ``op.once(always_in_step)``."""
    return frozenset(always_computed(op.inner_outputs))


@of_step
def size_nodes(op: Scan) -> frozenset[Apply]:
    """Return the nodes of a loop's step that only compute sizes; ask ``op.once(size_nodes)``.

    Backends know these when they meet the shapes, so nothing is won by moving them.
    """
    found: set[Apply] = set()
    for node in op.once(nodes_of):
        kind = node.op.facts.size
        if kind == "is":
            found.add(node)
        elif kind == "kept" and is_integer_scalar(node.outputs[0]):
            # which of two sizes it is may hang on values; moved out of the loop, it would be no size but a value of a row
            made_of = node.inputs[1:] if node.op.declaration is e.where else node.inputs
            of_sizes = [isinstance(variable, Constant) or variable.owner in found for variable in made_of]
            if all(of_sizes) and not all(isinstance(variable, Constant) for variable in made_of):
                found.add(node)
    return frozenset(found)


def rows_of_steps(
    view: ScanView, level: Level, sequence: LoopSequence, steps: Variable | None = None
) -> Variable:
    """Return a sequence as it is read around the loop: as many rows as there are steps, or the loop's own error."""
    rows, count = view.outer(sequence), view.n_steps if steps is None else steps
    size = level.shape(rows)[0]
    if surely_equal(size, count):
        return rows
    if count is not view.n_steps:
        return getitem(rows, slice(None, count))
    return checked_rows(view, sequence)


def checked_rows(view: ScanView, sequence: LoopSequence) -> Variable:
    """Return as many rows of a sequence as there are steps, with the loop's own error where there are fewer."""
    where = view.node.provenance.source
    from scanviz.engine.ops.size_checks import first_rows

    return first_rows(view.outer(sequence), view.n_steps, sequence.name, view.op.scan_name, where)


def unread_sequence(view: ScanView) -> LoopSequence | None:
    """Return a sequence that may be too short and that the step does not read, so that the loop alone finds it; or None."""
    from scanviz.engine.scan.unroll import unchecked_sequence

    return unchecked_sequence(view.op.variables, view.outer_input, view.n_steps, view.op.until)


def counts(view: ScanView) -> bool:
    """Return whether a loop's number of steps is surely not negative."""
    steps = constant_integer(view.n_steps)
    return surely_not_negative(view.n_steps if steps is None else steps)


def unchecked_reason(sequence: LoopSequence) -> str:
    """Return why a loop with an :func:`unread_sequence` stays."""
    return f"only the loop checks that `{sequence.name}`, which no step reads, is long enough"


SHORT_ROW = 4096  # elements; of a row whose size is not known, one dimension counts as short
# of all the rows that one application may add, where sizes are known: the budget of memory for speed
MOST_ROW_BYTES = 1 << 30
MOST_GROWTH_AFTER = 2  # times as many numbers a step that a loop may keep for work that is done after it
FEW_ROWS = 4  # of the first matrix of a product: with so many all is used that is read of the second
MOST_GROWTH = 16  # times as much as a draw takes of its random state that a step may take of it


def reads_whole(result: Variable, level: Level) -> bool:
    """Return whether all rows of a result are read, as far as that is known."""
    if result in level.wanted:
        return True
    return any(not _reads_one_row(reader, position) for reader, position in level.readers(result))


def most_dimensions(view: ScanView, level: Level) -> int | None:
    """Return the most dimensions of rows that there are anyway: of a sequence, or of a result kept whole; None without any."""
    there = [tensor_type(sequence.slice).ndim for sequence in view.op.of_type(LoopSequence)]
    for variable in view.op.variables:
        result = view.outer_output(variable)
        if isinstance(variable, State | StepOutput) and result is not None and reads_whole(result, level):
            there.append(tensor_type(result).ndim - 1)
    return max(there, default=None)


def _reads_one_row(reader: Apply, position: int) -> bool:
    if reader.op.declaration is LAST_ROW:
        return position == 0
    if reader.op.declaration is not INDEX or position:
        return False
    return bool(reader.op.parameters.entries[0].kind == "integer")


def is_heavy(node: Apply) -> bool:
    """Return whether an operation is much faster over all rows at once."""
    return node.op.facts.weight == "heavy"


def is_short_call(node: Apply) -> bool:
    """Return whether an operation's NumPy call costs more than its work."""
    return node.op.facts.weight != "free" and is_short(node.outputs[0])


def is_function(node: Apply) -> bool:
    """Return whether an operation is an expensive elementwise function, such as exp."""
    return node.op.facts.weight == "light" and not node.op.facts.cheap


def becomes_one(node: Apply, varies: Callable[[Variable], bool]) -> bool:
    """Return whether an operation of all rows is one product, or one solution, with an array that is the same at every step.

    ``varies(variable)`` is True if it changes from step to step.

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
    """Return whether an operation costs nothing: its result is a view or a size."""
    return node.op.facts.weight == "free"


def is_short(row: Variable) -> bool:
    """Return whether a row is short enough for calls to cost more than memory."""
    size = elements(row)
    return size <= SHORT_ROW if size is not None else tensor_type(row).ndim <= 1


def elements(row: Variable) -> int | None:
    """Return the number of elements of a row, or None if unknown."""
    shape = tensor_type(row).shape
    return None if None in shape else math.prod(size or 0 for size in shape)


def bytes_of_rows(row: Variable, steps: int | None) -> int | None:
    """Return the bytes of one row per step, or None if unknown."""
    size = elements(row)
    return None if size is None or steps is None else size * steps * tensor_type(row).itemsize


FEW_BYTES = 16 << 20  # beside what a process takes that has imported NumPy: worth every call that they save
MOST_MEMORY_GROWTH = 4  # times as many bytes as there are in all that the loop reads and gives


def too_much_memory(
    view: ScanView, level: Level, held: Sequence[Variable], passing: Sequence[Variable] = ()
) -> str | None:
    """Return why rows would take too much memory, or None if they do not.

    Where sizes are not known, rows may have as many dimensions as those of a sequence, or of a result that is kept whole.

    Parameters
    ----------
    view : ScanView
        The loop.
    level : Level
        The graph around it.
    held : sequence of Variable
        Variables of its step whose rows are held together.
    passing : sequence of Variable
        Those whose rows are held one after the other, beside them.
    """
    most = most_dimensions(view, level) or 0
    for value in (*held, *passing):
        if tensor_type(value).ndim > most and elements(value) is None:
            return (
                f"rows of `{describe(value)}` may be much longer than the loop's inputs and results together"
            )
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
        return f"the rows of all steps would take {total} bytes; the loop's inputs and results take {there}"
    return None


def _bytes(row: Variable, steps: int | None) -> int:
    """Return the bytes of rows, 0 where they are not known."""
    return bytes_of_rows(row, steps) or 0


def _bytes_there(view: ScanView, steps: int | None) -> int | None:
    """Return the bytes of all that a loop reads and gives, or None if unknown."""
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
