"""Work that leaves a loop for the graph before it: PushOutNonSeqScan and PushOutSeqScan.

Operations on non-sequences alone give the same at every step: they run once, before the loop.  Operations on sequences (and
non-sequences) alone run over all rows at once, each as one batched operation (:mod:`scanviz.engine.rewrites.batching`); the
loop reads the rows.  They are moved only where that is faster on the tier that runs the loop
(:mod:`scanviz.engine.rewrites.level`).  Only operations of every step are moved, never those that a branch of an ``ifelse`` may
leave out.  They then also run for a loop of no steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from scanviz.engine.errors import some
from scanviz.engine.graph.nodes import Apply, Variable, describe, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import frontier, toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import (
    always_in_step,
    becomes_one,
    counts,
    is_function,
    is_heavy,
    is_short_call,
    is_view,
    own_tier,
    results_left,
    results_without,
    size_nodes,
    stays_in_step,
    too_much_memory,
    unchecked_reason,
    unread_sequence,
)
from scanviz.engine.rewrites.rule import Match, Refusal, counted, named, rule
from scanviz.engine.scan.dependence import all_known, closure, is_known, outputs_of
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, nodes_of
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import ALL, LoopVariable, NonSequence, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence

if TYPE_CHECKING:
    from scanviz.engine.rewrites.loops.rows_around import Rows


@rule(name="PushOutNonSeqScan", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_non_sequences(node: Apply, level: Level) -> Match | Refusal:
    """Compute work that depends on non-sequences alone once, before the loop."""
    view = ScanView(node)
    given = view.fixed
    nodes = view.op.once(nodes_of)
    sizes = view.op.once(size_nodes)
    movable = [node for node in _eager(closure(view.op, given, nodes), view.op) if node not in sizes]
    same = _same_each_step(view, {*given, *outputs_of(movable)})
    if not movable and not same:
        return Refusal(_why_none(view.op, nodes, "non-sequences"))
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    if not results_left(view.op, same) and (unread := unread_sequence(view)) is not None:
        return Refusal(unchecked_reason(unread), 3)
    leaving = _frontier(movable, view.op.inner_outputs)
    wanted = list(dict.fromkeys([*leaving, *(step_output.value for step_output in same)]))
    before = dict(zip(wanted, replace(wanted, given, check=False), strict=True))
    added: dict[Variable, NonSequence] = {}
    for variable in leaving:
        name = _called(variable)
        added[variable] = NonSequence(name, Variable(before[variable].type, name))
    values = {variable: new.variable for variable, new in added.items()}
    results = {step_output: _filled(before[step_output.value], view) for step_output in same}
    _, mapping = _without(
        view, list(same), values, {new: before[variable] for variable, new in added.items()}
    )
    mapping.update({view.result(step_output): rows for step_output, rows in results.items()})
    messages = []
    if movable:
        messages.append(
            f"{counted(node.op.name for node in movable)} computed once before `{view.op.scan_name}`"
        )
    if same:
        messages.append(
            f"{named(step_output.name for step_output in same)} the same at every step of `{view.op.scan_name}`"
        )
    return Match(mapping, "; ".join(messages))


def _called(variable: Variable) -> str:
    return variable.name or describe(variable)


def _why_none(op: Scan, nodes: Sequence[Apply], kind: str) -> str:
    return f"each of the {some(len(nodes), 'operation')} of `{op.scan_name}` depends on more than its {kind}"


def _eager(nodes: Sequence[Apply], op: Scan) -> list[Apply]:
    """Return the nodes that every step computes, with all that an ``ifelse`` among them chooses from."""
    needed = op.once(always_in_step)
    inside = set(nodes)
    whole = [node.outputs[0] for node in nodes if node in needed and node.op.declaration is IFELSE]
    with_branches = {node for node in toposort(whole) if node in inside}
    return [node for node in nodes if node in needed or node in with_branches]


def _frontier(moved: Collection[Apply], results: Sequence[Variable]) -> list[Variable]:
    """Return the variables of moved nodes that the remaining step reads."""
    made = set(outputs_of(moved))
    return [variable for variable in frontier(results, made.__contains__) if variable in made]


def _same_each_step(view: ScanView, known: Collection[Variable]) -> list[StepOutput]:
    """Return the step outputs that are the same at every step, where their number of rows is known."""
    if view.op.until is not None or not counts(view):
        return []
    return [output for output in _whole_outputs(view.op) if is_known(output.value, known)]


def _filled(value: Variable, view: ScanView) -> Variable:
    """Return as many rows of a value as there are steps."""
    return alloc(value, [view.n_steps, *(as_size(size) for size in shape_of(value))])


def _without(
    view: ScanView,
    gone: Collection[LoopVariable],
    values: Mapping[Variable, Variable],
    added: Mapping[LoopVariable, Variable],
) -> tuple[ScanView | None, dict[Variable, Variable]]:
    """Return the loop without some results and with inputs added; None if it has no results left."""
    if not results_left(view.op, gone):
        return None, {}
    return rebuilt_loop(view, dict.fromkeys(gone), added=list(added), outer=dict(added), values=values)


@rule(name="PushOutSeqScan", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_sequences(node: Apply, level: Level) -> Match | Refusal:
    """Compute work that depends on sequences alone for all rows at once, before the loop, where that is faster."""
    view = ScanView(node)
    op = view.op
    if not op.of_type(LoopSequence):
        return Refusal(f"`{op.scan_name}` has no sequence")
    nodes = op.once(nodes_of)
    movable = op.once(_movable_of_sequences)
    passed = _passed_on(view)
    if not movable and not passed:
        return Refusal(_why_none(op, nodes, "sequences and non-sequences"), 1)
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    if op.until is not None:
        return Refusal(f"`{op.scan_name}` may end early: rows would be computed that no step reads", 2)
    from scanviz.engine.rewrites.loops.rows_around import Rows  # much code, and few loops have work to move

    rows = Rows(view, level, after=False)
    on_numpy = level.target.why_numpy(op) is not None
    chosen = _worth_moving(movable, rows, on_numpy)
    if not chosen and not passed:
        return Refusal(_LONG_ROWS if on_numpy else stays_in_step(op), 3)
    moved = [node for node in chosen if rows.move(node)]
    leaving = _frontier(moved, op.inner_outputs)
    passing = [node.outputs[0] for node in moved if not is_view(node) and node.outputs[0] not in leaving]
    too_much = too_much_memory(view, level, leaving, passing)
    if too_much is not None:
        return Refusal(too_much, 4)
    given_out = [step_output for step_output in op.of_type(StepOutput) if rows.has(step_output.value)]
    # also where only last rows are kept: moving what gives nothing but these would compute all of them
    if not results_left(view.op, given_out) and (unread := unread_sequence(view)) is not None:
        return Refusal(unchecked_reason(unread), 3)
    given_out = [step_output for step_output in given_out if step_output.keep == ALL]
    if not moved and not given_out:
        return Refusal("no operation of rows has a batched meaning", 3)
    return _moved_rows(rows, moved, given_out)


def _moved_rows(rows: Rows, moved: Sequence[Apply], given_out: Sequence[StepOutput]) -> Match:
    """Return the loop that reads the moved rows that the rest of its step needs, and gives no others out."""
    view, op = rows.view, rows.view.op
    slices: dict[Variable, LoopSequence] = {}
    for row in _frontier(moved, results_without(op, given_out)):
        name = _called(row)
        slices[row] = LoopSequence(name, Variable(_row_type(rows.of(row)), name))
    values = {row: sequence.slice for row, sequence in slices.items()}
    added: dict[LoopVariable, Variable] = {sequence: rows.of(row) for row, sequence in slices.items()}
    _, mapping = _without(view, given_out, values, added)
    mapping.update({view.result(step_output): rows.of(step_output.value) for step_output in given_out})
    messages = []
    if moved:
        messages.append(
            f"{counted(node.op.name for node in moved)} of all rows at once, before `{op.scan_name}`"
        )
    if given_out:
        messages.append(
            f"{named(out.name for out in given_out)} of `{op.scan_name}` computed without the loop"
        )
    return Match(mapping, "; ".join(messages))


def _row_type(rows: Variable) -> TensorType:
    kind = tensor_type(rows)
    return kind.with_shape(kind.shape[1:])


def _passed_on(view: ScanView) -> list[StepOutput]:
    """Return the step outputs that are rows of a sequence as they are."""
    slices = {sequence.slice for sequence in view.op.of_type(LoopSequence)}
    return [output for output in _whole_outputs(view.op) if output.value in slices]


def _whole_outputs(op: Scan) -> list[StepOutput]:
    """Return the step outputs that keep every row."""
    return [output for output in op.of_type(StepOutput) if output.keep == ALL]


def _movable_of_sequences(op: Scan) -> tuple[Apply, ...]:
    """Return the nodes of a step computed from sequences and non-sequences alone that have a batched meaning."""
    varying = {sequence.slice for sequence in op.of_type(LoopSequence)}
    known = varying | {non_sequence.variable for non_sequence in op.of_type(NonSequence)}
    needed, sizes = op.once(always_in_step), op.once(size_nodes)
    found: list[Apply] = []
    for node in op.once(nodes_of):
        if not all_known(node.inputs, known):
            continue
        if node in sizes:
            known |= set(node.outputs)
            continue
        if node not in needed or not _is_batched(node) or len(node.outputs) != 1:
            continue
        if any(variable in varying for variable in node.inputs):
            found.append(node)
            known |= set(node.outputs)
            varying |= set(node.outputs)
    return tuple(found)


def _is_batched(node: Apply) -> bool:
    from scanviz.engine.rewrites.batching import (
        BATCHING,  # much code, for steps that compute of sequences alone
    )

    return node.op.declaration in BATCHING


_LONG_ROWS = "only elementwise operations on long rows remain; they run faster inside the loop"


def _worth_moving(movable: Sequence[Apply], rows: Rows, on_numpy: bool) -> list[Apply]:
    """Return the nodes worth moving, and the nodes that these need.

    On NumPy a view of a sequence, or of a row that is moved anyway, is moved too: it costs a call in each step.  In machine
    code it is free, and rows that are not contiguous would be copied.
    """
    inside = set(movable)
    made = {output for node in movable for output in node.outputs}
    chosen: set[Apply] = set()

    def varies(variable: Variable) -> bool:
        return variable in made or rows.has(variable)

    numbers = set() if on_numpy else _of_numbers(movable)

    def worth(node: Apply) -> bool:
        if on_numpy:
            return is_heavy(node) or is_short_call(node)
        return becomes_one(node, varies) or (node in numbers and is_function(node))

    for node in reversed(movable):
        if node in chosen or worth(node):
            chosen.add(node)
            chosen |= inside.intersection(variable.owner for variable in node.inputs)
    for node in movable if on_numpy else ():
        if is_view(node) and all(made.owner is None or made.owner in chosen for made in node.inputs):
            chosen.add(node)
    return [node for node in movable if node in chosen]


def _of_numbers(movable: Sequence[Apply]) -> set[Apply]:
    """Return the nodes that compute single numbers of single numbers."""
    inside, found = set(movable), set[Apply]()
    for node in movable:
        made = {variable.owner for variable in node.inputs} & inside
        if made <= found and not _has_axes(node):
            found.add(node)
    return found


def _has_axes(node: Apply) -> bool:
    return any(tensor_type(variable).ndim for variable in (*node.inputs, *node.outputs))
