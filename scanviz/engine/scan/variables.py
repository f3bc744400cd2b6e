"""Loop variables: the inputs, states and results of a loop as typed descriptions that hold inner variables.

The documents number a Scan's inputs and outputs in flat lists; here every loop variable is one object that holds the
*variables* of the step it belongs to, never positions.  The flat lists are derived in
:mod:`scanviz.engine.scan.layout`.

=============== =========================== ============================ ===================================
kind            outer input                 variables of the step        outer output
=============== =========================== ============================ ===================================
sequence        all its rows, cut for tap   one slice a step             none
non-sequence    the value                   the value                    none
sitsot          one initial row             row t-1 in, row t out        rows 0 … n-1
mitsot          rows for the deepest tap    rows t+tap in, row t out     rows 0 … n-1
mitmot          the whole buffer            rows t+tap in and out        the whole buffer
nitsot          none                        row t out                    rows 0 … n-1
carry           the first value             value in, value out          the last value
=============== =========================== ============================ ===================================

A ``State`` is sitsot, mitsot or mitmot by its taps alone.  The row of tap k at step t lies at ``offset + t + k`` of the
state's buffer, with ``offset`` the depth of its deepest tap.

:func:`part_of` takes a loop variable apart for pickles: plain data, and the results of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from scanviz.engine.graph.declaration import GraphPart
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.shared import SharedVariable

StateKind = Literal["sitsot", "mitsot", "mitmot"]
VariableKind = Literal["sequence", "mitmot", "mitsot", "sitsot", "nitsot", "carry", "non_sequence"]


class Keep(NamedTuple):
    """Number of kept rows of a result: the last ``last``, or all for None."""

    last: int | None = None

    def rows(self, steps: int) -> int:
        """Return the number of rows kept of a loop that did ``steps`` steps."""
        return steps if self.last is None else min(self.last, steps)


ALL = Keep()


class Sequence(Struct, frozen=True, eq=False):
    """A sequence the loop runs over: ``slice`` is its row at this step.

    The outer input is already cut so that row t belongs to step t; ``tap`` is kept for people.
    """

    name: str
    slice: Variable
    tap: int = 0
    argument: int = 0  # which of the user's sequences this tap belongs to


class NonSequence(Struct, frozen=True, eq=False):
    """A value that is the same at every step."""

    name: str
    variable: Variable
    captured: bool = False  # found in the step by scan rather than given by the user


class State(Struct, frozen=True, eq=False):
    """A recurrent result: rows read and rows written, by tap relative to the step.

    Attributes
    ----------
    reads, writes : mapping of int to Variable
        Tap → variable of the step, in the order of the step's arguments.
    keep : Keep
        Rows of the result that are kept.
    shared : SharedVariable or None
        The shared variable whose value it is, for state that the step updates.
    """

    name: str
    reads: Mapping[int, Variable]
    writes: Mapping[int, Variable]
    keep: Keep = ALL
    shared: SharedVariable | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "reads", MappingProxyType(dict(self.reads)))
        force_setattr(self, "writes", MappingProxyType(dict(self.writes)))

    @property
    def kind(self) -> StateKind:
        """The kind of the loop variable, by the documents' names."""
        reads = tuple(self.reads)
        if tuple(self.writes) != (0,) or (reads and max(reads) >= 0):
            return "mitmot"
        return "sitsot" if reads == (-1,) else "mitsot"

    @property
    def offset(self) -> int:
        """Rows of the buffer before the row of step 0: the depth of the deepest tap."""
        return max(0, -min((*self.reads, *self.writes)))


class StepOutput(Struct, frozen=True, eq=False):
    """A result that is not fed back (nitsot)."""

    name: str
    value: Variable
    keep: Keep = ALL


class Carry(Struct, frozen=True, eq=False):
    """A value passed from step to step without a gradient, such as a random state; the result is its last value."""

    name: str
    read: Variable
    write: Variable
    shared: SharedVariable | None = field(default=None)


class Until(Struct, frozen=True, eq=False):
    """The condition that ends the loop after the step at which it is true."""

    condition: Variable


LoopVariable = Sequence | NonSequence | State | StepOutput | Carry


def kind_of(variable: LoopVariable) -> VariableKind:
    """Return the documents' name of a loop variable's kind.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> kind_of(Sequence("x", T.scalar()))
    'sequence'
    """
    match variable:
        case Sequence():
            return "sequence"
        case NonSequence():
            return "non_sequence"
        case State():
            return variable.kind
        case StepOutput():
            return "nitsot"
        case Carry():
            return "carry"


