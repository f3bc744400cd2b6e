"""Lowering: a rewritten graph becomes a linear Program, loops and branches with programs of their own.

Casts are instructions: every elementwise operation gets its inputs in the very dtypes that it computes in, so that no backend
asks which those are.

An ``ifelse`` whose branches are needed nowhere else becomes a branch: what only one branch needs is computed only when
that branch is taken.  Results of loops that nothing reads get no register, so that no backend stores them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec.structs import replace as with_fields

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, describe
from scanviz.engine.graph.provenance import Provenance
from scanviz.engine.graph.traversal import first_free, frontier, toposort
from scanviz.engine.graph.types import TensorType, canonical_dtype
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.support import CastParameters
from scanviz.engine.program.instructions import (
    NO_NODE,
    AnyInstruction,
    BranchInstruction,
    CarrySlot,
    Instruction,
    LoopInstruction,
    NonSequenceSlot,
    Program,
    Register,
    SequenceSlot,
    StateSlot,
    StepOutputSlot,
    dtype_of,
    has_effects,
    programs_in,
)
from scanviz.engine.program.lifetimes import aliases, last_uses, with_frees
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    inner_inputs,
    inner_outputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


def lower(inputs: Sequence[Variable], outputs: Sequence[Variable], name: str) -> Program:
    """Return the Program that computes ``outputs`` from ``inputs``.

    Parameters
    ----------
    inputs : sequence of Variable
        In the order of the program's inputs; shared variables among them.
    outputs : sequence of Variable
        The results; may be inputs, constants or given twice.
    name : str
        Of the function or loop.

    Raises
    ------
    InternalError
        If an output needs a variable that is not among the inputs.
    """
    nodes = toposort(outputs, inputs)
    if any(node.op.declaration.family == "subgraph" for node in nodes):
        from scanviz.engine.ops.subgraph import (
            without_subgraphs,  # it is there: there is one of its operations
        )

        outputs = without_subgraphs(outputs)
        nodes = toposort(outputs, inputs)
    return _Lowering(name, inputs, outputs).program(nodes)


class _Lowering:
    """Registers and instructions of one program while lowering."""

    def __init__(self, name: str, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self.name = name
        self.number: dict[Variable, int] = {}
        self.casts: dict[tuple[int, str], int] = {}
        self.registers: list[Register] = []
        self.constants: dict[int, Array] = {}
        self.instructions: list[AnyInstruction] = []
        self.inputs = [self.place(variable) for variable in inputs]
        self.given = inputs
        self.outputs = outputs

    def place(self, variable: Variable) -> int:
        """Return the register of a variable, a new one if needed."""
        number = self.number.get(variable)
        if number is None:
            number = self.number[variable] = len(self.registers)
            self.registers.append(Register(number, variable.type, variable.name or None))
            if isinstance(variable, Constant):
                self.constants[number] = variable.value
        return number

    def program(self, nodes: Sequence[Apply]) -> Program:
        """Return the program of nodes that are in an order of computation."""
        self.read = {variable for node in nodes for variable in node.inputs} | set(self.outputs)
        branches, lazy = _lazy_parts(nodes, self.outputs)
        for node in nodes:
            if node in lazy:
                continue
            self.instructions.append(self.lower_node(node, branches))
        outputs = [self.place(output) for output in self.outputs]
        missing = first_free(nodes, self.outputs, self.given)
        if missing is not None:
            raise InternalError(
                f"`{describe(missing)}` reached lowering without being an input of `{self.name}`"
            )
        program = Program(
            self.name,
            tuple(self.registers),
            tuple(self.inputs),
            tuple(outputs),
            self.constants,
            tuple(self.instructions),
        )
        return with_fields(
            program, instructions=tuple(with_frees(_reads_first(program), outputs, self.inputs))
        )

    def lower_node(
        self, node: Apply, branches: dict[Apply, tuple[list[Variable], list[Variable]]]
    ) -> AnyInstruction:
        if isinstance(node.op, Scan):
            return self.lower_loop(node, node.op)
        if node in branches:
            return self.lower_branch(node, *branches[node])
        inputs = self.as_computed(node, [self.place(variable) for variable in node.inputs])
        outputs = tuple(self.place(output) for output in node.outputs)
        return Instruction(node.op, inputs, outputs, node.provenance, node.node_id)

    def as_computed(self, node: Apply, inputs: list[int]) -> tuple[int, ...]:
        """Return the registers that an operation reads, cast to the dtypes that it computes in."""
        declaration = node.op.declaration
        if not isinstance(declaration, ElementwiseDeclaration):
            return tuple(inputs)
        given = [dtype_of(self, number) for number in inputs]
        computed = declaration.result(*map(np.dtype, given))
        wanted = [canonical_dtype(dtype) for dtype in computed]
        return tuple(
            [
                number if dtype == name else self.cast(number, name, node.provenance)
                for number, dtype, name in zip(inputs, given, wanted, strict=False)
            ]
        )

    def cast(self, number: int, dtype: str, provenance: Provenance) -> int:
        """Return the register of another register's values in a dtype: a constant, or the result of a cast."""
        known = self.casts.get((number, dtype))
        if known is None:
            source, known = self.registers[number], len(self.registers)
            assert isinstance(source.type, TensorType)
            self.casts[number, dtype] = known
            self.registers.append(Register(known, source.type.with_dtype(dtype), source.name))
            value = self.constants.get(number)
            if value is not None:
                self.constants[known] = _read_only(value.astype(dtype))
            else:
                op = Op(CAST, CastParameters(dtype))
                self.instructions.append(Instruction(op, (number,), (known,), provenance, NO_NODE))
        return known

    def lower_branch(
        self, node: Apply, then_outputs: list[Variable], else_outputs: list[Variable]
    ) -> BranchInstruction:
        condition = self.place(node.inputs[0])
        programs, reads = [], []
        for side, outputs in (("then", then_outputs), ("else", else_outputs)):
            boundary = frontier(outputs, self.number.__contains__)
            known = [variable for variable in boundary if not isinstance(variable, Constant)]
            programs.append(lower(known, outputs, f"{self.name}, {side}"))
            reads.append(tuple(self.place(variable) for variable in known))
        return BranchInstruction(
            op=node.op,
            inputs=tuple(dict.fromkeys((condition, *reads[0], *reads[1]))),
            outputs=tuple(self.place(output) for output in node.outputs),
            provenance=node.provenance,
            node_id=node.node_id,
            condition=condition,
            then_inputs=reads[0],
            then_program=programs[0],
            else_inputs=reads[1],
            else_program=programs[1],
        )

    def lower_loop(self, node: Apply, op: Scan) -> LoopInstruction:
        view, body = ScanView(node), _body(op)
        n_steps = self.place(view.n_steps)
        slots = _Slots(self, view, body)
        states = tuple(map(slots.state, op.of_type(State)))
        outputs = tuple(map(slots.step_output, op.of_type(StepOutput)))
        carries = tuple(map(slots.carry, op.of_type(Carry)))
        sequences = tuple(map(slots.sequence, op.of_type(LoopSequence)))
        constants = tuple(map(slots.non_sequence, op.of_type(NonSequence)))
        return LoopInstruction(
            op=op,
            inputs=tuple(self.place(variable) for variable in node.inputs),
            outputs=tuple(self.place(output) for output in node.outputs if output in self.read),
            provenance=node.provenance,
            node_id=node.node_id,
            name=op.scan_name,
            n_steps=n_steps,
            sequences=sequences,
            states=states,
            step_outputs=outputs,
            carries=carries,
            non_sequences=constants,
            body=body,
            until=next(slots.results) if op.until is not None else None,
            allow_gc=op.settings.allow_gc,
            mode=op.settings.mode,
            profile=op.settings.profile,
        )


