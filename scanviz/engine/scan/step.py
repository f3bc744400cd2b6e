"""Call the user's step function once, on symbolic slices, and name its inputs and outputs.

Names come from the outer variable where it has one, else from the parameter of ``fn`` that receives it, less the usual
endings (``x_t``, ``h_tm1``, ``h_prev``), so that messages and pictures speak the user's language.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from scanviz.engine.errors import MissingInputError, ScanvizTypeError
from scanviz.engine.graph.local_names import name_by_locals
from scanviz.engine.graph.nodes import Apply, Variable, describe, next_node_id, tensor_type
from scanviz.engine.graph.provenance import (
    SourceLine,
    building_scan,
    frames_that_build,
    intern_line,
    user_line,
)
from scanviz.engine.graph.traversal import leaves, toposort
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.scan.arguments import OutputArgument, SequenceArgument
from scanviz.engine.scan.returns import StepReturn, parse_return
from scanviz.engine.scan.variables import step_name


class OpenStep:
    """A step whose function is running or has returned.

    Attributes
    ----------
    loop : str
        Name of the loop.
    where : SourceLine or None
        Source line of the function.
    open : bool
        Whether the function is still running: it and its inner loops may use the step's variables.
    """

    __slots__ = ("loop", "open", "where")

    def __init__(self) -> None:
        self.loop, self.open = "", True
        self.where: SourceLine | None = None


class StepVariable(Variable):
    """An argument of a step's function: a row of a sequence, or of an earlier step's result."""

    __slots__ = ("step",)
    step: OpenStep

    def __init__(self, type: Type, name: str | None, step: OpenStep) -> None:
        super().__init__(type, name)
        object.__setattr__(self, "step", step)


def find_escaped(outputs: Sequence[Variable]) -> MissingInputError | None:
    """Return the error of a graph that depends on an escaped variable, or None."""
    for leaf in leaves(outputs):
        if isinstance(leaf, StepVariable) and not leaf.step.open:
            return escaped_error(leaf, outputs)
    return None


def escaped_error(escaped: StepVariable, outputs: Sequence[Variable]) -> MissingInputError:
    """Return the error for an escaped variable on which ``outputs`` depend."""
    from scanviz.engine.graph.refusals import source_text  # of an error

    step = escaped.step
    leaked, reader = _left(escaped, outputs)
    where = (reader.provenance.source if reader is not None else None) or user_line()
    built = leaked.owner.provenance.source if leaked.owner is not None else step.where
    named = leaked.name and leaked.name.isidentifier()
    returned = f"return …, {leaked.name} in the step" if named else "return it from the step too"
    text = source_text(built)
    return MissingInputError(
        f"`{describe(leaked)}` belongs to the step of loop `{step.loop}`, and is used outside of that loop",
        where=where,
        text=source_text(where),
        expected="a result that the loop returns, with one row a step",
        found=f"a variable of the step, which has another value at each, made at {built}"
        + (f":\n              {text}" if text else ""),
        fix=f"{returned}, with None for it in outputs_info;\n"
        f"the loop gives it as another output, and [-1] is its value after the last step",
    )


def _left(escaped: StepVariable, outputs: Sequence[Variable]) -> tuple[Variable, Apply | None]:
    """Return the step's variable that the outside reads, and the node that reads it, or None for an output."""
    loop = escaped.step.loop
    inside: set[Variable] = {escaped}
    for node in toposort(outputs):
        read = next((variable for variable in node.inputs if variable in inside), None)
        if read is None:
            continue
        if loop not in node.provenance.scans:
            return read, node
        inside.update(node.outputs)
    return next((output for output in outputs if output in inside), escaped), None


_EARLIER = {"prev", "previous", "last", "old"}


