"""The reference meaning of a loop: evaluate the step's graph once per step, with rows in Python lists.

Far too slow for use; it is the independent meaning that the tiers are tested against.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf

import numpy as np

from scanviz.engine.errors import InternalError, ScanvizValueError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Array, Variable, tensor_type
from scanviz.engine.scan.inference import row_type
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    Sequence,
    State,
    StepOutput,
    Until,
    has_outer_input,
    has_outer_output,
    inner_inputs,
    inner_outputs,
    kind_of,
)


def run_plainly(
    name: str, variables: SequenceOf[LoopVariable], until: Until | None, values: SequenceOf[Array]
) -> list[Array]:
    """Run a loop by evaluating each step's graph with rows in Python lists; return its results.

    Raises
    ------
    ScanvizValueError
        If the number of steps is negative.
    """
    readers = [variable for variable in variables if has_outer_input(variable)]
    outer = dict(zip(readers, values[1:], strict=True))
    rows: dict[LoopVariable, list[Array]] = {}
    for variable in variables:
        if isinstance(variable, State):
            given = outer[variable]
            whole = [given] if variable.kind == "sitsot" else list(given)
            rows[variable] = whole if variable.kind == "mitmot" else whole[: variable.offset]
        elif isinstance(variable, StepOutput):
            rows[variable] = []
        elif isinstance(variable, Carry):
            rows[variable] = [outer[variable]]
    done = _steps(name, variables, until, int(values[0]), outer, rows)
    return [_result(variable, rows[variable], done) for variable in variables if has_outer_output(variable)]


def _steps(
    name: str,
    variables: SequenceOf[LoopVariable],
    until: Until | None,
    n_steps: int,
    outer: Mapping[LoopVariable, Array],
    rows: dict[LoopVariable, list[Array]],
) -> int:
    """Run the steps, filling ``rows``; return the number of steps done."""
    if n_steps < 0:
        raise ScanvizValueError(f"loop `{name}` cannot do {n_steps} steps", fix="go_backwards=True")
    outputs = [output for variable in variables for output in inner_outputs(variable)]
    if until is not None:
        outputs.append(until.condition)
    for t in range(n_steps):
        givens: dict[Variable, Array] = {}
        for variable in variables:
            given: SequenceOf[Array] = ()
            match variable:
                case Sequence():
                    given = (outer[variable][t],)
                case NonSequence():
                    given = (outer[variable],)
                case State():
                    given = [rows[variable][variable.offset + t + tap] for tap in variable.reads]
                case Carry():
                    given = (rows[variable][-1],)
                case StepOutput():
                    pass
            givens.update(zip(inner_inputs(variable), given, strict=True))
        results = iter(evaluate(outputs, givens))
        for variable in variables:
            match variable:
                case State():
                    for tap in variable.writes:
                        _write(rows[variable], variable.offset + t + tap, np.array(next(results)))
                case StepOutput() | Carry():
                    rows[variable].append(np.array(next(results)))
                case _:
                    pass
        if until is not None and next(results):
            return t + 1
    return n_steps


def _write(rows: list[Array], position: int, value: Array) -> None:
    if position == len(rows):
        rows.append(value)
    else:
        rows[position] = value


def _result(variable: LoopVariable, rows: list[Array], done: int) -> Array:
    match variable:
        case Carry():
            return rows[-1]
        case State():
            row = row_type(variable)
            kept = rows if variable.kind == "mitmot" else rows[variable.offset :]
            if not kept:
                return np.zeros((0, *rows[0].shape), row.dtype)
            return np.array(
                kept[-variable.keep.rows(done) :] if variable.kind != "mitmot" else kept, row.dtype
            )
        case StepOutput():
            row = tensor_type(variable.value)
            if not rows:
                return np.zeros((0, *(size or 0 for size in row.shape)), row.dtype)
            return np.array(rows[-variable.keep.rows(done) :], row.dtype)
        case _:
            raise InternalError(f"a {kind_of(variable)} has no result")