class _Slots:
    """Make the slots of one loop; states, step outputs and carries take the body's outputs in this order."""

    def __init__(self, lowering: _Lowering, view: ScanView, body: Program) -> None:
        self.lowering, self.view = lowering, view
        self.inner = dict(zip(_body_inputs(view.op), body.inputs, strict=True))
        self.results = iter(body.outputs)

    def outer(self, variable: LoopVariable) -> int:
        """Return the register around the loop that a loop variable reads."""
        return self.lowering.place(self.view.outer(variable))

    def result(self, variable: LoopVariable) -> int | None:
        """Return the register of a loop variable's result, or None if nothing reads it."""
        given = self.view.outer_output(variable)
        return self.lowering.place(given) if given is not None and given in self.lowering.read else None

    def state(self, state: State) -> StateSlot:
        """Return a state's slot."""
        reads = tuple((tap, self.inner[read]) for tap, read in state.reads.items())
        writes = tuple((tap, next(self.results)) for tap in state.writes)
        outer, result = self.outer(state), self.result(state)
        return StateSlot(state.name, state.kind, outer, reads, writes, state.offset, result, state.keep.last)

    def step_output(self, output: StepOutput) -> StepOutputSlot:
        """Return a step output's slot."""
        return StepOutputSlot(output.name, next(self.results), self.result(output), output.keep.last)

    def carry(self, carry: Carry) -> CarrySlot:
        """Return a carry's slot."""
        read, write = self.inner[carry.read], next(self.results)
        return CarrySlot(carry.name, self.outer(carry), read, write, self.result(carry))

    def sequence(self, sequence: LoopSequence) -> SequenceSlot:
        """Return a sequence's slot."""
        return SequenceSlot(sequence.name, self.outer(sequence), self.inner[sequence.slice], sequence.tap)

    def non_sequence(self, variable: NonSequence) -> NonSequenceSlot:
        """Return a non-sequence's slot."""
        return NonSequenceSlot(variable.name, self.outer(variable), self.inner[variable.variable])


