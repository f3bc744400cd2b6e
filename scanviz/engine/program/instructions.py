"""The Program: a linear list of instructions over numbered registers, a loop being one instruction with a body.

Lowering makes it from a graph (:mod:`scanviz.engine.program.lower`), backends run it.  Registers are numbered within
their own program; a body sees the outside only through its loop's slots.  A branch (``ifelse``) holds two programs of
which one is run.

What prints or checks must be done step by step and in order, so backends that divide a loop's steps, or leave them out, ask
:func:`has_effects`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import field
from msgspec.structs import replace as with_fields

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.provenance import Provenance
from scanviz.engine.graph.types import AnyType, TensorType, Type
from scanviz.engine.strict import Strict

if not TYPE_CHECKING:
    Type = AnyType  # msgspec reads annotations, and no unions of such classes
else:
    from typing import Protocol

    class HasRegisters(Protocol):
        """A Program, finished or in the making."""

        @property
        def registers(self) -> Sequence[Register]:
            """All registers by number."""
            ...


NO_NODE = 0  # node id of an instruction that was made of no node of this process's graphs
_loop_keys = itertools.count(1)


def next_loop_key() -> int:
    """Return a key that no loop of this process has."""
    return next(_loop_keys)


class Register(Strict, frozen=True):
    """A numbered place for a value.

    Attributes
    ----------
    number : int
        Its index in ``program.registers``.
    type : Type
        Type of its values.
    name : str or None
        The user's name of the variable.
    """

    number: int
    type: Type
    name: str | None = None


class Instruction(Strict, frozen=True, tag_field="kind", tag="operation"):
    """One operation: reads registers, fills registers.

    Attributes
    ----------
    op : Op
        The operation.
    inputs, outputs : tuple[int, ...]
        Register numbers.
    provenance : Provenance
        Its origin: the user's line.
    node_id : int
        Node id of the Apply that it was made from.
    frees : tuple[int, ...]
        Registers that nothing reads after it and no output is: their memory may be let go.
    """

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    provenance: Provenance
    node_id: int = NO_NODE
    frees: tuple[int, ...] = ()


class SequenceSlot(Strict, frozen=True):
    """Row t of ``outer`` goes to ``inner`` at step t."""

    name: str
    outer: int
    inner: int
    tap: int


class NonSequenceSlot(Strict, frozen=True):
    """The value of ``outer`` is ``inner`` at every step."""

    name: str
    outer: int
    inner: int


class StateSlot(Strict, frozen=True):
    """A recurrent state.

    Attributes
    ----------
    kind : str
        ``"sitsot"`` (``outer`` is the one initial row), ``"mitsot"`` (the first ``offset`` rows
        of ``outer`` are used), ``"mitmot"`` (``outer`` is the whole buffer).
    reads, writes : tuple of (tap, register)
        The row of a tap at step t is row ``offset + t + tap`` of the state's buffer.
    offset : int
        Rows before the row of step 0.
    result : int or None
        Outer register of the result: the rows of the steps done (sitsot, mitsot) or the whole buffer (mitmot);
        None if nothing uses it.
    keep_last : int or None
        Rows of the result to keep, the last ones; None for all.
    history : int or None
        Outer register of the result with the initial rows in front, where something reads that: the same memory.
    in_place : bool
        Whether a mitmot may take over the array that it starts from: nothing else needs it.
    """

    name: str
    kind: Literal["sitsot", "mitsot", "mitmot"]
    outer: int
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]
    offset: int
    result: int | None
    keep_last: int | None
    history: int | None = None
    in_place: bool = False


class StepOutputSlot(Strict, frozen=True):
    """The value of ``inner`` at step t is row t of ``result`` (None if nothing uses it).

    With ``backwards`` the rows lie in memory from the last to the first, where the tier can do that.  The result is a view; its
    rows from the last one on lie in order.  Where nothing else needs the rows of a sequence, ``over`` is its number among
    the loop's: the tier may write each row over the one that the step has read.
    """

    name: str
    inner: int
    result: int | None
    keep_last: int | None
    backwards: bool = False
    over: int | None = None


class CarrySlot(Strict, frozen=True):
    """A carried value: ``read`` is ``outer`` at step 0, then ``write`` of the step before; ``result`` is the last."""

    name: str
    outer: int
    read: int
    write: int
    result: int | None


class LoopInstruction(Strict, frozen=True, tag_field="kind", tag="loop", kw_only=True):
    """A whole loop.

    Attributes
    ----------
    key : int
        Identifies the loop in observers' events: unique in the process.
    name : str
        The user's name, or ``scan at file:line``.
    n_steps : int
        Register of the number of steps (the maximum, with ``until``), int64 scalar.
    body : Program
        One step.  Its inputs are, in order: sequences, states' reads, carries' reads, non-sequences (their ``inner``
        registers); its outputs: states' writes, step outputs, carries' writes, then ``until`` if there is one.
    until : int or None
        Body register of the stop condition: the loop ends after a step at which it is non-zero.
    allow_gc : bool
        True frees the loop's temporaries after each run, False keeps them for the next.
    mode : str or None
        Name of the tier the user asked for this loop; None for the function's.
    profile : bool
        Whether the user asked to record this loop.
    reuse : bool
        Whether temporaries of the body may share buffers and be written over.
    """

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    provenance: Provenance
    node_id: int = NO_NODE
    frees: tuple[int, ...] = ()
    key: int = field(default_factory=next_loop_key)
    name: str
    n_steps: int
    sequences: tuple[SequenceSlot, ...]
    states: tuple[StateSlot, ...]
    step_outputs: tuple[StepOutputSlot, ...]
    carries: tuple[CarrySlot, ...]
    non_sequences: tuple[NonSequenceSlot, ...]
    body: Program
    until: int | None
    allow_gc: bool
    mode: str | None
    profile: bool
    reuse: bool = True

    def runs_on(self, tier: str) -> bool:
        """Return whether the tier of the surrounding program runs it; else the tier of its mode does."""
        return self.mode in (None, "auto", tier)


class BranchInstruction(Strict, frozen=True, tag_field="kind", tag="branch", kw_only=True):
    """``ifelse``: runs one of two programs, by a condition.

    Attributes
    ----------
    condition : int
        Register of the scalar condition.
    then_inputs, else_inputs : tuple[int, ...]
        Outer registers for the inputs of ``then_program`` and ``else_program``.
    inputs : tuple[int, ...]
        All registers read.
    """

    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    provenance: Provenance
    node_id: int = NO_NODE
    frees: tuple[int, ...] = ()
    condition: int
    then_inputs: tuple[int, ...]
    then_program: Program
    else_inputs: tuple[int, ...]
    else_program: Program

    @property
    def sides(self) -> tuple[tuple[Program, tuple[int, ...]], ...]:
        """The programs of the sides, the true side first, each with the registers for its inputs."""
        return (self.then_program, self.then_inputs), (self.else_program, self.else_inputs)


AnyInstruction = Instruction | LoopInstruction | BranchInstruction
Kind = Literal["operation", "loop", "branch"]


class Program(Strict, frozen=True, eq=False):
    """A linear list of instructions.

    Attributes
    ----------
    name : str
        Of the function or loop.
    registers : tuple[Register, ...]
        All registers; ``registers[n].number == n``.
    inputs, outputs : tuple[int, ...]
        Register numbers; an output may be an input, a constant, or given twice.
    constants : mapping of int to array
        Registers whose value is known; read-only arrays.
    instructions : tuple
        In order.
    fuse : bool
        Whether a tier that compiles may do several of them as one.
    """

    name: str
    registers: tuple[Register, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    constants: Mapping[int, Array]
    instructions: tuple[AnyInstruction, ...]
    fuse: bool = True


def rank_of(program: Program, number: int) -> int:
    """Return the number of axes of a register's values; none for a random state."""
    kind = program.registers[number].type
    return kind.ndim if isinstance(kind, TensorType) else 0


