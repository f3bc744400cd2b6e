"""Lengths that a loop alone looks at: without it nobody would find that a sequence or an initial state has other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.ops.sizes import surely_at_most, surely_equal
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.variables import LoopVariable, Sequence, State, Until, inner_outputs


def unchecked_sequence(
    variables: Iterable[LoopVariable],
    outer: Callable[[LoopVariable], Variable | None],
    steps: Variable | int = 1,
    until: Until | None = None,
) -> Sequence | None:
    """Return a sequence that may be too short, which nobody would find without the loop; None if there is none.

    A loop looks at the length of each of its sequences, a step only at rows that a result depends on, or the condition to end
    where one is given: it is not computed if the step stands without its loop.
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
    """Return a state that may start from too few or too many rows for its taps, which the loop alone looks at."""
    for variable in variables:
        if isinstance(variable, State) and variable.kind == "mitsot":
            rows = outer(variable)
            if rows is None or not surely_equal(shape_of(rows)[0], variable.offset):
                return variable
    return None


def surely_long_enough(rows: Variable, steps: Variable | int) -> bool:
    """Return whether nothing is lost if nobody looks how long a sequence is.

    It has a row for each step for sure, and so have the rows that it was cut from where the loop had more steps before.
    """
    if not surely_at_most(steps, shape_of(rows)[0]):
        return False
    while rows.owner is not None and rows.owner.op.name == "first_rows":
        rows, count = rows.owner.inputs
        if not surely_at_most(count, shape_of(rows)[0]):
            return False
    return True