class StepInputs(Struct, frozen=True):
    """The variables that ``fn`` is called on.

    Attributes
    ----------
    step : OpenStep
        The step of the variables.
    slices : list of dict
        For each sequence: tap → variable.
    reads : list of dict
        For each item of ``outputs_info``: tap → variable (empty for results that are not fed back).
    constants : list of Variable
        The non-sequences themselves: what the step makes of them can be differentiated with respect to them, through work done
        before the loop too.  Loop inputs take their places when the step is built.
    constant_names : list of (str or None)
        Name of each: its own, else that of the parameter of ``fn`` that receives it.
    sequence_names, output_names : list of str
        Names of sequences, and of outputs.
    """

    step: OpenStep
    slices: list[dict[int, Variable]]
    reads: list[dict[int, Variable]]
    constants: list[Variable]
    constant_names: list[str | None]
    sequence_names: list[str]
    output_names: list[str]

    @property
    def rows(self) -> list[Variable]:
        """The arguments that change from step to step, in order: taps of sequences, then of outputs."""
        return [tap for taps in (*self.slices, *self.reads) for tap in taps.values()]

    @property
    def arguments(self) -> list[Variable]:
        """All arguments in the order in which ``fn`` takes them."""
        return [*self.rows, *self.constants]

    @property
    def origins(self) -> list[tuple[str, str]]:
        """The name of each argument, with the argument of scan that it comes from."""
        given = [(tap.name, tap, "sequences") for taps in self.slices for tap in taps.values()]
        for position, taps in enumerate(self.reads):
            given += [(tap.name, tap, f"outputs_info[{position}]") for tap in taps.values()]
        given += [
            (name, constant, "non_sequences")
            for name, constant in zip(self.constant_names, self.constants, strict=True)
        ]
        return [(name or str(variable.type), origin) for name, variable, origin in given]


class BuiltStep(Struct, frozen=True):
    """A step as a graph: its inputs, its return value, and the first node id of its own nodes."""

    inputs: StepInputs
    returned: StepReturn
    born_after: int
    where: SourceLine | None


def make_inputs(
    fn: Callable[..., Any],
    sequences: Sequence[SequenceArgument],
    outputs: Sequence[OutputArgument],
    non_sequences: Sequence[Variable],
) -> StepInputs:
    """Return the arguments of ``fn``: fresh variables for rows."""
    parameters = [parameter.name for parameter in positional_parameters(fn)]
    taken, step = 0, OpenStep()
    slices: list[dict[int, Variable]] = []
    reads: list[dict[int, Variable]] = []
    sequence_names, output_names = [], []
    for sequence in sequences:
        row = tensor_type(sequence.variable)
        name = _base_name(
            sequence.variable.name,
            parameters[taken : taken + len(sequence.taps)],
            f"sequence {sequence.position}",
        )
        taken += len(sequence.taps)
        slices.append(
            {
                tap: StepVariable(row.with_shape(row.shape[1:]), step_name(name, tap), step)
                for tap in sequence.taps
            }
        )
        sequence_names.append(name)
    for output in outputs:
        initial = output.initial
        name = _state_name(initial, parameters[taken : taken + len(output.taps)], output.position)
        taken += len(output.taps)
        reads.append({tap: StepVariable(row_type(output), step_name(name, tap), step) for tap in output.taps})
        output_names.append(name)
    fallbacks = [*parameters[taken:], *(None for _ in non_sequences)]
    constant_names = [
        sequence.name or fallback for sequence, fallback in zip(non_sequences, fallbacks, strict=False)
    ]
    return StepInputs(step, slices, reads, list(non_sequences), constant_names, sequence_names, output_names)


def _without_ending(name: str) -> str:
    """Strip the time suffix of a parameter: `h` from ``h_t``, ``h_tm1`` and ``h_prev``."""
    stem, _, ending = name.rpartition("_")
    taps = ending[2:] if ending[:2] in ("tm", "tp") else ending[1:]
    of_a_step = ending[:1] == "t" and (not taps or taps.isdecimal())
    return stem if stem and (of_a_step or ending in _EARLIER) else name


def _base_name(own: str | None, parameters: Sequence[str], fallback: str) -> str:
    if own:
        return own
    return _without_ending(parameters[0]) if parameters else fallback


def _state_name(initial: Variable | None, parameters: Sequence[str], position: int) -> str:
    """Return a state's name: that of its parameter without the time suffix."""
    if parameters:
        return _without_ending(parameters[0])
    return (initial.name if initial is not None else None) or f"output {position}"


