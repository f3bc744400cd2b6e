"""Finding the variables that a step uses without being passed them.

A variable belongs to the step if it was built while ``fn`` ran and depends on nothing else; what was built before is
taken from outside as it is and becomes a non-sequence, so that ``W2 = W ** 2`` written before the loop is computed
before the loop, and a random number drawn before the loop is drawn once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanviz.engine.errors import MissingInputError
from scanviz.engine.graph.nodes import Constant, Variable, describe
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import depending_on, frontier, variables
from scanviz.engine.scan.step import BuiltStep
from scanviz.engine.scan.strays import StepVariable, stray_error
from scanviz.engine.scan.variables import LoopVariable, inner_inputs, inner_outputs


def outside_variables(
    outputs: Sequence[Variable], inputs: Collection[Variable], born_after: int
) -> list[Variable]:
    """Return the variables from outside that a step's graph reads, constants excluded, in the order met."""
    inside = set(inputs)

    def is_inside(variable: Variable) -> bool:
        return variable in inside or isinstance(variable, Constant)

    def stops(variable: Variable) -> bool:
        return is_inside(variable) or (variable.owner is not None and variable.owner.node_id < born_after)

    return [variable for variable in frontier(outputs, stops) if not is_inside(variable)]


def captured_variables(
    own: Sequence[LoopVariable],
    condition: Variable | None,
    step: BuiltStep,
    known: Collection[Variable],
) -> list[Variable]:
    """Return what a step uses from outside beside its loop variables and ``known`` ones: shared variables first."""
    inputs = {inner for variable in own for inner in inner_inputs(variable)} | set(known)
    outputs = [inner for variable in own for inner in inner_outputs(variable)]
    found = outside_variables(
        [*outputs, *([condition] if condition is not None else [])], inputs, step.born_after
    )
    return sorted(found, key=lambda variable: not isinstance(variable, SharedVariable))


def shared_defaults(step: BuiltStep) -> dict[SharedVariable, Variable]:
    """Return the default updates, made in the step, of shared variables that it reads, such as its random states."""
    defaults: dict[SharedVariable, Variable] = {}
    for variable in outside_variables(step.returned.graph, step.inputs.rows, step.born_after):
        new = variable.default_update if isinstance(variable, SharedVariable) else None
        if new is not None and new.owner is not None and new.owner.node_id >= step.born_after:
            assert isinstance(variable, SharedVariable)
            defaults[variable] = new
    return defaults


def check_inside(captured: Sequence[Variable], graph: Sequence[Variable]) -> None:
    """Refuse variables of a step that is over: of a loop inside of this one, or before it.

    Raises
    ------
    MissingInputError
        Naming the first of them, its loop and the line that uses it.
    """
    for variable in captured:
        if isinstance(variable, StepVariable) and not variable.step.open:
            raise stray_error(variable, graph)


def check_strict(
    captured: Sequence[Variable], strict: bool | str, given: Collection[Variable], where: SourceLine | None
) -> None:
    """Refuse captured variables that were not passed, as ``strict`` says.

    A gradient inside the step of one passed variable with respect to another reads values between them, which are allowed:
    the step's author has no names for them.

    Raises
    ------
    MissingInputError
        Naming all of them.
    """
    if not strict:
        return
    missing = [variable for variable in captured if strict == "all" or isinstance(variable, SharedVariable)]
    if missing and given:
        between = depending_on(given, missing) & set(variables(list(given)))
        missing = [variable for variable in missing if variable not in between]
    if not missing:
        return
    names = ", ".join(f"`{describe(variable)}`" for variable in missing)
    what = "variables" if strict == "all" else "shared variables"
    raise MissingInputError(
        f"the step uses {what} that were not passed, and strict={strict!r} asks for all: {names}",
        where=where,
        fix=f"non_sequences=[…, {', '.join(shared.name or '…' for shared in missing)}] and parameters of fn for them",
    )
