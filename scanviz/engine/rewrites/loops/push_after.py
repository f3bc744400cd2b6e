"""Work that leaves a loop for the graph after it: PushOutScanOutput.

Results that nothing in the loop reads, such as ``y_t = softmax(h_t @ V)``, are computed for all rows of ``h`` at once.  Rows
of sequences are summed after the loop instead of in it.  The rows that are needed are there already, or the loop
gives them as results in place of what it gave (:mod:`scanviz.engine.rewrites.loops.rows_around`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from scanviz.engine.graph.nodes import Apply, Variable, describe, tensor_type
from scanviz.engine.graph.provenance import moved_from
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import (
    MOST_GROWTH_AFTER,
    always_in_step,
    becomes_one,
    elements,
    is_heavy,
    is_view,
    own_tier,
    reads_whole,
    results_without,
    stays_in_step,
    too_much_memory,
)
from scanviz.engine.rewrites.loops.push_sums import RunningSum, last_rows, maker_of, running_sums
from scanviz.engine.rewrites.rule import Match, Refusal, counted, named, rule
from scanviz.engine.scan.dependence import outputs_of
from scanviz.engine.scan.loop import SCAN, ScanView, nodes_of
from scanviz.engine.scan.variables import ALL, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence

if TYPE_CHECKING:
    from scanviz.engine.rewrites.loops.rows_around import Rows


@rule(name="PushOutScanOutput", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_outputs(node: Apply, level: Level) -> Match | Refusal:
    """Compute results that nothing in the loop reads after it, for all rows at once."""
    view = ScanView(node)
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    found = running_sums(view, level)[0]
    if found:
        sums = sums_of_sequences(view, level, found)
        if sums is not None:
            return sums
    nodes = view.op.once(nodes_of)
    late = _late(view, nodes)
    if not late:
        return Refusal(f"the next step needs every operation of `{view.op.scan_name}`", 0)

    return computed_after(view, level, late)


def _late(view: ScanView, nodes: Sequence[Apply]) -> list[Apply]:
    """Return the nodes that only step outputs need."""
    outputs = view.op.of_type(StepOutput)
    if not outputs:
        return []
    early = set(toposort(results_without(view.op, outputs)))
    needed = view.op.once(always_in_step)
    return [node for node in nodes if node not in early and node in needed]


_IN_CACHE = "only elementwise operations could leave the step; they run faster inside the loop"


def computed_after(view: ScanView, level: Level, late: Sequence[Apply]) -> Match | Refusal:
    """Compute operations that only outputs need after the loop, where that pays."""
    from scanviz.engine.rewrites.batching import BATCHING  # much code, for few loops compute what leaves them
    from scanviz.engine.rewrites.loops.rows_around import Rows

    rows, on_numpy = Rows(view, level), level.target.why_numpy(view.op) is not None

    def worth(node: Apply) -> bool:
        return is_heavy(node) if on_numpy else becomes_one(node, lambda variable: variable not in view.fixed)

    heavy = [node for node in late if worth(node) and node.op.declaration in BATCHING]
    if not heavy:
        return Refusal(_IN_CACHE if on_numpy else stays_in_step(view.op), 1)
    moving = _after(heavy, late)
    if any(node.op.declaration not in BATCHING or len(node.outputs) != 1 for node in moving):
        return Refusal("an operation on the way out has no batched meaning", 2)
    made = set(outputs_of(moving))
    leaving = [step_output for step_output in view.op.of_type(StepOutput) if step_output.value in made]
    if any(
        step_output.keep != ALL or not reads_whole(view.result(step_output), level) for step_output in leaving
    ):
        return Refusal("only last rows of the results are read", 3)
    return _computed_after(rows, moving, leaving, made)


def _after(heavy: Collection[Apply], late: Sequence[Apply]) -> list[Apply]:
    """Return heavy nodes, all late nodes that depend on one, and all late ones that these need."""
    moved, inside = set(heavy), set(late)
    for node in late:
        if any(variable.owner in moved for variable in node.inputs):
            moved.add(node)
    for node in reversed(late):
        if node in moved:
            moved |= inside.intersection(variable.owner for variable in node.inputs)
    return [node for node in late if node in moved]


def _new_rows(rows: Rows, varying: Sequence[Variable], leaving: Sequence[StepOutput]) -> str | None:
    """Return why the needed rows would take more memory than the results that leave, None if they do not."""
    new = [variable for variable in varying if not rows.costs_nothing(variable)]
    gone = [step_output.value for step_output in leaving]
    highest = max((tensor_type(variable).ndim for variable in gone), default=0)
    longer = [variable for variable in new if tensor_type(variable).ndim > highest]
    if longer:
        return f"rows of `{describe(longer[0])}` would have to be kept, which are larger than the results that leave"
    if len(new) > len(gone) and highest > 1:
        return "more rows would have to be kept than results leave"
    before, after = [elements(variable) for variable in gone], [elements(variable) for variable in new]
    known = [number for number in (*before, *after) if number is not None]
    if len(known) < len(before) + len(after):
        return None
    added, taken = sum(number or 0 for number in after), sum(number or 0 for number in before)
    if added > MOST_GROWTH_AFTER * taken:
        return f"the loop would keep {added} numbers a step instead of {taken}"
    return None


def _computed_after(
    rows: Rows, moving: Sequence[Apply], leaving: Sequence[StepOutput], made: set[Variable]
) -> Match | Refusal:
    view, level = rows.view, rows.level
    read = dict.fromkeys(variable for node in moving for variable in node.inputs if variable not in made)
    varying = [variable for variable in read if not rows.is_size(variable)]
    for variable in varying:
        rows.need(variable)
    gone = {step_output.value for step_output in leaving}
    passing = [node.outputs[0] for node in moving if not is_view(node) and node.outputs[0] not in gone]
    new = [variable for variable in varying if not rows.costs_nothing(variable)]
    too_much = _new_rows(rows, varying, leaving) or too_much_memory(view, level, new, passing)
    if too_much is not None:
        return Refusal(too_much, 4)
    if not any(variable not in rows.extra for variable in varying) and not rows.extra:
        return Refusal("it is the same in every step", 2)
    if (unchecked := rows.unchecked(leaving)) is not None:
        return Refusal(unchecked, 4)
    if not rows.possible(leaving):
        return Refusal(f"`{view.op.scan_name}` would have no result left to count its steps by", 4)
    _, mapping = rows.rebuilt(list(leaving))
    for node in moving:
        if not rows.move(node):
            return Refusal(f"`{node.op.name}` has no batched meaning in this form", 3)
    mapping.update({view.result(result): rows.of(result.value) for result in leaving})
    message = f"{counted(node.op.name for node in moving)} of all rows at once, after `{view.op.scan_name}`"
    return Match(mapping, f"{message}: {named(step_output.name for step_output in leaving)}")


def sums_of_sequences(view: ScanView, level: Level, found: Sequence[RunningSum]) -> Match | None:
    """Sum rows of sequences after the loop, in place of states that only add them up."""
    slices = {sequence.slice for sequence in view.op.of_type(LoopSequence)}
    chosen = [one for one in found if one.term in slices and tensor_type(one.term).ndim]
    if not chosen:
        return None
    from scanviz.engine.ops.reduce import sum as sum_of  # few loops only add up, as above
    from scanviz.engine.rewrites.loops.rows_around import Rows

    rows, gone = Rows(view, level), [one.state for one in chosen]
    if not rows.possible(gone) or rows.unchecked(gone) is not None:
        return None
    new, mapping = rows.rebuilt(gone)
    for one in chosen:
        with moved_from(*maker_of(one)):
            total = sum_of(rows.of(one.term), axis=0)
        mapping.update(last_rows(one, total, view, level, new.n_steps))
    return Match(mapping, f"{named(state.name for state in gone)}: rows are summed after the loop")