def _read_only(value: Array) -> Array:
    value.flags.writeable = False
    return value


def _body_inputs(op: Scan) -> list[Variable]:
    """Return the step's inputs in the order of a body program: sequences, reads, carries, non-sequences."""
    variables: list[LoopVariable] = [
        *op.of_type(LoopSequence),
        *op.of_type(State),
        *op.of_type(Carry),
        *op.of_type(NonSequence),
    ]
    return [inner for variable in variables for inner in inner_inputs(variable)]


def _body(op: Scan) -> Program:
    variables: list[LoopVariable] = [*op.of_type(State), *op.of_type(StepOutput), *op.of_type(Carry)]
    given = [inner for variable in variables for inner in inner_outputs(variable)]
    condition = [op.until.condition] if op.until is not None else []
    return lower(_body_inputs(op), [*given, *condition], op.scan_name)


def _reads_first(program: Program) -> list[AnyInstruction]:
    """Reorder instructions so that an array is read before an assignment to it, which saves a copy.

    What depends on the assignment stays behind it, and so does what stands behind an instruction with an effect.
    """
    given = program.instructions
    order = list(range(len(given)))
    assignments = [k for k, one in enumerate(given) if one.op.name == "assign"]
    if not assignments:
        return list(given)
    shared = aliases(program)
    last = last_uses(program, shared)
    for assignment in assignments:
        source = given[assignment].inputs[0]
        place = order.index(assignment)
        if last[source] not in order[place + 1 :]:  # nothing reads it later, or it is an output and kept
            continue
        later = order[place + 1 : order.index(last[source]) + 1]
        wanted = {source, *(number for number, seen in shared.items() if source in seen)}
        made: set[int] = set()
        moved: set[int] = set()
        for k in reversed(_independent(given, later, given[assignment].outputs)):
            if not wanted.isdisjoint(given[k].inputs) or not made.isdisjoint(given[k].outputs):
                moved.add(k)
                made.update(given[k].inputs)
        order[place : place + 1 + len(later)] = [
            *filter(moved.__contains__, later),
            assignment,
            *(k for k in later if k not in moved),
        ]
    return [given[k] for k in order]


def _independent(given: Sequence[AnyInstruction], later: Sequence[int], made: Sequence[int]) -> list[int]:
    """Return the later instructions, up to one with an effect, that need none of the results."""
    found: list[int] = []
    dependent = {*made}
    for k in later:
        one = given[k]
        if one.op.facts.effect or any(map(has_effects, programs_in(one))):
            break
        if dependent.isdisjoint(one.inputs):
            found.append(k)
        else:
            dependent.update(one.outputs)
    return found


def _lazy_parts(
    nodes: Sequence[Apply], outputs: Sequence[Variable]
) -> tuple[dict[Apply, tuple[list[Variable], list[Variable]]], set[Apply]]:
    """Return each ifelse with its branches' outputs, and the nodes that only a branch needs.

    A node belongs to one branch if every path from it to an output of the program goes through that branch of that ifelse.
    """
    choices = [node for node in nodes if node.op.declaration is IFELSE]
    if not choices:
        return {}, set()
    branches: dict[Apply, tuple[list[Variable], list[Variable]]] = {}
    lazy: set[Apply] = set()
    readers: dict[Variable, list[Apply]] = {}
    for node in nodes:
        for variable in set(node.inputs):
            readers.setdefault(variable, []).append(node)
    wanted = set(outputs)
    for node in reversed(choices):
        count = (len(node.inputs) - 1) // 2
        sides = (list(node.inputs[1 : 1 + count]), list(node.inputs[1 + count :]))
        branches[node] = sides
        for side, other in (sides, sides[::-1]):
            lazy |= _only_for(node, side, other, readers, wanted)
    return branches, lazy


def _only_for(
    choice: Apply,
    side: Sequence[Variable],
    other: Sequence[Variable],
    readers: dict[Variable, list[Apply]],
    wanted: Collection[Variable],
) -> set[Apply]:
    """Return the nodes needed for one side of one ifelse and for nothing else."""
    kept: set[Apply] = set()
    blocked = {*wanted, *other, choice.inputs[0]}
    for node in reversed(toposort(side)):
        needed_elsewhere = any(
            output in blocked
            or any(reader not in kept and reader is not choice for reader in readers.get(output, []))
            for output in node.outputs
        )
        if not needed_elsewhere:
            kept.add(node)
    return kept
