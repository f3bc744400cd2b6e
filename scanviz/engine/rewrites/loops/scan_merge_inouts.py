"""scan_merge_inouts: one loop that does the same work twice.

States that start alike and go on alike are one state, and results that are the same are one result.  Nothing is renamed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from scanviz.engine.graph.equality import Numbers, same_value
from scanviz.engine.graph.nodes import Apply, Variable
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
    for old, kept in same.items():
        mapping[view.result(old)] = mapping[view.result(kept)]
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
    numbers = Numbers()
    groups = {variable: numbers.of_key(_start(variable, view)) for variable in recurrent}
    while True:
        codes = _codes(view, groups, numbers)
        finer = {
            variable: numbers.of_key((groups[variable], *map(codes.of, inner_outputs(variable))))
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
            key = ("output", variable.keep, codes.of(variable.value))
        elif isinstance(variable, State | Carry):
            key = ("state", finer[variable])
        kept = first.setdefault(key, variable)
        if kept is not variable:
            same[variable] = kept
    return same


def _start(variable: LoopVariable, view: ScanView) -> Hashable:
    """Return what must be equal of two states before any step."""
    outer = same_value(view.outer(variable))
    if isinstance(variable, State):
        return ("state", tuple(variable.reads), tuple(variable.writes), variable.keep, outer)
    return (kind_of(variable), outer)


def _codes(view: ScanView, groups: Mapping[State | Carry, int], numbers: Numbers) -> Numbers:
    """Return what numbers variables of the step: equal numbers, equal values."""
    codes = numbers.afresh()
    for variable in view.op.variables:
        match variable:
            case State():
                for tap, read in variable.reads.items():
                    codes.give(read, ("read", groups[variable], tap))
            case Carry():
                codes.give(variable.read, ("carry", groups[variable]))
            case NonSequence():
                codes.give(variable.variable, ("same", view.outer_input(variable)))
            case StepOutput():
                pass
            case _:
                codes.give(variable.slice, ("row", view.outer_input(variable)))
    return codes
