"""Remove unneeded loop variables: remove_constants_and_unused_inputs_scan and scan_merge_inouts.

- A non-sequence that is a constant is written into the step.
- Two sequences, or two non-sequences, that are the same variable around the loop become one.
- What the step does not read is not given to it.
- States and results that nobody reads, in the loop or after it, are not computed.
- States that start alike and go on alike are one state, and results that are the same are one result.

The length of an unread sequence is still checked, so the sequence stays unless it is known to be long enough.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from scanviz.engine.graph.equality import Numbers, same_value
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import results_left, results_without
from scanviz.engine.rewrites.rule import Match, Refusal, named, rule
from scanviz.engine.scan.dependence import needed_variables
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, nodes_of
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
from scanviz.engine.scan.variables import Sequence as LoopSequence


@rule(
    name="remove_constants_and_unused_inputs_scan",
    phase=("loops", "merge"),
    on=(SCAN,),
    single=True,
    tags=("scan", "clean_loops"),
)
def remove_unused(node: Apply, level: Level) -> Match | Refusal:
    """Remove constants, duplicates and unread variables from a loop."""
    view = ScanView(node)
    edit = _Edit(view, level)
    op = view.op
    edit.drop(results_left(op, needed_variables(view, level.is_read)), "not read by anything")
    edit.write_in_constants()
    edit.join_doubles()
    edit.drop_unread_inputs()
    if not edit.changes:
        return edit.refusal or Refusal(
            f"`{op.scan_name}` reads all of its inputs, and all of its results are read"
        )
    if not results_left(op, edit.gone):
        return Refusal(f"no result of `{op.scan_name}` is read: the loop does not run")
    _, mapping = rebuilt_loop(view, dict.fromkeys(edit.gone), values=edit.values)
    return Match(mapping, f"`{op.scan_name}`: {'; '.join(edit.changes)}")


class _Edit:
    """The changes to one loop."""

    def __init__(self, view: ScanView, level: Level) -> None:
        self.view, self.op, self.level = view, view.op, level
        self.inputs: list[LoopSequence | NonSequence] = [
            *self.op.of_type(LoopSequence),
            *self.op.of_type(NonSequence),
        ]
        self.gone: dict[LoopVariable, None] = {}
        self.values: dict[Variable, Variable] = {}
        self.changes: list[str] = []
        self.refusal: Refusal | None = None

    def drop(self, dropped: Collection[LoopVariable], why: str) -> None:
        """Remove variables, with the reason."""
        if dropped:
            self.gone.update(dict.fromkeys(dropped))
            verb = "is" if len(dropped) == 1 else "are"
            self.changes.append(f"{named(variable.name for variable in dropped)} {verb} {why}")

    def write_in_constants(self) -> None:
        """Write constants into the step."""
        fixed = {one: self.view.outer_input(one) for one in self.op.of_type(NonSequence)}
        constants = {one: outer for one, outer in fixed.items() if isinstance(outer, Constant)}
        self.gone.update(dict.fromkeys(constants))
        self.values.update({one.variable: outer for one, outer in constants.items()})
        if constants:
            self.changes.append(f"{named(one.name for one in constants)} written into the step")

    def join_doubles(self) -> None:
        """Make one of several sequences, or non-sequences, that are the same variable around the loop."""
        first: dict[tuple[type, Variable], LoopVariable] = {}
        joined: list[str] = []
        for variable in self.inputs:
            outer = self.view.outer_input(variable)
            if variable in self.gone or outer is None:
                continue
            known = first.setdefault((type(variable), outer), variable)
            if known is not variable:
                (mine,), (kept,) = inner_inputs(variable), inner_inputs(known)
                self.gone[variable] = None
                self.values[mine] = kept
                joined.append(variable.name)
        if joined:
            self.changes.append(f"{named(joined)} given twice")

    def drop_unread_inputs(self) -> None:
        """Take out sequences and non-sequences that the step does not read."""
        read = set(leaves(results_without(self.op, self.gone))) if self.gone else self.op.once(_read_leaves)
        read = read | {self.values[variable] for variable in read if variable in self.values}
        dropped: list[LoopVariable] = []
        for variable in self.inputs:
            (inner,) = inner_inputs(variable)
            if variable in self.gone or inner in read:
                continue
            if isinstance(variable, LoopSequence):
                from scanviz.engine.scan.unroll import surely_long_enough  # mostly rows are read

                if not surely_long_enough(self.view.outer(variable), self.view.n_steps):
                    why = f"`{variable.name}` is not read, but the loop checks that it has enough rows"
                    self.refusal = Refusal(why, 2)
                    continue
            dropped.append(variable)
        self.drop(dropped, "not read in the step")


def _read_leaves(op: Scan) -> frozenset[Variable]:
    """Return the leaves that a loop's step reads."""
    read = {variable for node in op.once(nodes_of) for variable in node.inputs}
    return frozenset([variable for variable in read.union(op.inner_outputs) if variable.owner is None])


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

    States that start alike are first taken to be equal, and separated until no step makes a difference between equal ones:
    the coarsest partition, as in Hopcroft's minimisation of automata (1971).
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
    """Return the key of states with equal initial values."""
    outer = same_value(view.outer(variable))
    if isinstance(variable, State):
        return ("state", tuple(variable.reads), tuple(variable.writes), variable.keep, outer)
    return (kind_of(variable), outer)


def _codes(view: ScanView, groups: Mapping[State | Carry, int], numbers: Numbers) -> Numbers:
    """Return numbers for variables of the step: equal numbers mean equal values."""
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
