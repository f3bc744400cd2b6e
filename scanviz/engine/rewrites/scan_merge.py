"""ScanMerge and scan_merge_inouts: loops that do the same work twice.

Two loops over the same steps, neither of which needs the other, that read something in common become one: what both compute
is then computed once.  In one loop, states that start alike and go on alike are one state, and results that are the same
are one result.  Nothing is renamed; the joined loop has both names.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.size_equality import surely_equal
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops import rebuilt_loop
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.rewrites.words import named
from scanviz.engine.scan.loop import SCAN, Scan, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    has_outer_output,
    inner_inputs,
    inner_outputs,
    kind_of,
)


@rule(name="ScanMerge", phase="merge", on=(SCAN,), single=True, tags=("scan",))
def merge_loops(node: Apply, level: Level) -> Match | Refusal | None:
    """Make one loop of two that run over the same steps and share what they read."""
    earlier = level.loops[: level.loops.index(node)]
    if not earlier:
        return None
    nearest: Refusal | None = None
    for first in earlier:
        why = _why_apart(ScanView(first), ScanView(node))
        if why is None:
            return _merged(ScanView(first), ScanView(node))
        if nearest is None or why.near >= nearest.near:
            nearest = why
    return nearest


def _why_apart(a: ScanView, b: ScanView) -> Refusal | None:
    """Return why two loops stay two, None if they can be one."""
    one, other = f"`{a.op.scan_name}`", f"`{b.op.scan_name}`"
    if not surely_equal(a.n_steps, b.n_steps):
        return Refusal(f"{one} and {other} are not known to take the same number of steps", 0)
    mine, theirs = a.op.settings, b.op.settings
    if (mine.mode, mine.truncate_gradient) != (theirs.mode, theirs.truncate_gradient):
        return Refusal(f"{one} and {other} were asked to run in different ways", 1)
    if not _ends_alike(a, b):
        return Refusal(f"{one} and {other} end by different conditions", 1)
    if _depends(b.node, a.node):
        return Refusal(f"{other} needs a result of {one}", 2)
    if set(a.op.inner_inputs) & set(b.op.inner_inputs):
        return Refusal(f"{one} and {other} were made of one loop and read its variables in different ways", 2)
    if not _shared_inputs(a, b):
        return Refusal(f"{one} and {other} read nothing in common: together they are no faster", 3)
    return None


def _ends_alike(a: ScanView, b: ScanView) -> bool:
    """Return whether both end never, or by conditions that are equal at every step."""
    if a.op.until is None or b.op.until is None:
        return a.op.until is b.op.until
    pairs: dict[Variable, Variable] = {}
    for mine in a.op.variables:
        if isinstance(mine, State | Carry | StepOutput):
            continue
        for yours in b.op.variables:
            if type(mine) is type(yours) and a.outer_input(mine) is b.outer_input(yours):
                pairs.setdefault(inner_inputs(mine)[0], inner_inputs(yours)[0])
    return structurally_equal([a.op.until.condition], [b.op.until.condition], pairs)


def _depends(node: Apply, other: Apply) -> bool:
    return other in toposort(node.inputs)


def _shared_inputs(a: ScanView, b: ScanView) -> bool:
    mine = {each for each in a.node.inputs[1:] if not isinstance(each, Constant)}
    return any(each in mine for each in b.node.inputs[1:])


def _merged(a: ScanView, b: ScanView) -> Match:
    """Return one loop with the loop variables of both."""
    name = f"{a.op.scan_name}&{b.op.scan_name}" if a.op.scan_name != b.op.scan_name else a.op.scan_name
    settings = a.op.settings._replace(
        name=name,
        gradient_of=a.op.settings.gradient_of
        if a.op.settings.gradient_of == b.op.settings.gradient_of
        else None,
        allow_gc=a.op.settings.allow_gc and b.op.settings.allow_gc,
        profile=a.op.settings.profile or b.op.settings.profile,
    )
    op = Scan([*a.op.variables, *b.op.variables], a.op.until, settings)
    inputs = [*a.node.inputs, *b.node.inputs[1:]]
    names = [each.name for each in (*a.node.outputs, *b.node.outputs)]
    node = Apply(op, inputs, op.infer(inputs), birth=a.node.birth, names=names)
    mapping = dict(zip((*a.node.outputs, *b.node.outputs), node.outputs, strict=True))
    return Match(mapping, f"`{a.op.scan_name}` and `{b.op.scan_name}` run as one loop")


@rule(name="scan_merge_inouts", phase="merge", on=(SCAN,), single=True, tags=("scan", "clean_loops"))
def merge_inouts(node: Apply, level: Level) -> Match | Refusal:
    """Make one of states and results of a loop that are equal at every step."""
    view = ScanView(node)
    same = equal_results(view)
    if not same:
        return Refusal(f"no two results of `{view.op.scan_name}` are equal at every step")
    values: dict[Variable, Variable] = {}
    for old, kept in same.items():
        values.update(zip(inner_inputs(old), inner_inputs(kept), strict=True))
    _, mapping = rebuilt_loop(view, dict.fromkeys(same), values=values)
    results: dict[LoopVariable, Variable] = {}
    for kept in view.op.variables:
        result = view.outer_output(kept)
        if result is not None and result in mapping:
            results[kept] = mapping[result]
    for old, kept in same.items():
        result = view.outer_output(old)
        if result is not None:
            mapping[result] = results[kept]
    return Match(
        mapping, f"`{view.op.scan_name}`: {named(each.name for each in same)} equal to others at every step"
    )


def equal_results(view: ScanView) -> dict[LoopVariable, LoopVariable]:
    """Return the results of a loop that are equal to another's at every step: the later one → the first.

    States are first taken to be equal where they start alike, and told apart until none differs by what a step makes of
    them: the coarsest partition, as in Hopcroft's minimisation of automata (1971).
    """
    recurrent = [each for each in view.op.variables if isinstance(each, State | Carry)]
    numbers = _Numbers()
    groups = {each: numbers.of(_start(each, view)) for each in recurrent}
    nodes = toposort(view.op.inner_outputs)
    while True:
        codes = _codes(view, groups, nodes, numbers)
        finer = {
            each: numbers.of((groups[each], *(_code(write, codes, numbers) for write in inner_outputs(each))))
            for each in recurrent
        }
        if len(set(finer.values())) == len(set(groups.values())):
            break
        groups = finer
    first: dict[Hashable, LoopVariable] = {}
    same: dict[LoopVariable, LoopVariable] = {}
    for each in view.op.variables:
        if not has_outer_output(each):
            continue
        key: Hashable
        if isinstance(each, StepOutput):
            key = ("output", each.keep, _code(each.value, codes, numbers))
        elif isinstance(each, State | Carry):
            key = ("state", finer[each])
        kept = first.setdefault(key, each)
        if kept is not each:
            same[each] = kept
    return same


class _Numbers:
    """Small numbers for things that are equal; hashes alone do not tell -1 from -2."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def of(self, key: Hashable) -> int:
        """Return the number of a key."""
        return self._known.setdefault(key, len(self._known))


