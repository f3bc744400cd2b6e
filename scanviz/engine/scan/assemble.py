"""From a called step to loop variables: agreeing on dtypes, finding captured variables, building the parts of a loop.

:func:`build_step` calls the user's function, once, and retypes the step where a number as an initial state takes the dtype that
the step returns.  :func:`loop_parts` then makes a loop variable of each argument, captured variables included, with the outer
variable it reads.  The parts become a Scan, or, of one step, the step itself (:mod:`~scanviz.engine.scan.unroll`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace as with_fields

from scanviz.engine.errors import MissingInputError, ScanvizTypeError
from scanviz.engine.graph.local_names import name_by_locals
from scanviz.engine.graph.nodes import Constant, Variable, describe, tensor_type
from scanviz.engine.graph.provenance import SourceLine, frames_around
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import depending_on, frontier, variables
from scanviz.engine.graph.types import RANDOM_STATE
from scanviz.engine.ops.index import last_row
from scanviz.engine.scan.agreement import agree_state, agree_update, check_counts, check_kind
from scanviz.engine.scan.arguments import (
    OutputArgument,
    SequenceArgument,
    non_sequence_arguments,
    number_type,
    output_arguments,
    sequence_arguments,
)
from scanviz.engine.scan.returns import StepReturn
from scanviz.engine.scan.step import (
    BuiltStep,
    StepInputs,
    StepVariable,
    call_step,
    escaped_error,
    make_inputs,
)
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    Sequence,
    State,
    StepOutput,
    Until,
    giving,
    has_outer_output,
    inner_inputs,
    inner_outputs,
)
from scanviz.engine.scan.weak import WeakDtypes, WeakState, retype, weak_dtypes


class ScanRequest(Struct, frozen=True):
    """Arguments of a loop in canonical form."""

    fn: Callable[..., Any]
    sequences: list[SequenceArgument]
    outputs: list[OutputArgument]
    non_sequences: list[Variable]
    strict: bool | str


def scan_request(
    fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any, strict: bool | str
) -> ScanRequest:
    """Convert the arguments of ``scan`` to canonical form."""
    given: object = fn  # annotations do not stop a user
    if not callable(given):
        shown = f"`{describe(given)}`" if isinstance(given, Variable) else repr(given)
        raise ScanvizTypeError.here(
            "the step must be a function", found=shown, fix="the step first, then sequences: scan(step, x)"
        )
    rows, outputs = sequence_arguments(sequences), output_arguments(outputs_info)
    return ScanRequest(fn, rows, outputs, non_sequence_arguments(non_sequences), strict)


class ScanParts(Struct, frozen=True):
    """All parts of a loop, ready to be applied or unrolled.

    Attributes
    ----------
    variables : list of loop variables
        In order: sequences, the user's outputs, shared states, carries, non-sequences.
    outer : mapping
        Loop variable → the variable around the loop that it reads.
    outputs : list
        The loop variables of the user's outputs, in order.
    shared : list of (loop variable, SharedVariable)
        The states and carries of updated shared variables.
    until : Until or None
        The stop condition.
    """

    variables: list[LoopVariable]
    outer: Mapping[LoopVariable, Variable]
    outputs: list[LoopVariable]
    shared: list[tuple[LoopVariable, SharedVariable]]
    until: Until | None

    @property
    def result_variables(self) -> list[LoopVariable]:
        """Loop variables that have a result, in order."""
        return [variable for variable in self.variables if has_outer_output(variable)]

    def final_value(self, variable: LoopVariable, result: Variable) -> Variable:
        """Return the value that a shared variable has after the loop; its first one where no step is done."""
        return result if isinstance(variable, Carry) else last_row(result, self.outer[variable])


def build_step(spec: ScanRequest, name: str) -> BuiltStep:
    """Call the step, and give weak initial states the dtypes that NumPy would give them."""
    inputs = make_inputs(spec.fn, spec.sequences, spec.outputs, spec.non_sequences)
    step = call_step(spec.fn, inputs, name)
    check_counts(spec.outputs, step)
    returned = step.returned.outputs
    weak = [
        WeakState(number, tuple(inputs.reads[output.position].values()), returned[output.position])
        for output in spec.outputs
        if (number := number_type(output.weak)) is not None
    ]
    dtypes = weak_dtypes(weak, step.returned.graph) if weak else None
    return _retyped(step, dtypes) if dtypes is not None and dtypes.differ else step


def _retyped(step: BuiltStep, dtypes: WeakDtypes) -> BuiltStep:
    fresh = {
        row: row
        if tensor_type(row).dtype == dtype
        else Variable(tensor_type(row).with_dtype(dtype), row.name)
        for row, dtype in dtypes.of_rows.items()
    }
    returned = step.returned
    rebuilt = retype(returned.graph, fresh, dtypes.kinds)
    outputs, rest = rebuilt[: len(returned.outputs)], rebuilt[len(returned.outputs) :]
    updates = dict(zip(returned.updates, rest, strict=False))
    condition = rest[len(updates)] if returned.condition is not None else None
    reads = [
        {tap: fresh.get(variable, variable) for tap, variable in taps.items()} for taps in step.inputs.reads
    ]
    inputs = with_fields(step.inputs, reads=reads)
    return BuiltStep(inputs, StepReturn(outputs, updates, condition), step.born_after, step.where)


def loop_parts(spec: ScanRequest, step: BuiltStep, cuts: list[dict[int, Variable]]) -> ScanParts:
    """Return the loop variables of a built step with their outer variables."""
    updates = {**shared_defaults(step), **step.returned.updates}
    outer: dict[LoopVariable, Variable] = {}
    variables: list[LoopVariable] = []
    for argument, name, slices, cut in zip(
        spec.sequences, step.inputs.sequence_names, step.inputs.slices, cuts, strict=True
    ):
        for tap, inner in slices.items():
            sequence = Sequence(name, inner, tap, argument.position)
            outer[sequence] = cut[tap]
            variables.append(sequence)
    outputs = _output_variables(spec, step, outer)
    shared = _shared_variables(updates, step, outer)
    inner_of_shared = {shared_variable: inner_inputs(variable)[0] for variable, shared_variable in shared}
    constants = _given_constants(step.inputs, inner_of_shared, outer)
    passed = {outer[constant]: constant.variable for constant in reversed(constants)}
    own = [*variables, *outputs, *(variable for variable, _ in shared)]
    condition = step.returned.condition
    captured = captured_variables(own, condition, step, {*inner_of_shared, *passed})
    check_inside(
        captured, [*step.returned.outputs, *updates.values(), *([] if condition is None else [condition])]
    )
    check_strict(captured, spec.strict, spec.non_sequences, step.where)
    if any(variable.name is None for variable in captured):
        name_by_locals(frames_around())  # what was computed before the step goes by the user's name in it too
    found = {variable: Variable(variable.type, variable.name) for variable in captured}
    for variable, inner in found.items():
        non_sequence = NonSequence(variable.name or str(variable), inner, captured=True)
        outer[non_sequence] = variable
        constants.append(non_sequence)
    rename: dict[Variable, Variable] = {**found, **passed}
    rename.update({shared_variable: inner for shared_variable, inner in inner_of_shared.items()})  # noqa: C416  # the key type widens
    return _close(
        ScanParts([*variables, *outputs, *(v for v, _ in shared), *constants], outer, outputs, shared, None),
        condition,
        rename,
    )


def _output_variables(
    spec: ScanRequest, step: BuiltStep, outer: dict[LoopVariable, Variable]
) -> list[LoopVariable]:
    """Return the loop variables of the user's outputs, their dtypes agreed with their initial states."""
    infos = spec.outputs or [OutputArgument(k, None, ()) for k in range(len(step.returned.outputs))]
    variables: list[LoopVariable] = []
    for info, value in zip(infos, step.returned.outputs, strict=True):
        name = step.inputs.output_names[info.position] if spec.outputs else f"output {info.position}"
        check_kind(info, name, value, step.where)
        if info.initial is None:
            label = value.name or name
            variables.append(StepOutput(label, value))
            continue
        reads = step.inputs.reads[info.position]
        if info.initial.type == RANDOM_STATE:
            variable: LoopVariable = Carry(name, reads[-1], value)
            outer[variable] = info.initial
        else:
            initial, result = agree_state(info, name, next(iter(reads.values())), value, step.where)
            variable = State(name, reads, {0: result})
            outer[variable] = initial
        variables.append(variable)
    return variables


