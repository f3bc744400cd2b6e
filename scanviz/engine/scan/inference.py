"""Types of a loop: its outer inputs and its results.

The Scan op infers its outputs by it, so every loop is checked when ``scan``, a rule or a gradient builds it.
What does not fit is a mistake inside scanviz here; what a user can do wrong was found before, with the user's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import TensorType, Type, common_shape, fits
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    Sequence,
    State,
    StepOutput,
    kind_of,
)


def result_types(
    op: Op,
    readers: SequenceOf[LoopVariable],
    result_variables: SequenceOf[LoopVariable],
    stops: bool,
    inputs: SequenceOf[Variable],
) -> list[Type]:
    """Return the types of a loop's results; ``stops`` is true if the loop may end before its last step.

    Raises
    ------
    InternalError
        If the inputs are not those of the loop variables, or rows of a state differ.
    """
    if len(inputs) != len(readers) + 1:
        raise InternalError(f"{op} takes {len(readers) + 1} inputs", found=len(inputs))
    rows = {state: row_type(state) for state in result_variables if isinstance(state, State)}
    outer = dict(zip(readers, inputs[1:], strict=True))
    for variable, given in outer.items():
        wanted = _outer_type(variable, rows)
        if not fits(given.type, wanted):
            raise InternalError(
                f"{op}: `{describe(given)}` does not fit {kind_of(variable)} `{variable.name}`",
                expected=wanted,
                found=given.type,
            )
    steps = constant_integer(inputs[0]) if not stops else None
    for state in rows:
        _check_rows(op, state)
    return [_result_type(variable, outer.get(variable), rows, steps) for variable in result_variables]


def _check_rows(op: Op, state: State) -> None:
    """Raise if the step reads and writes rows of a state that cannot be rows of one array."""
    first, *rows = [tensor_type(variable) for variable in (*state.reads.values(), *state.writes.values())]
    for row in rows:
        if row is not first and (row.dtype != first.dtype or row.ndim != first.ndim):
            raise InternalError(f"{op}: rows of state `{state.name}` differ", expected=first, found=row)


def outer_type(variable: LoopVariable) -> Type:
    """Return the type that the outer input of a loop variable must have."""
    return _outer_type(variable, {variable: row_type(variable)} if isinstance(variable, State) else {})


def _outer_type(variable: LoopVariable, rows: Mapping[State, TensorType]) -> Type:
    match variable:
        case Sequence():
            row = tensor_type(variable.slice)
            return row.with_shape((None, *row.shape))
        case NonSequence():
            return variable.variable.type
        case State():
            row = rows[variable]
            return row if variable.kind == "sitsot" else row.with_shape((None, *row.shape))
        case Carry():
            return variable.read.type
        case StepOutput():
            raise InternalError("a step output has no outer input")


def row_type(state: State) -> TensorType:
    """Return the type of one row of a state, as far as it is known."""
    rows = [tensor_type(variable) for variable in (*state.reads.values(), *state.writes.values())]
    first, *others = rows
    shape = first.shape
    for row in others:
        if row is not first:
            shape = common_shape(shape, row.shape)
    return first.with_shape(shape)


def _result_type(
    variable: LoopVariable, outer: Variable | None, rows: Mapping[State, TensorType], steps: int | None
) -> Type:
    match variable:
        case State():
            row = rows[variable]
            if variable.kind == "mitmot":
                assert outer is not None
                return tensor_type(outer)
            return row.with_shape((_kept(variable.keep.last, steps), *row.shape))
        case StepOutput():
            row = tensor_type(variable.value)
            return row.with_shape((_kept(variable.keep.last, steps), *row.shape))
        case Carry():
            return variable.write.type
        case _:
            raise InternalError(f"a {kind_of(variable)} has no result")


def _kept(last: int | None, steps: int | None) -> int | None:
    if steps is None:
        return None
    return steps if last is None else min(last, steps)