def call_step(fn: Callable[..., Any], inputs: StepInputs, scan_name: str) -> BuiltStep:
    """Call ``fn`` once and return the step it built.

    Raises
    ------
    ScanvizTypeError
        If ``fn`` does not take the arguments that scan passes.
    ScanvizValueError
        If what it returned has none of the accepted forms.
    """
    where = line_of(fn)
    arguments = inputs.arguments
    check_signature(fn, inputs.origins, where)
    born_after = next_node_id()
    inputs.step.loop, inputs.step.where = scan_name, where
    try:
        with building_scan(scan_name), frames_that_build() as frames:
            returned = parse_return(fn(*arguments), where)
            name_by_locals(frames)
            frames.clear()
    finally:
        inputs.step.open = False
    return BuiltStep(inputs, returned, born_after, where)


def line_of(fn: Callable[..., Any]) -> SourceLine | None:
    """Return the line that defines a step function, or the line that calls scan if it has none."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    if code is None:
        return user_line()
    return intern_line(code.co_filename, code.co_firstlineno, code.co_name)


def row_type(output: OutputArgument) -> Type:
    """Return the type of one row of a state, from its initial value."""
    assert output.initial is not None
    kind = output.initial.type
    if output.taps == (-1,) or not isinstance(kind, TensorType):
        return kind
    return kind.with_shape(kind.shape[1:])


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional_parameters(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the positional parameters of a function; none if Python does not know them."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter for parameter in parameters if parameter.kind in _POSITIONAL]


def check_signature(
    fn: Callable[..., Any], passed: Sequence[tuple[str, str]], where: SourceLine | None
) -> None:
    """Check that a step's function takes as many arguments as scan passes.

    Parameters
    ----------
    fn : callable
        The step.
    passed : sequence of (str, str)
        Name of each argument, and the argument of scan it comes from: ``("x[t]", "sequences")``.
    where : SourceLine or None
        The line that defines ``fn``.

    Raises
    ------
    ScanvizTypeError
        That lists parameters beside arguments, and names the argument of scan that would add or remove one.
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*passed)
    except TypeError as error:
        called = getattr(fn, "__name__", "fn")
        names = [parameter.name for parameter in positional_parameters(fn)]
        raise ScanvizTypeError(
            f"the step function `{called}` takes {_count(names)}, scan passes {_count(passed)} ({error})",
            where=where,
            expected=f"parameters for {', '.join(f'{name} ({origin})' for name, origin in passed) or 'nothing'}",
            found=f"{'' if called.startswith('<') else called}{signature}" + _beside(names, passed),
            fix=_remedy(names, passed),
        ) from None


def _count(listed: Sequence[object]) -> str:
    return f"{len(listed)} argument{'' if len(listed) == 1 else 's'}"


def _beside(names: Sequence[str], passed: Sequence[tuple[str, str]]) -> str:
    """Return the pairs of parameters and arguments, in order."""
    pairs = [f"{name} = {given}" for name, (given, _) in zip(names, passed, strict=False)]
    return f", called with {', '.join(pairs)}" if pairs else ""


def _remedy(names: Sequence[str], passed: Sequence[tuple[str, str]]) -> str:
    order = "the order is: sequences' taps, outputs' taps, non_sequences, each in the order given"
    if len(names) <= len(passed):
        more = ", ".join(f"{name} (from {origin})" for name, origin in passed[len(names) :])
        extra = f"a parameter more for {more}" if more else "a function that takes them by position"
        if any(origin.startswith("outputs_info") for _, origin in passed[len(names) :]):
            extra += "\nor None in outputs_info for a result that the step does not read back"
        return f"{extra}\n{order}"
    missing = ", ".join(f"`{name}`" for name in names[len(passed) :])
    lines = []
    if not any(origin.startswith("outputs_info") for _, origin in passed):
        lines.append(
            f"outputs_info=[…] in scan if {missing} is what the step before returned: its first value"
        )
    else:
        lines.append(f"outputs_info with a first value for each of {missing} that the step before returned")
    lines.append(f"sequences=[…, …] in scan if {missing} is a row of one more sequence")
    lines.append(f"non_sequences=[…] in scan if {missing} is the same at every step")
    return "\n".join([*lines, order])
