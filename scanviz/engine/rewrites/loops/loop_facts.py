"""What rules about loops ask of them: loop variables by kind, nodes that compute sizes, rows that there are for sure.

A loop checks the lengths of its sequences.  A rule that moves work out of it, or leaves a sequence out, keeps that check: it reads
the sequence by :func:`rows_of_steps`, and refuses where nobody else would look (:func:`unread_sequence`).
"""

from __future__ import annotations

from collections.abc import Collection

from scanviz.engine.graph.nodes import Apply, Constant, Variable, is_integer_scalar
from scanviz.engine.graph.types import RANDOM_STATE
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.rewrites.target import HOST_TIERS
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of, of_step
from scanviz.engine.scan.variables import Carry, LoopVariable, inner_outputs
from scanviz.engine.scan.variables import Sequence as LoopSequence


def own_tier(view: ScanView, level: Level) -> Refusal | None:
    """Return why nothing is moved out of a loop that has a tier of its own: the one around it may lack the operation."""
    mode = view.op.settings.mode
    if mode is None or level.target.tier in HOST_TIERS:
        return None
    return Refusal(f"`{view.op.scan_name}` was asked to run on the tier {mode!r}", 5)


def stays_in_step(op: Scan) -> str:
    """Return why work that would leave a loop for NumPy stays in one that is rewritten for machine code."""
    return f"machine code runs `{op.scan_name}`: there elementwise work, draws, lookups and views cost least in the step"


def random_states(op: Scan) -> list[Carry]:
    """Return the random states that a loop carries."""
    return [carry for carry in op.of_type(Carry) if carry.read.type == RANDOM_STATE]


def drawn_name(node: Apply) -> str:
    """Return what numbers that a node draws are called: their name, or that of the operation."""
    return node.outputs[-1].name or node.op.name


def results_left(op: Scan, gone: Collection[LoopVariable]) -> list[LoopVariable]:
    """Return the loop variables that have a result, without those that are gone."""
    return [variable for variable in op.result_variables if variable not in gone]


def results_without(op: Scan, gone: Collection[LoopVariable]) -> list[Variable]:
    """Return what the step computes for loop variables that stay, and for its stop condition."""
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


def nobody_checks(sequence: LoopSequence) -> str:
    """Return why a loop stays that has such an :func:`unread_sequence`."""
    return f"nothing but the loop looks whether `{sequence.name}`, which no step reads, is long enough"
