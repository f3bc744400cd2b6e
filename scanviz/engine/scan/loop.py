"""The Scan op: a loop as one node of a graph.

It holds typed loop variables and the optional stop condition, nothing else: no flat lists, no positions, no memory
policy but how many rows of a result are kept.  Its Apply reads ``n_steps`` and then the outer input of each loop variable
that has one, and gives the outer output of each that has one, both in the order of ``variables``.  Two Scans are
equal if their steps compute the same; names do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, TypeVar

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.declaration import Declaration, Held, Op
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Apply, Variable, build, describe
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.inference import result_types
from scanviz.engine.scan.properties import ScanPropertiesMixin
from scanviz.engine.scan.settings import ScanSettings
from scanviz.engine.scan.variables import (
    RESULTS,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    Until,
    inner_inputs,
    inner_outputs,
    kind_of,
    part_of,
)
from scanviz.engine.sizes.dims import Dim
from scanviz.engine.sizes.polynomial import Polynomial

T = TypeVar("T")
Kind = TypeVar("Kind", bound=LoopVariable)


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
    derived: dict[Any, Any]
    variables: tuple[LoopVariable, ...]
    until: Until | None
    settings: ScanSettings

    def __init__(
        self, variables: SequenceOf[LoopVariable], until: Until | None, settings: ScanSettings
    ) -> None:
        kinds = tuple(kind_of(variable) for variable in variables)
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
        """Variables of the step that the loop binds, in the order of the loop variables."""
        return list(self.once(_inner_inputs))

    @property
    def inner_outputs(self) -> list[Variable]:
        """Variables of the step whose values the loop takes, in the order of the loop variables, ``until`` last."""
        return list(self.once(_inner_outputs))

    @property
    def readers(self) -> list[LoopVariable]:
        """Loop variables that read something around the loop, in the order of its inputs after the number of steps."""
        return list(self.once(_readers))

    @property
    def result_variables(self) -> list[LoopVariable]:
        """Loop variables that have a result, in the order of the loop's outputs."""
        return list(self.once(_result_variables))

    @property
    def counters(self) -> list[LoopVariable]:
        """The loop variables whose results have one row for each step done; a mitmot's has all of its buffer's."""
        return self.of_kind("nitsot", "sitsot", "mitsot")

    def once(self, find: Callable[[Scan], T]) -> T:
        """Return a derived property of this loop, computed once."""
        found: T = self.derived.get(find, _MISSING)  # what was kept under a function is what it gave
        if found is _MISSING:
            found = self.derived[find] = find(self)
        return found

    def subgraphs(self) -> SequenceOf[tuple[SequenceOf[Variable], SequenceOf[Variable]]]:
        """Return the step: its inputs and its outputs."""
        return ((self.inner_inputs, self.inner_outputs),)

    def nodes_inside(self) -> SequenceOf[Apply]:
        """Return the nodes of the step."""
        return self.once(nodes_of)

    def of_kind(self, *kinds: str) -> list[LoopVariable]:
        """Return the loop variables of given kinds, in order."""
        return [variable for variable in self.variables if kind_of(variable) in kinds]

    def of_type(self, kind: type[Kind]) -> list[Kind]:
        """Return the loop variables of a class."""
        found = self.derived.get(kind)
        if found is None:
            found = self.derived[kind] = tuple([one for one in self.variables if isinstance(one, kind)])
        return list(found)

    def with_variables(self, variables: SequenceOf[LoopVariable], until: Until | None) -> Scan:
        """Return the same loop with other loop variables."""
        return Scan(variables, until, self.settings)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Scan) or self.parameters != other.parameters:
            return False
        mine, theirs = ([_shape_of_variable(v) for v in op.variables] for op in (self, other))
        if mine != theirs or self.settings.compared() != other.settings.compared():
            return False
        pairs = dict(zip(self.inner_inputs, other.inner_inputs, strict=True))
        return structurally_equal(self.inner_outputs, other.inner_outputs, pairs)

    __hash__ = Op.__hash__

    def __str__(self) -> str:
        return f"scan{{{self.scan_name}}}"

    def held(self) -> Held:
        """Return the loop variables and the stop condition, which loops share."""
        parts = [part_of(part) for part in (*self.variables, *([self.until] if self.until else []))]
        return Held(_restore, self.settings, parts, self.settings.referred())

    def __reduce__(self) -> tuple[object, ...]:
        from scanviz.engine.graph.flatten import reduce_op  # for pickles alone

        return reduce_op(self)


_MISSING: Any = object()


def _inner_inputs(op: Scan) -> tuple[Variable, ...]:
    return tuple([inner for variable in op.variables for inner in inner_inputs(variable)])


def _inner_outputs(op: Scan) -> tuple[Variable, ...]:
    results = [output for variable in op.variables for output in inner_outputs(variable)]
    return tuple(results if op.until is None else [*results, op.until.condition])


def _readers(op: Scan) -> tuple[LoopVariable, ...]:
    return tuple([variable for variable in op.variables if not isinstance(variable, StepOutput)])


def _result_variables(op: Scan) -> tuple[LoopVariable, ...]:
    return tuple([variable for variable in op.variables if isinstance(variable, RESULTS)])


