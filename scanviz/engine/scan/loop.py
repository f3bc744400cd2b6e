"""The Scan op: a loop as one node of a graph.

It holds typed loop variables and the optional stop condition, nothing else: no flat lists, no positions, no memory
policy but how many rows of a result are kept.  Its Apply reads ``n_steps`` and then the outer input of each loop variable
that has one, and gives the outer output of each that has one, both in the order of ``variables``.  Two Scans are
equal if their steps compute the same; names do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import InternalError, ScanvizValueError
from scanviz.engine.graph.declaration import Declaration, Held, Op
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.flatten import reduce_op
from scanviz.engine.graph.nodes import Apply, Array, Variable, describe, tensor_type
from scanviz.engine.graph.types import TensorType, Type, common_shape, fits
from scanviz.engine.ops.evaluate import evaluate
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.scan.parts import part_of
from scanviz.engine.scan.properties import ScanPropertiesMixin
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


class GradientOf(NamedTuple):
    """The loop that a backward loop belongs to: its name, and the node id of its node."""

    name: str
    node_id: int


class ScanSettings(NamedTuple):
    """What a loop was asked for beside its computation.

    Attributes
    ----------
    name : str
        The user's name, or None for one made of the source line.
    truncate_gradient : int
        Steps back in time that a gradient goes, -1 for all.
    mode : str or None
        Name of the tier that runs this loop, None for the function's.
    allow_gc : bool
        True frees the loop's buffers after each run.
    profile : bool
        Whether to record this loop.
    strict : bool
        Whether captured shared variables were refused.
    recompute : bool
        Whether a gradient runs this loop again where it needs its values, instead of keeping them.
    gradient_of : GradientOf or None
        The loop that this one is the back-propagation of.
    steps_read : bool
        Whether a rewrite has left out the steps after the last row that is read.
    number : int
        Tells it from the other loops of its name in one function, 0 where there is none.
    """

    name: str
    truncate_gradient: int = -1
    mode: str | None = None
    allow_gc: bool = True
    profile: bool = False
    strict: bool = False
    recompute: bool = False
    gradient_of: GradientOf | None = None
    steps_read: bool = False
    number: int = 0

    @property
    def label(self) -> str:
        """What the loop is called: its name, with its number where it has one."""
        return f"{self.name}#{self.number}" if self.number else self.name

    def renamed(self, name: str) -> ScanSettings:
        """Return the same settings of a loop of another name."""
        return self._replace(name=name, number=0)


class Scan(Op, ScanPropertiesMixin):
    """A loop.

    Attributes
    ----------
    variables : tuple of loop variables
        In order: sequences, states, carries, step outputs and non-sequences as built; any order is allowed.
    until : Until or None
        The stop condition.
    settings : ScanSettings
        Name and run-time wishes.
    """

    __slots__ = ("derived", "settings", "until", "variables")
    # What was found out about the loop, kept by those who asked.  Threads meet here: a value is put in whole and never
    # changed afterwards, or belongs to the thread that it names.
    derived: dict[str, Any]
    variables: tuple[LoopVariable, ...]
    until: Until | None
    settings: ScanSettings

    def __init__(
        self, variables: SequenceOf[LoopVariable], until: Until | None, settings: ScanSettings
    ) -> None:
        kinds = tuple(kind_of(each) for each in variables)
        super().__init__(SCAN, (kinds, until is not None, settings.truncate_gradient))
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "until", until)
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "derived", {})

    @property
    def scan_name(self) -> str:
        """Name of the loop, with its number where a function has several of that name."""
        return self.settings.label

    @property
    def inner_inputs(self) -> list[Variable]:
        """Variables of the step that the loop gives values to, in the order of the loop variables."""
        return [each for variable in self.variables for each in inner_inputs(variable)]

    @property
    def inner_outputs(self) -> list[Variable]:
        """Variables of the step whose values the loop takes, in the order of the loop variables, ``until`` last."""
        results = [each for variable in self.variables for each in inner_outputs(variable)]
        return [*results, self.until.condition] if self.until else results

    def subgraphs(self) -> SequenceOf[tuple[SequenceOf[Variable], SequenceOf[Variable]]]:
        """Return the step: its inputs and its outputs."""
        return ((self.inner_inputs, self.inner_outputs),)

    def of_kind(self, *kinds: str) -> list[LoopVariable]:
        """Return the loop variables of given kinds, in order."""
        return [each for each in self.variables if kind_of(each) in kinds]

    def with_variables(self, variables: SequenceOf[LoopVariable], until: Until | None) -> Scan:
        """Return the same loop over other loop variables."""
        return Scan(variables, until, self.settings)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Scan) or self.parameters != other.parameters:
            return False
        mine, theirs = (
            [_shape_of_variable(v) for v in self.variables],
            [_shape_of_variable(v) for v in other.variables],
        )
        if mine != theirs or _compared(self.settings) != _compared(other.settings):
            return False
        pairs = dict(zip(self.inner_inputs, other.inner_inputs, strict=True))
        return structurally_equal(self.inner_outputs, other.inner_outputs, pairs)

    __hash__ = Op.__hash__

    def __str__(self) -> str:
        return f"scan{{{self.scan_name}}}"

    def held(self) -> Held:
        """Return the loop variables and the stop condition, which loops share."""
        parts = [part_of(each) for each in (*self.variables, *([self.until] if self.until else []))]
        forward = self.settings.gradient_of
        return Held(_restore, self.settings, parts, () if forward is None else (forward.node_id,))

    def __reduce__(self) -> tuple[object, ...]:
        return reduce_op(self)


def _compared(settings: ScanSettings) -> ScanSettings:
    """Return the settings less those that do not change what a loop computes or how."""
    return settings._replace(name="", number=0, profile=False, gradient_of=None, steps_read=False)


def _restore(settings: ScanSettings, parts: SequenceOf[Any], node_ids: SequenceOf[int]) -> Scan:
    if settings.gradient_of is not None:
        settings = settings._replace(gradient_of=settings.gradient_of._replace(node_id=node_ids[0]))
    until = parts[-1] if parts and isinstance(parts[-1], Until) else None
    return Scan(parts if until is None else parts[:-1], until, settings)


def _shape_of_variable(variable: LoopVariable) -> tuple[object, ...]:
    """Return what makes two loop variables alike beside the step: kind, taps, rows kept and types."""
    types = tuple(each.type for each in inner_inputs(variable))
    match variable:
        case State():
            return (variable.kind, tuple(variable.reads), tuple(variable.writes), variable.keep, types)
        case StepOutput():
            return ("nitsot", variable.keep)
        case _:
            return (kind_of(variable), types)


class ScanView:
    """A Scan bound to its Apply: loop variables with their outer inputs and outputs.

    Parameters
    ----------
    node : Apply
        An Apply whose op is a Scan.
    """

    __slots__ = ("_inputs", "_outputs", "fixed", "node", "op", "sizes")
    fixed: dict[Variable, Variable]  # variable of the step → what it is around the loop, for non-sequences
    sizes: dict[Variable, Any]  # sizes of the step as sizes around the loop, so far as they were asked for

    def __init__(self, node: Apply) -> None:
        if not isinstance(node.op, Scan):
            raise InternalError(f"{node.op} is not a Scan")
        self.node, self.op = node, node.op
        readers = [each for each in self.op.variables if has_outer_input(each)]
        result_variables = [each for each in self.op.variables if has_outer_output(each)]
        self._inputs: Mapping[LoopVariable, Variable] = dict(zip(readers, node.inputs[1:], strict=True))
        self._outputs: Mapping[LoopVariable, Variable] = dict(
            zip(result_variables, node.outputs, strict=True)
        )
        self.fixed = {
            each.variable: given for each, given in self._inputs.items() if isinstance(each, NonSequence)
        }
        self.sizes = {}

    @property
    def n_steps(self) -> Variable:
        """The number of steps, with ``until`` the largest."""
        return self.node.inputs[0]

    def outer_input(self, variable: LoopVariable) -> Variable | None:
        """Return the variable around the loop that a loop variable reads, None for a step output."""
        return self._inputs.get(variable)

    def outer_output(self, variable: LoopVariable) -> Variable | None:
        """Return the result of a loop variable, None for sequences and non-sequences."""
        return self._outputs.get(variable)

    def loop_variable(self, outer: Variable) -> LoopVariable:
        """Return the loop variable that an outer output belongs to."""
        for variable, output in self._outputs.items():
            if output is outer:
                return variable
        raise InternalError(f"`{describe(outer)}` is no result of {self.op}")


def _infer(op: Op, inputs: SequenceOf[Variable]) -> SequenceOf[Type]:
    assert isinstance(op, Scan)
    readers = [each for each in op.variables if has_outer_input(each)]
    if len(inputs) != len(readers) + 1:
        raise InternalError(f"{op} takes {len(readers) + 1} inputs", found=len(inputs))
    outer = dict(zip(readers, inputs[1:], strict=True))
    for variable, given in outer.items():
        wanted = _outer_type(variable)
        if not fits(given.type, wanted):
            raise InternalError(
                f"{op}: `{describe(given)}` does not fit {kind_of(variable)} `{variable.name}`",
                expected=wanted,
                found=given.type,
            )
    steps = constant_integer(inputs[0]) if op.until is None else None
    for each in op.variables:
        if isinstance(each, State):
            _check_rows(op, each)
    return [_result_type(each, outer.get(each), steps) for each in op.variables if has_outer_output(each)]


def _check_rows(op: Op, state: State) -> None:
    """Raise if the step reads and writes rows of a state that cannot be rows of one array."""
    first, *rows = [tensor_type(each) for each in (*state.reads.values(), *state.writes.values())]
    for row in rows:
        if row.dtype != first.dtype or row.ndim != first.ndim:
            raise InternalError(f"{op}: rows of state `{state.name}` differ", expected=first, found=row)


def _outer_type(variable: LoopVariable) -> Type:
    """Return the type that the outer input of a loop variable must have."""
    match variable:
        case Sequence():
            row = tensor_type(variable.slice)
            return row.with_shape((None, *row.shape))
        case NonSequence():
            return variable.variable.type
        case State():
            row = row_type(variable)
            return row if variable.kind == "sitsot" else row.with_shape((None, *row.shape))
        case Carry():
            return variable.read.type
        case StepOutput():
            raise InternalError("a step output has no outer input")


def row_type(state: State) -> TensorType:
    """Return what is known of the type of one row of a state."""
    rows = [tensor_type(each) for each in (*state.reads.values(), *state.writes.values())]
    shape = rows[0].shape
    for row in rows[1:]:
        shape = common_shape(shape, row.shape)
    return rows[0].with_shape(shape)


def _result_type(variable: LoopVariable, outer: Variable | None, steps: int | None) -> Type:
    match variable:
        case State():
            row = row_type(variable)
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


def _perform(op: Op, values: SequenceOf[Array]) -> SequenceOf[Array]:
    """Run the loop in the plainest way there is: each step's graph evaluated, rows in Python lists.

    Far too slow for use; it is the independent meaning that the tiers are tested against.
    """
    assert isinstance(op, Scan)
    readers = [each for each in op.variables if has_outer_input(each)]
    outer = dict(zip(readers, values[1:], strict=True))
    rows: dict[LoopVariable, list[Array]] = {}
    for variable in op.variables:
        if isinstance(variable, State):
            given = outer[variable]
            whole = [given] if variable.kind == "sitsot" else list(given)
            rows[variable] = whole if variable.kind == "mitmot" else whole[: variable.offset]
        elif isinstance(variable, StepOutput):
            rows[variable] = []
        elif isinstance(variable, Carry):
            rows[variable] = [outer[variable]]
    done = _steps(op, int(values[0]), outer, rows)
    return [_result(each, rows[each], done) for each in op.variables if has_outer_output(each)]


def _steps(
    op: Scan, n_steps: int, outer: Mapping[LoopVariable, Array], rows: dict[LoopVariable, list[Array]]
) -> int:
    if n_steps < 0:
        raise ScanvizValueError(f"loop `{op.scan_name}` cannot do {n_steps} steps", fix="go_backwards=True")
    for t in range(n_steps):
        givens: dict[Variable, Array] = {}
        for variable in op.variables:
            match variable:
                case Sequence():
                    givens[variable.slice] = outer[variable][t]
                case NonSequence():
                    givens[variable.variable] = outer[variable]
                case State():
                    givens.update(
                        {
                            read: rows[variable][variable.offset + t + tap]
                            for tap, read in variable.reads.items()
                        }
                    )
                case Carry():
                    givens[variable.read] = rows[variable][-1]
                case StepOutput():
                    pass
        results = iter(evaluate(op.inner_outputs, givens))
        for variable in op.variables:
            match variable:
                case State():
                    for tap in variable.writes:
                        _write(rows[variable], variable.offset + t + tap, np.array(next(results)))
                case StepOutput() | Carry():
                    rows[variable].append(np.array(next(results)))
                case _:
                    pass
        if op.until is not None and next(results):
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


SCAN = Declaration(
    "scan",
    "loop",
    doc="A loop: its step applied once for each row of its sequences, with state carried from step to step.",
    infer=_infer,
    perform=_perform,
    facts=Facts(selects=True),
)


def scan_views(nodes: SequenceOf[Apply]) -> list[ScanView]:
    """Return the loops among nodes."""
    return [ScanView(node) for node in nodes if isinstance(node.op, Scan)]


def rename(op: Scan, name: str) -> Scan:
    """Return the same loop under another name."""
    return Scan(op.variables, op.until, op.settings.renamed(name))


__all__ = ["SCAN", "GradientOf", "Scan", "ScanSettings", "ScanView", "rename", "row_type", "scan_views"]