def inner_inputs(variable: LoopVariable) -> tuple[Variable, ...]:
    """Return the inner inputs of a loop variable."""
    match variable:
        case Sequence():
            return (variable.slice,)
        case NonSequence():
            return (variable.variable,)
        case State():
            return tuple(variable.reads.values())
        case StepOutput():
            return ()
        case Carry():
            return (variable.read,)


def inner_outputs(variable: LoopVariable) -> tuple[Variable, ...]:
    """Return the variables of the step whose values a loop variable takes."""
    match variable:
        case State():
            return tuple(variable.writes.values())
        case StepOutput():
            return (variable.value,)
        case Carry():
            return (variable.write,)
        case _:
            return ()


def over(
    variable: LoopVariable, read: Callable[[Variable], Variable], written: Callable[[Variable], Variable]
) -> LoopVariable:
    """Replace the inner inputs and outputs of a loop variable."""
    match variable:
        case Sequence():
            return Sequence(variable.name, read(variable.slice), variable.tap, variable.argument)
        case NonSequence():
            return NonSequence(variable.name, read(variable.variable), variable.captured)
        case State():
            reads = {tap: read(inner) for tap, inner in variable.reads.items()}
            writes = {tap: written(inner) for tap, inner in variable.writes.items()}
            return State(variable.name, reads, writes, variable.keep, variable.shared)
        case StepOutput():
            return StepOutput(variable.name, written(variable.value), variable.keep)
        case Carry():
            return Carry(variable.name, read(variable.read), written(variable.write), variable.shared)


def with_inner_outputs(variable: LoopVariable, given: SequenceOf[Variable]) -> LoopVariable:
    """Replace the inner outputs of a loop variable; return it unchanged if they are the same."""
    if tuple(given) == inner_outputs(variable):
        return variable
    fresh = iter(given)
    return over(variable, lambda inner: inner, lambda inner: next(fresh))


def giving(variables: SequenceOf[LoopVariable], results: Iterator[Variable]) -> list[LoopVariable]:
    """Replace the inner outputs of loop variables, taken from a flat list of results."""
    return [with_inner_outputs(role, [next(results) for _ in inner_outputs(role)]) for role in variables]


def with_keep(variable: LoopVariable, keep: Keep) -> LoopVariable:
    """Return a loop variable that keeps only the last ``keep`` rows of its result."""
    if isinstance(variable, State | StepOutput) and variable.keep != keep:
        return replace(variable, keep=keep)
    return variable


RESULTS = (State, StepOutput, Carry)  # kinds that give something to the graph around the loop


def has_outer_input(variable: LoopVariable) -> bool:
    """Return whether a loop variable has an outer input."""
    return not isinstance(variable, StepOutput)


def has_outer_output(variable: LoopVariable) -> bool:
    """Return whether a loop variable has an outer output."""
    return isinstance(variable, RESULTS)


def taps_of(variable: LoopVariable) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the taps that a loop variable reads and writes; non-sequences and outputs have none."""
    match variable:
        case State():
            return tuple(variable.reads), tuple(variable.writes)
        case Sequence():
            return (variable.tap,), ()
        case _:
            return (), ()


def step_name(name: str, tap: int) -> str:
    """Return the name of a row, such as ``h[t-1]``.

    Examples
    --------
    >>> step_name("h", 0), step_name("h", -3), step_name("x[t]", 0), step_name("∂h[t-1]", 0)
    ('h[t]', 'h[t-3]', 'x[t][t]', '∂h[t-1]')
    """
    if tap == 0:
        return name if name.startswith("∂") and name.endswith("]") else f"{name}[t]"
    return f"{name}[t{tap:+d}]"


# the one field that holds a result of the step
_TAKEN: dict[type[Any], str] = {StepOutput: "value", Carry: "write", Until: "condition"}


def part_of(role: LoopVariable | Until) -> GraphPart:
    """Return a loop variable or stop condition as plain data, and the results of the step that it takes."""
    fields = {name: getattr(role, name) for name in role.__struct_fields__}
    if isinstance(role, State):
        fields |= {"reads": dict(role.reads), "writes": tuple(role.writes)}
        results = inner_outputs(role)
    else:
        taken = _TAKEN.get(type(role))
        results = () if taken is None else (fields.pop(taken),)
    return GraphPart(role, _restored, (type(role), fields), results)


def _restored(about: tuple[type[Any], dict[str, Any]], results: SequenceOf[Variable]) -> LoopVariable | Until:
    """Return a loop variable or stop condition of plain data and results of a step."""
    kind, fields = about
    if kind is State:
        fields = {**fields, "writes": dict(zip(fields["writes"], results, strict=True))}
    elif results:
        fields = {**fields, _TAKEN[kind]: results[0]}
    restored: LoopVariable | Until = kind(**fields)
    return restored