def _shared_variables(
    updates: Mapping[SharedVariable, Variable], step: BuiltStep, outer: dict[LoopVariable, Variable]
) -> list[tuple[LoopVariable, SharedVariable]]:
    """Return a state (numbers) or a carry (random state) for each updated shared variable: numbers first."""
    found: list[tuple[LoopVariable, SharedVariable]] = []
    for shared_variable, value in sorted(updates.items(), key=lambda pair: pair[0].type == RANDOM_STATE):
        label = shared_variable.name or str(shared_variable.type)
        read = Variable(shared_variable.type, f"{label}[t-1]")
        new = agree_update(shared_variable, value, step.where)
        variable: LoopVariable
        if shared_variable.type == RANDOM_STATE:
            variable = Carry(label, read, new, shared_variable)
        else:
            variable = State(label, {-1: read}, {0: new}, shared=shared_variable)
        outer[variable] = shared_variable
        found.append((variable, shared_variable))
    return found


def _given_constants(
    inputs: StepInputs, updated: Mapping[SharedVariable, Variable], outer: dict[LoopVariable, Variable]
) -> list[NonSequence]:
    """Return a non-sequence for each that was passed; constants are embedded, updated shared variables are states."""
    found: list[NonSequence] = []
    for given, name in zip(inputs.constants, inputs.constant_names, strict=True):
        if isinstance(given, Constant) or given in updated:
            continue
        variable = NonSequence(name or str(given), Variable(given.type, name))
        outer[variable] = given
        found.append(variable)
    return found


