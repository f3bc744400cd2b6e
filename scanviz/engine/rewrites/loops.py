"""Rebuilding loops: the same loop with some of its loop variables changed, added or taken away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import leaves, toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.first_rows import first_rows
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.sizes import surely_at_most, surely_equal
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.scan.effects import effects_of, has_effect
from scanviz.engine.scan.loop import Scan, ScanSettings, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    Until,
    has_outer_input,
    has_outer_output,
    inner_outputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


def rebuilt_loop(
    view: ScanView,
    changed: Mapping[LoopVariable, LoopVariable | None],
    *,
    added: Sequence[LoopVariable] = (),
    outer: Mapping[LoopVariable, Variable] | None = None,
    values: Mapping[Variable, Variable] | None = None,
    n_steps: Variable | None = None,
    settings: ScanSettings | None = None,
) -> tuple[ScanView, dict[Variable, Variable]]:
    """Return a loop with loop variables changed, and what its results replace.

    Parameters
    ----------
    view : ScanView
        The loop as it is.
    changed : mapping
        Loop variable → the one in its place; None takes it away.
    added : sequence of loop variables
        Put in: sequences and non-sequences before the others of their kind, results after them.
    outer : mapping, optional
        Outer inputs of loop variables that are new.
    values : mapping, optional
        Variables of the step → what the step computes with in their place.
    n_steps : Variable, optional
        The number of steps, by default as before.
    settings : ScanSettings, optional
        Its settings, by default as before.

    Returns
    -------
    ScanView
        The new loop; it keeps its node id, and the names of results.
    dict
        Old result → new result.
    """
    given = dict(outer or {})
    op = view.op
    pairs: list[tuple[LoopVariable | None, LoopVariable]] = [
        (None, each) for each in added if not has_outer_output(each)
    ]
    for each in op.variables:
        now = changed.get(each, each)
        if now is not None:
            pairs.append((each, now))
    pairs += [(None, each) for each in added if has_outer_output(each)]
    until = op.until
    if values:
        pairs, until = _with_values(pairs, until, values)
    inputs = [n_steps if n_steps is not None else view.n_steps]
    for old, now in pairs:
        if not has_outer_input(now):
            continue
        source = given.get(now)
        if source is None and old is not None:
            source = given.get(old) or view.outer_input(old)
        assert source is not None, f"loop variable `{now.name}` has no outer input"
        inputs.append(source)
    fresh = Scan([now for _, now in pairs], until, op.settings if settings is None else settings)
    names = [_name(view, old, now) for old, now in pairs if has_outer_output(now)]
    node = Apply(fresh, inputs, fresh.infer(inputs), node_id=view.node.node_id, names=names)
    new = ScanView(node)
    mapping: dict[Variable, Variable] = {}
    for old, now in pairs:
        before = view.outer_output(old) if old is not None else None
        after = new.outer_output(now)
        if before is not None and after is not None:
            mapping[before] = after
    return new, mapping


def _name(view: ScanView, old: LoopVariable | None, now: LoopVariable) -> str | None:
    before = view.outer_output(old) if old is not None else None
    return before.name if before is not None else now.name


def _with_values(
    pairs: Iterable[tuple[LoopVariable | None, LoopVariable]],
    until: Until | None,
    values: Mapping[Variable, Variable],
) -> tuple[list[tuple[LoopVariable | None, LoopVariable]], Until | None]:
    """Return loop variables and condition over replaced variables of the step."""
    listed = list(pairs)
    results = [each for _, now in listed for each in inner_outputs(now)]
    if until is not None:
        results.append(until.condition)
    fresh = iter(replace(results, values, check=False))
    made = [(old, with_inner_outputs(now, [next(fresh) for _ in inner_outputs(now)])) for old, now in listed]
    return made, Until(next(fresh)) if until is not None else None


def with_inner_outputs(variable: LoopVariable, given: Sequence[Variable]) -> LoopVariable:
    """Return a loop variable that takes other values of the step; itself where they are the same."""
    if all(a is b for a, b in zip(inner_outputs(variable), given, strict=True)):
        return variable
    match variable:
        case State():
            writes = dict(zip(variable.writes, given, strict=True))
            return State(variable.name, variable.reads, writes, variable.keep, variable.shared)
        case StepOutput():
            return StepOutput(variable.name, given[0], variable.keep)
        case Carry():
            return Carry(variable.name, variable.read, given[0], variable.shared)
        case _:
            return variable


def with_results(op: Scan, results: Sequence[Variable]) -> Scan:
    """Return a loop whose step gives other variables, in the order of its ``inner_outputs``."""
    given = iter(results)
    variables = [
        with_inner_outputs(each, [next(given) for _ in inner_outputs(each)]) for each in op.variables
    ]
    return op.with_variables(variables, Until(next(given)) if op.until is not None else None)


def own_tier(view: ScanView) -> Refusal | None:
    """Return why nothing is moved out of a loop that was asked to run on a tier of its own, None if it was not."""
    tier = view.op.settings.mode
    return (
        None if tier is None else Refusal(f"`{view.op.scan_name}` was asked to run on the tier {tier!r}", 5)
    )


def outer_of(view: ScanView, variable: LoopVariable) -> Variable:
    """Return what a loop variable reads around the loop, for one that reads something."""
    found = view.outer_input(variable)
    if found is None:
        raise InternalError(f"loop variable `{variable.name}` has no outer input")
    return found


def result_of(view: ScanView, variable: LoopVariable) -> Variable:
    """Return the result of a loop variable, for one that has a result."""
    found = view.outer_output(variable)
    if found is None:
        raise InternalError(f"loop variable `{variable.name}` has no outer output")
    return found


def sequences_of(op: Scan) -> list[LoopSequence]:
    """Return the sequences of a loop."""
    return [each for each in op.variables if isinstance(each, LoopSequence)]


def non_sequences_of(op: Scan) -> list[NonSequence]:
    """Return the non-sequences of a loop."""
    return [each for each in op.variables if isinstance(each, NonSequence)]


def states_of(op: Scan) -> list[State]:
    """Return the states of a loop."""
    return [each for each in op.variables if isinstance(each, State)]


def step_outputs_of(op: Scan) -> list[StepOutput]:
    """Return the step outputs of a loop."""
    return [each for each in op.variables if isinstance(each, StepOutput)]


def always_computed(outputs: Sequence[Variable]) -> set[Apply]:
    """Return the nodes that every step computes: not those that only a branch of an ``ifelse`` may need."""
    found: set[Apply] = set()
    stack = [each.owner for each in outputs if each.owner is not None]
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found.add(node)
        needed = node.inputs[:1] if node.op.declaration is IFELSE else node.inputs
        stack.extend(each.owner for each in needed if each.owner is not None)
    return found


def is_known(variable: Variable, known: Collection[Variable]) -> bool:
    """Return whether a variable of a step is a constant or among known ones."""
    return isinstance(variable, Constant) or variable in known


def closure(op: Scan, sources: Collection[Variable], nodes: Sequence[Apply] | None = None) -> list[Apply]:
    """Return the nodes of a step that are computed from ``sources`` and constants alone, in order of computation.

    What prints or checks something does so in every step, and is not among them.
    """
    known = set(sources)
    found: list[Apply] = []
    effects = bool(effects_of(op))
    for node in toposort(op.inner_outputs) if nodes is None else nodes:
        if effects and has_effect(node):
            continue
        if all(is_known(each, known) for each in node.inputs):
            found.append(node)
            known.update(node.outputs)
    return found


def size_nodes(nodes: Sequence[Apply]) -> set[Apply]:
    """Return the nodes that only compute sizes: backends know these when they meet the shapes, so nothing is won by moving them."""
    found: set[Apply] = set()
    for node in nodes:
        kind = node.op.facts.size
        if kind == "is":
            found.add(node)
        elif kind == "kept" and _is_size(node.outputs[0]):
            of_sizes = [isinstance(each, Constant) or each.owner in found for each in node.inputs]
            if all(of_sizes) and not all(isinstance(each, Constant) for each in node.inputs):
                found.add(node)
    return found


def _is_size(variable: Variable) -> bool:
    kind = variable.type
    return isinstance(kind, TensorType) and kind.ndim == 0 and kind.dtype == "int64"


def rows_of_steps(
    view: ScanView, level: Level, sequence: LoopSequence, steps: Variable | None = None
) -> Variable:
    """Return a sequence as it is read around the loop: as many rows as there are steps, or the loop's own error."""
    rows, count = outer_of(view, sequence), view.n_steps if steps is None else steps
    size = level.shape(rows)[0]
    if surely_equal(size, count):
        return rows
    if count is not view.n_steps:
        return getitem(rows, slice(None, count))
    where = view.node.provenance.source
    return first_rows(rows, count, sequence.name, view.op.scan_name, where)


def unread_sequence(view: ScanView, level: Level) -> LoopSequence | None:
    """Return a sequence that may be too short and that the step does not read, so that the loop alone finds it; or None."""
    read = set(leaves(view.op.inner_outputs))
    for each in sequences_of(view.op):
        if each.slice not in read and not surely_at_most(view.n_steps, level.shape(outer_of(view, each))[0]):
            return each
    return None


def nobody_checks(sequence: LoopSequence) -> str:
    """Return why a loop stays that has such an :func:`unread_sequence`."""
    return f"nothing but the loop looks whether `{sequence.name}`, which no step reads, is long enough"