def _start(variable: LoopVariable, view: ScanView) -> Hashable:
    """Return what must be equal of two states before any step."""
    outer = view.outer_input(variable)
    if isinstance(variable, State):
        return ("state", tuple(variable.reads), tuple(variable.writes), variable.keep, _same_value(outer))
    return (kind_of(variable), _same_value(outer))


def _same_value(variable: Variable | None) -> Hashable:
    if isinstance(variable, Constant):
        return (variable.type, variable.value.shape, variable.value.tobytes())
    return variable


def _codes(
    view: ScanView, groups: Mapping[State | Carry, int], nodes: Sequence[Apply], numbers: _Numbers
) -> dict[Variable, int]:
    """Return a number for the value of each variable of the step: equal numbers, equal values."""
    codes: dict[Variable, int] = {}
    for each in view.op.variables:
        match each:
            case State():
                codes.update(
                    {read: numbers.of(("read", groups[each], tap)) for tap, read in each.reads.items()}
                )
            case Carry():
                codes[each.read] = numbers.of(("carry", groups[each]))
            case NonSequence():
                codes[each.variable] = numbers.of(("same", view.outer_input(each)))
            case StepOutput():
                pass
            case _:
                codes[each.slice] = numbers.of(("row", view.outer_input(each)))
    for node in nodes:
        inputs = tuple(_code(each, codes, numbers) for each in node.inputs)
        own = numbers.of(("node", node.op, inputs))
        codes.update({each: numbers.of(("output", own, each.index)) for each in node.outputs})
    return codes


def _code(variable: Variable, codes: dict[Variable, int], numbers: _Numbers) -> int:
    known = codes.get(variable)
    if known is None:
        known = codes[variable] = numbers.of(("value", _same_value(variable)))
    return known