def is_scalar(program: Program, number: int) -> bool:
    """Return whether a register holds one number."""
    return program.registers[number].type.shape == ()


def dtype_of(program: HasRegisters, number: int) -> str:
    """Return the dtype of a register's values."""
    return program.registers[number].type.dtype


def instruction_kind(instruction: AnyInstruction) -> Kind:
    """Return the kind of an instruction as files write it."""
    found: Any = instruction.__struct_config__.tag
    kind: Kind = found
    return kind


def programs_in(instruction: AnyInstruction) -> tuple[Program, ...]:
    """Return the programs inside an instruction: the step of a loop, the sides of a branch."""
    match instruction:
        case LoopInstruction():
            return (instruction.body,)
        case BranchInstruction():
            return instruction.then_program, instruction.else_program
        case Instruction():
            return ()


def with_programs(instruction: AnyInstruction, change: Callable[[Program], Program]) -> AnyInstruction:
    """Return an instruction with the programs inside it changed."""
    match instruction:
        case LoopInstruction():
            body = change(instruction.body)
            return instruction if body is instruction.body else with_fields(instruction, body=body)
        case BranchInstruction():
            first, second = map(change, programs_in(instruction))
            return with_fields(instruction, then_program=first, else_program=second)
        case Instruction():
            return instruction


def nested_loops(
    program: Program, parent: LoopInstruction | None = None
) -> Iterator[tuple[LoopInstruction, LoopInstruction | None, Program]]:
    """Iterate over all loops, outer before inner, with the loop directly around each and the program that it stands in."""
    for instruction in program.instructions:
        around = parent
        if isinstance(instruction, LoopInstruction):
            yield instruction, parent, program
            around = instruction
        for inside in programs_in(instruction):
            yield from nested_loops(inside, around)


def all_loops(program: Program) -> Iterator[tuple[LoopInstruction, LoopInstruction | None]]:
    """Iterate over all loops with the loop directly around each (None at top level), outer before inner."""
    return ((loop, parent) for loop, parent, _ in nested_loops(program))


def loops(program: Program) -> Iterator[LoopInstruction]:
    """Iterate over the loops of a program and of its branches, not over loops inside loops."""
    return (loop for loop, parent, _ in nested_loops(program) if parent is None)


def has_branches(program: Program) -> bool:
    """Return whether a program holds a branch."""
    for instruction in program.instructions:
        if isinstance(instruction, BranchInstruction):
            return True
        if not isinstance(instruction, Instruction) and any(map(has_branches, programs_in(instruction))):
            return True
    return False


def has_effects(program: Program) -> bool:
    """Return whether running a program prints or checks something."""
    for instruction in program.instructions:
        if isinstance(instruction, Instruction):
            if instruction.op.facts.effect:
                return True
        elif any(map(has_effects, programs_in(instruction))):
            return True
    return False