def _close(parts: ScanParts, condition: Variable | None, rename: Mapping[Variable, Variable]) -> ScanParts:
    """Return the parts with outer variables in the step's graph replaced by variables of the step."""
    results = [result for variable in parts.variables for result in inner_outputs(variable)]
    spec = [*results, *([condition] if condition is not None else [])]
    closed = iter(replace(spec, rename))
    fresh = dict(zip(parts.variables, giving(parts.variables, closed), strict=True))
    until = Until(next(closed)) if condition is not None else None
    return ScanParts(
        [fresh[variable] for variable in parts.variables],
        {fresh[variable]: value for variable, value in parts.outer.items()},
        [fresh[output] for output in parts.outputs],
        [(fresh[variable], shared_variable) for variable, shared_variable in parts.shared],
        until,
    )


def outside_variables(
    outputs: SequenceOf[Variable], inputs: Collection[Variable], born_after: int
) -> list[Variable]:
    """Return the variables from outside that a step's graph reads, constants excluded, in the order met."""
    inside = set(inputs)

    def is_inside(variable: Variable) -> bool:
        return variable in inside or isinstance(variable, Constant)

    def stops(variable: Variable) -> bool:
        return is_inside(variable) or (variable.owner is not None and variable.owner.node_id < born_after)

    return [variable for variable in frontier(outputs, stops) if not is_inside(variable)]


def captured_variables(
    own: SequenceOf[LoopVariable],
    condition: Variable | None,
    step: BuiltStep,
    known: Collection[Variable],
) -> list[Variable]:
    """Return the outer variables that a step captures, except ``known`` ones; shared variables first."""
    inputs = {inner for variable in own for inner in inner_inputs(variable)} | set(known)
    outputs = [inner for variable in own for inner in inner_outputs(variable)]
    found = outside_variables(
        [*outputs, *([condition] if condition is not None else [])], inputs, step.born_after
    )
    return sorted(found, key=lambda variable: not isinstance(variable, SharedVariable))


def shared_defaults(step: BuiltStep) -> dict[SharedVariable, Variable]:
    """Return default updates made in the step, such as those of random states."""
    defaults: dict[SharedVariable, Variable] = {}
    for variable in outside_variables(step.returned.graph, step.inputs.rows, step.born_after):
        new = variable.default_update if isinstance(variable, SharedVariable) else None
        if new is not None and new.owner is not None and new.owner.node_id >= step.born_after:
            assert isinstance(variable, SharedVariable)
            defaults[variable] = new
    return defaults


def check_inside(captured: SequenceOf[Variable], graph: SequenceOf[Variable]) -> None:
    """Refuse variables of a step that is over: of a loop inside of this one, or before it.

    Raises
    ------
    MissingInputError
        Naming the first of them, its loop and the line that uses it.
    """
    for variable in captured:
        if isinstance(variable, StepVariable) and not variable.step.open:
            raise escaped_error(variable, graph)


def check_strict(
    captured: SequenceOf[Variable], strict: bool | str, given: Collection[Variable], where: SourceLine | None
) -> None:
    """Refuse captured variables that were not passed, according to ``strict``.

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