def _bound(op: Scan) -> tuple[tuple[LoopVariable, ...], tuple[LoopVariable, ...], tuple[NonSequence, ...]]:
    """Return the variables that a view binds: readers, result variables and non-sequences."""
    return op.once(_readers), op.once(_result_variables), tuple(op.of_type(NonSequence))


def _restore(settings: ScanSettings, parts: SequenceOf[Any], node_ids: SequenceOf[int]) -> Scan:
    until = parts[-1] if parts and isinstance(parts[-1], Until) else None
    return Scan(parts if until is None else parts[:-1], until, settings.referring_to(node_ids))


def _shape_of_variable(variable: LoopVariable) -> tuple[object, ...]:
    """Return a comparison key of a loop variable: kind, taps, rows kept and types."""
    types = tuple(inner.type for inner in inner_inputs(variable))
    match variable:
        case State():
            return (variable.kind, tuple(variable.reads), tuple(variable.writes), variable.keep, types)
        case StepOutput():
            return ("nitsot", variable.keep)
        case _:
            return (kind_of(variable), types)


_OF_STEP: list[Callable[[Scan], Any]] = []


def of_step(find: Callable[[Scan], T]) -> Callable[[Scan], T]:
    """Mark a derived property of a loop as a property of its step alone."""
    _OF_STEP.append(find)
    return find


def knows_step_of(op: Scan, other: Scan) -> None:
    """Copy derived properties of the step from another loop with the same step results."""
    if op.once(_inner_outputs) == other.once(_inner_outputs):
        for find in _OF_STEP:
            if find in other.derived:
                op.derived[find] = other.derived[find]


@of_step
def nodes_of(op: Scan) -> tuple[Apply, ...]:
    """Return the nodes of a loop's step in order of computation; ask ``op.once(nodes_of)``."""
    return tuple(toposort(op.inner_outputs))


def loop_of(node: Apply) -> Scan:
    """Return the loop that a node is."""
    if not isinstance(node.op, Scan):
        raise InternalError(f"{node.op} is not a Scan")
    return node.op


class ScanView:
    """A Scan bound to its Apply: loop variables with their outer inputs and outputs.

    Parameters
    ----------
    node : Apply
        An Apply whose op is a Scan.
    """

    __slots__ = ("_inputs", "_outputs", "fixed", "node", "op", "sizes")
    fixed: dict[Variable, Variable]  # variable of the step → what it is around the loop, for non-sequences
    sizes: dict[Polynomial, Dim]  # sizes of the step as sizes around the loop, so far as they were asked for

    def __init__(self, node: Apply) -> None:
        op = loop_of(node)
        self.node, self.op = node, op
        readers, result_variables, non_sequences = op.once(_bound)
        self._inputs: Mapping[LoopVariable, Variable] = dict(zip(readers, node.inputs[1:], strict=True))
        self._outputs: Mapping[LoopVariable, Variable] = dict(
            zip(result_variables, node.outputs, strict=True)
        )
        self.fixed = {constant.variable: self._inputs[constant] for constant in non_sequences}
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

    def outer(self, variable: LoopVariable) -> Variable:
        """Return the outer input of a loop variable; an error if it has none."""
        found = self._inputs.get(variable)
        if found is None:
            raise InternalError(f"loop variable `{variable.name}` has no outer input")
        return found

    def result(self, variable: LoopVariable) -> Variable:
        """Return the outer output of a loop variable; an error if it has none."""
        found = self._outputs.get(variable)
        if found is None:
            raise InternalError(f"loop variable `{variable.name}` has no outer output")
        return found

    def loop_variable(self, outer: Variable) -> LoopVariable:
        """Return the loop variable that an outer output belongs to."""
        for variable, output in self._outputs.items():
            if output is outer:
                return variable
        raise InternalError(f"`{describe(outer)}` is no result of {self.op}")


def _loop(op: Op) -> Scan:
    if not isinstance(op, Scan):  # an operation of this name that was read from a file
        raise InternalError(f"{op.name} has no step")
    return op


def _typed(op: Scan) -> tuple[SequenceOf[LoopVariable], SequenceOf[LoopVariable], bool]:
    return op.once(_readers), op.once(_result_variables), op.until is not None


def _performed(op: Scan, values: SequenceOf[Any]) -> SequenceOf[Any]:
    from scanviz.engine.scan.evaluate import run_plainly  # of what is computed while a graph is built

    return run_plainly(op.scan_name, op.variables, op.until, values)


SCAN = Declaration(
    "scan",
    "loop",
    arity=(1, None),
    doc="A loop: its step applied once for each row of its sequences, with state carried from step to step.",
    infer=lambda op, inputs: result_types(op, *_typed(_loop(op)), inputs),
    perform=lambda op, values: _performed(_loop(op), values),
    facts=Facts(selects=True),
)


def results_of(op: Scan, inputs: SequenceOf[Variable]) -> dict[LoopVariable, Variable]:
    """Build a loop over its inputs, the number of steps first, and return its results by loop variable."""
    variables = op.result_variables
    made = build(op, inputs, [variable.name for variable in variables])
    return dict(zip(variables, made, strict=True))
