"""Unroll a loop of one step: the step itself in the outer graph.

``scan`` does so where it knows when building that there is one step.  The checks of the loop remain.  An operation checks the
shape of a state.  If a sequence that no result depends on may be too short
(:func:`~scanviz.engine.scan.unroll.unchecked_sequence`), the loop stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.size_checks import state_shape
from scanviz.engine.ops.sizes import as_size, surely_at_most, surely_equal
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.assemble import ScanParts
from scanviz.engine.scan.updates import Updates, updates_of_loop
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    Sequence,
    State,
    Until,
    inner_inputs,
    inner_outputs,
)


def unroll_one_step(parts: ScanParts, name: str) -> tuple[list[Variable], Updates]:
    """Return the results of a loop of exactly one step, called ``name``, each output with one row.

    Sequences are already turned and cut for their taps, so row 0 is what the step reads.  A stop condition changes
    nothing: the step that triggers it is kept.
    """
    values: dict[Variable, Variable] = {}
    for variable in parts.variables:
        values.update(first_values(variable, parts.outer.get(variable)))
    result_variables = [variable for variable in parts.variables if inner_outputs(variable)]
    computed = replace([inner_outputs(variable)[0] for variable in result_variables], values)
    result: dict[LoopVariable, Variable] = dict(zip(result_variables, computed, strict=True))
    for variable in result_variables:
        if isinstance(variable, State):
            result[variable] = row_of_one_step(variable, result[variable], parts.outer[variable], name)
    final = {shared: result[variable] for variable, shared in parts.shared}
    return [_as_rows(output, result[output]) for output in parts.outputs], updates_of_loop(final)


def row_of_one_step(state: State, value: Variable, initial: Variable, loop: str) -> Variable:
    """Return a state's row of a single step, with a run-time check if its shape is uncertain."""
    shape = shape_of(initial) if state.kind == "sitsot" else shape_of(initial)[1:]
    if all(surely_equal(a, b) for a, b in zip(shape_of(value), shape, strict=True)):
        return value
    return state_shape(value, [as_size(size) for size in shape], state.name, loop, spreads=False)


def first_values(variable: LoopVariable, outer: Variable | None) -> dict[Variable, Variable]:
    """Return the values of a loop variable's inner inputs at the first step."""
    if outer is None:
        return {}
    match variable:
        case Sequence():
            return {variable.slice: getitem(outer, 0)}
        case State() if variable.kind != "sitsot":
            return {read: getitem(outer, variable.offset + tap) for tap, read in variable.reads.items()}
        case _:
            return dict.fromkeys(inner_inputs(variable), outer)


def _as_rows(variable: LoopVariable, value: Variable) -> Variable:
    if isinstance(variable, Carry):
        return value
    rows = getitem(value, None)
    rows.name = variable.name
    return rows


def unchecked_sequence(
    variables: Iterable[LoopVariable],
    outer: Callable[[LoopVariable], Variable | None],
    steps: Variable | int = 1,
    until: Until | None = None,
) -> Sequence | None:
    """Return a sequence whose length only the loop would check and that may be too short, or None.

    A loop checks the length of each of its sequences.  An unrolled step reads only the rows that a result depends on, or the
    stop condition: it is not computed if the step stands without its loop.
    """
    listed = list(variables)
    results = [value for variable in listed for value in inner_outputs(variable)]
    read = set(leaves(results if until is None else [*results, until.condition]))
    for variable in listed:
        if isinstance(variable, Sequence) and variable.slice not in read:
            rows = outer(variable)
            if rows is None or not surely_long_enough(rows, steps):
                return variable
    return None


def unchecked_state(
    variables: Iterable[LoopVariable], outer: Callable[[LoopVariable], Variable | None]
) -> State | None:
    """Return a state that may have too few or too many initial rows for its taps, which only the loop would check."""
    for variable in variables:
        if isinstance(variable, State) and variable.kind == "mitsot":
            rows = outer(variable)
            if rows is None or not surely_equal(shape_of(rows)[0], variable.offset):
                return variable
    return None


def surely_long_enough(rows: Variable, steps: Variable | int) -> bool:
    """Return whether a sequence is surely long enough, so that no length check is needed.

    It has a row for each step for sure, and so have the rows that it was cut from where the loop had more steps before.
    """
    if not surely_at_most(steps, shape_of(rows)[0]):
        return False
    while rows.owner is not None and rows.owner.op.name == "first_rows":
        rows, count = rows.owner.inputs
        if not surely_at_most(count, shape_of(rows)[0]):
            return False
    return True
