"""Work that leaves a loop for the graph before it: PushOutNonSeqScan, PushOutSeqScan and PushOutShortRows.

What a step computes of its non-sequences alone is the same at every step: it is computed once, before the loop.  What it
computes of its sequences (and non-sequences) alone is computed of all rows at once, as one batched operation
(:mod:`scanviz.engine.rewrites.batching`), and the loop reads its rows: by PushOutSeqScan where that is faster on any tier, by
PushOutShortRows where it saves a call in each step and costs memory, which machine code for the whole step does not want.  Only
what every step computes is moved, never what a branch of an ``ifelse`` may leave out.  A loop of no steps then computes it all
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from scanviz.engine.errors import some
from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe, rebuild, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import frontier, toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.shape import DIMENSION, alloc, dimension
from scanviz.engine.ops.sizes import as_size, surely_not_negative
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.formatting import counted, named
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops import (
    always_in_step,
    nobody_checks,
    own_tier,
    results_left,
    results_without,
    rows_of_steps,
    size_nodes,
    unread_sequence,
)
from scanviz.engine.rewrites.profitability import (
    MOST_GROWTH,
    MOST_ROW_BYTES,
    bytes_of_rows,
    elements,
    is_faster_of_all_rows,
    is_product_of_matrices,
    is_short,
    is_view,
)
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.closure import all_known, closure, is_known, outputs_of
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, nodes_of
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import ALL, LoopVariable, NonSequence, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence


@rule(name="PushOutNonSeqScan", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_non_sequences(node: Apply, level: Level) -> Match | Refusal:
    """Compute once, before the loop, what depends on its non-sequences alone."""
    view = ScanView(node)
    given = view.fixed
    nodes = view.op.once(nodes_of)
    sizes = view.op.once(size_nodes)
    movable = [node for node in _eager(closure(view.op, given, nodes), view.op) if node not in sizes]
    same = _same_each_step(view, {*given, *outputs_of(movable)})
    if not movable and not same:
        return Refusal(_why_none(view.op, nodes, "non-sequences"))
    if (refusal := own_tier(view)) is not None:
        return refusal
    if not results_left(view.op, same) and (unread := unread_sequence(view)) is not None:
        return Refusal(nobody_checks(unread), 3)
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
    said = []
    if movable:
        said.append(f"{counted(node.op.name for node in movable)} computed once before `{view.op.scan_name}`")
    if same:
        said.append(
            f"{named(step_output.name for step_output in same)} the same at every step of `{view.op.scan_name}`"
        )
    return Match(mapping, "; ".join(said))


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
    """Return the variables of moved nodes that what stays of the way to results reads."""
    made = set(outputs_of(moved))
    return [variable for variable in frontier(results, made.__contains__) if variable in made]


def _same_each_step(view: ScanView, known: Collection[Variable]) -> list[StepOutput]:
    """Return the step outputs whose value does not change from step to step, where it is known how many rows they have."""
    steps = constant_integer(view.n_steps)
    if view.op.until is not None or not surely_not_negative(view.n_steps if steps is None else steps):
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
    """Return the loop without some results and with inputs added; None where it has no results left."""
    if not results_left(view.op, gone):
        return None, {}
    return rebuilt_loop(view, dict.fromkeys(gone), added=list(added), outer=dict(added), values=values)


@rule(name="PushOutSeqScan", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_sequences(node: Apply, level: Level) -> Match | Refusal:
    """Compute of all rows at once, before the loop, what depends on its sequences alone and is faster so."""
    return _push_out(ScanView(node), level, is_faster_of_all_rows, with_views=False)


@rule(name="PushOutShortRows", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_short_rows(node: Apply, level: Level) -> Match | Refusal:
    """Compute of all rows at once, before the loop, elementwise operations of short rows of sequences, and products of matrices."""

    def saves_a_call(node: Apply) -> bool:
        return is_product_of_matrices(node) or (not is_view(node) and is_short(node.outputs[0]))

    return _push_out(ScanView(node), level, saves_a_call, with_views=True)


def _push_out(
    view: ScanView, level: Level, worth: Callable[[Apply], bool], with_views: bool
) -> Match | Refusal:
    op = view.op
    if not op.of_type(LoopSequence):
        return Refusal(f"`{op.scan_name}` has no sequence")
    nodes = op.once(nodes_of)
    movable = op.once(_movable_of_sequences)
    passed = _passed_on(view)
    if not movable and not passed:
        return Refusal(_why_none(op, nodes, "sequences and non-sequences"), 1)
    if (refusal := own_tier(view)) is not None:
        return refusal
    if op.until is not None:
        return Refusal(f"`{op.scan_name}` may end early: rows would be computed that no step reads", 2)
    chosen = _worth_moving(movable, worth, with_views)
    if not chosen and not passed:
        return Refusal("only elementwise operations of long rows: better done while they are in the cache", 3)
    moving = _Rows(view, level)
    for node in chosen:
        moving.move(node)
    moved = moving.moved
    leaving = _frontier(moved, op.inner_outputs)
    too_much = _too_much(view, level, moved, leaving)
    if too_much is not None:
        return Refusal(too_much, 4)
    given_out = [
        step_output
        for step_output in op.of_type(StepOutput)
        if step_output.value in moving.rows and step_output.value not in moving.same
    ]
    # also where only last rows are kept: moving what gives nothing but these would compute all of them
    if not results_left(view.op, given_out) and (unread := unread_sequence(view)) is not None:
        return Refusal(nobody_checks(unread), 3)
    given_out = [step_output for step_output in given_out if step_output.keep == ALL]
    if not moved and not given_out:
        return Refusal("no operation of rows has a batched meaning", 3)
    return _moved_rows(moving, given_out)


def _moved_rows(moving: _Rows, given_out: Sequence[StepOutput]) -> Match:
    """Return the loop that reads the moved rows that the rest of its step needs, and gives no others out."""
    view, op, moved = moving.view, moving.view.op, moving.moved
    slices: dict[Variable, LoopSequence] = {}
    for row in _frontier(moved, results_without(op, given_out)):
        name = _called(row)
        slices[row] = LoopSequence(name, Variable(_row_type(moving.rows[row]), name))
    values = {row: sequence.slice for row, sequence in slices.items()}
    rows: dict[LoopVariable, Variable] = {sequence: moving.rows[row] for row, sequence in slices.items()}
    _, mapping = _without(view, given_out, values, rows)
    mapping.update({view.result(step_output): moving.rows[step_output.value] for step_output in given_out})
    said = []
    if moved:
        said.append(f"{counted(node.op.name for node in moved)} of all rows at once, before `{op.scan_name}`")
    if given_out:
        said.append(f"{named(out.name for out in given_out)} of `{op.scan_name}` computed without the loop")
    return Match(mapping, "; ".join(said))


def _row_type(rows: Variable) -> TensorType:
    kind = tensor_type(rows)
    return kind.with_shape(kind.shape[1:])


def _passed_on(view: ScanView) -> list[StepOutput]:
    """Return the step outputs that are rows of a sequence as they are."""
    slices = {sequence.slice for sequence in view.op.of_type(LoopSequence)}
    return [output for output in _whole_outputs(view.op) if output.value in slices]


def _whole_outputs(op: Scan) -> list[StepOutput]:
    """Return the step outputs of which every row is kept."""
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


def _worth_moving(movable: Sequence[Apply], worth: Callable[[Apply], bool], with_views: bool) -> list[Apply]:
    """Return the nodes worth moving, and what these need.

    With views, one of a row that is moved anyway, or of a sequence, goes along, for it is a call in each step; machine code has
    it for nothing, and copies rows that do not lie in order.
    """
    inside = set(movable)
    chosen: set[Apply] = set()
    for node in reversed(movable):
        if worth(node) or node in chosen:
            chosen.add(node)
            chosen |= inside.intersection(variable.owner for variable in node.inputs)
    for node in movable if with_views else ():
        if is_view(node) and all(made.owner is None or made.owner in chosen for made in node.inputs):
            chosen.add(node)
    return [node for node in movable if node in chosen]


def _too_much(
    view: ScanView, level: Level, moved: Sequence[Apply], leaving: Sequence[Variable]
) -> str | None:
    """Return what is wrong with the memory that moved rows would take, None where it is well.

    Where sizes are not known, rows may have as many dimensions as those of a sequence, or of a result that is kept whole.
    """
    from scanviz.engine.rewrites.rows import most_dimensions  # much code, when there is something to move

    most = most_dimensions(view, level) or 0
    for value in leaving:
        if tensor_type(value).ndim > most and elements(value) is None:
            return f"rows of `{describe(value)}` may be much longer than all that the loop reads and gives"
    steps = constant_integer(view.n_steps)
    total = sum(bytes_of_rows(variable, steps) or 0 for variable in leaving)
    if total > MOST_ROW_BYTES:
        return f"the rows of all steps would take {total} bytes, more than {MOST_ROW_BYTES}"
    for node in moved:
        own = elements(node.outputs[0])
        sizes = [elements(variable) for variable in node.inputs if not isinstance(variable, Constant)]
        rows = [size for size in sizes if size]
        if own is None or is_short(node.outputs[0]) or len(rows) < len(sizes) or not rows:
            continue
        if own > MOST_GROWTH * max(rows):
            return f"rows of `{describe(node.outputs[0])}` are more than {MOST_GROWTH} times as long as what they come from"
    return None


class _Rows:
    """The rows of a loop's variables as they are computed before it."""

    def __init__(self, view: ScanView, level: Level) -> None:
        self.view, self.level = view, level
        self.same = dict(view.fixed)
        self._sequences = {sequence.slice: sequence for sequence in view.op.of_type(LoopSequence)}
        self._known: dict[Variable, Variable] = {}
        self.moved: list[Apply] = []

    @property
    def rows(self) -> Mapping[Variable, Variable]:
        """Variable of the step → its rows, so far as they were asked for."""
        for step_output in self.view.op.of_type(StepOutput):
            if step_output.value in self._sequences:
                self._row(step_output.value)
        return self._known

    def _row(self, variable: Variable) -> Variable:
        known = self._known.get(variable)
        if known is None:
            known = self._known[variable] = rows_of_steps(self.view, self.level, self._sequences[variable])
        return known

    def _varies(self, variable: Variable) -> bool:
        return variable in self._known or variable in self._sequences

    def _same(self, variable: Variable) -> Variable | None:
        """Return the value of what is the same at every step: a constant, a non-sequence or a size."""
        known = self.same.get(variable)
        if known is not None or isinstance(variable, Constant):
            return known if known is not None else variable
        node = variable.owner
        if node is None or self._varies(variable):
            return None
        if node.op.declaration is DIMENSION and self._varies(node.inputs[0]):
            size = dimension(self._row(node.inputs[0]), node.op.parameters.axis + 1)
        else:
            inputs = [self._same(operand) for operand in node.inputs]
            given = [operand for operand in inputs if operand is not None]
            facts = node.op.facts
            if not (facts.cheap or facts.size == "kept") or len(given) < len(inputs):
                return None
            size = rebuild(node, given).outputs[variable.index]
        self.same[variable] = size
        return size

    def move(self, node: Apply) -> None:
        """Compute a node for all rows, where that can be said."""
        from scanviz.engine.rewrites.batching import batched

        inputs, rows = [], []
        for variable in node.inputs:
            varies = self._varies(variable)
            value = self._row(variable) if varies else self._same(variable)
            if value is None:
                return  # it reads what could not be moved
            inputs.append(value)
            rows.append(varies)
        found = batched(node, inputs, rows)
        if found is not None:
            self._known[node.outputs[0]] = found
            self.moved.append(node)
