"""scan_merge_inouts: one loop that does the same work twice.

States that start alike and go on alike are one state, and results that are the same are one result.  Nothing is renamed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.formatting import named
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
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
        mapping,
        f"`{view.op.scan_name}`: {named(variable.name for variable in same)} equal to others at every step",
    )


def equal_results(view: ScanView) -> dict[LoopVariable, LoopVariable]:
    """Return the results of a loop that are equal to another's at every step: the later one → the first.

    States are first taken to be equal where they start alike, and told apart until none differs by what a step makes of
    them: the coarsest partition, as in Hopcroft's minimisation of automata (1971).
    """
    recurrent = [variable for variable in view.op.variables if isinstance(variable, State | Carry)]
    numbers = _Numbers()
    groups = {variable: numbers.of(_start(variable, view)) for variable in recurrent}
    nodes = toposort(view.op.inner_outputs)
    while True:
        codes = _codes(view, groups, nodes, numbers)
        finer = {
            variable: numbers.of(
                (groups[variable], *(_code(write, codes, numbers) for write in inner_outputs(variable)))
            )
            for variable in recurrent
        }
        if len(set(finer.values())) == len(set(groups.values())):
            break
        groups = finer
    first: dict[Hashable, LoopVariable] = {}
    same: dict[LoopVariable, LoopVariable] = {}
    for variable in view.op.variables:
        if not has_outer_output(variable):
            continue
        key: Hashable
        if isinstance(variable, StepOutput):
            key = ("output", variable.keep, _code(variable.value, codes, numbers))
        elif isinstance(variable, State | Carry):
            key = ("state", finer[variable])
        kept = first.setdefault(key, variable)
        if kept is not variable:
            same[variable] = kept
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
    for variable in view.op.variables:
        match variable:
            case State():
                codes.update(
                    {
                        read: numbers.of(("read", groups[variable], tap))
                        for tap, read in variable.reads.items()
                    }
                )
            case Carry():
                codes[variable.read] = numbers.of(("carry", groups[variable]))
            case NonSequence():
                codes[variable.variable] = numbers.of(("same", view.outer_input(variable)))
            case StepOutput():
                pass
            case _:
                codes[variable.slice] = numbers.of(("row", view.outer_input(variable)))
    for node in nodes:
        inputs = tuple(_code(variable, codes, numbers) for variable in node.inputs)
        own = numbers.of(("node", node.op, inputs))
        codes.update({output: numbers.of(("output", own, output.index)) for output in node.outputs})
    return codes


def _code(variable: Variable, codes: dict[Variable, int], numbers: _Numbers) -> int:
    known = codes.get(variable)
    if known is None:
        known = codes[variable] = numbers.of(("value", _same_value(variable)))
    return known
