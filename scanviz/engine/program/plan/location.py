"""Contents of a plan: where each register of a Program lives for given shapes, and how the rows of a loop lie.

Emitters read it and decide nothing about memory; the reference tier never reads it, so that a wrong plan cannot be wrong in the
oracle too.  Nothing here depends on the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import prod
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from scanviz.engine.program.instructions import Instruction, Program, StateSlot
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.rewrites.rule import Refusal

ALIGNMENT = 64  # bytes: where buffers and the first rows of stores begin
SlotKey = tuple[str, int]  # ("sequence", 0), ("state", 2) or ("output", 1): a slot of a loop


class Where(Enum):
    """A location that needs no more than its name.

    ``CONSTANT``: the value in the Program.  ``GIVEN``: what the caller hands in.  ``NUMBER``: one number, a value in no array.
    ``FRESH``: an array of its own every time, for its shape depends on values or the operation cannot write into a given one.
    ``LOCAL``: inside a group, never in memory.
    """

    CONSTANT = "constant"
    GIVEN = "given"
    NUMBER = "number"
    FRESH = "fresh"
    LOCAL = "local"


class Size(Struct, frozen=True):
    """A size that follows from the shapes: its register needs no memory and its instruction no work."""

    value: int


class Row(Struct, frozen=True):
    """The row of a slot at a tap: step + tap of a sequence, offset + step + tap of a state's store."""

    slot: SlotKey
    tap: int = 0


class Buffer(Struct, frozen=True):
    """A buffer made before the first step: memory of one shape and dtype, used by one register after another."""

    number: int


class View(Struct, frozen=True):
    """A view of another register's memory.

    Attributes
    ----------
    base : int
        The register whose memory it is, itself no view.
    offset : int or None
        Bytes from its first element; None where they follow from values.
    """

    base: int
    offset: int | None


Location = Where | Size | Row | Buffer | View


class Place(Struct, frozen=True):
    """The place of one register: where it lives, its shape, strides and lifetime.

    Attributes
    ----------
    location : Location
        The kind of its memory.
    shape : tuple of int or None
        Its shape, None where that depends on values.
    strides : tuple of int or None
        Bytes from one element to the next along each axis; None where they are not known.
    alignment : int
        The address of the first element is a multiple of so many bytes.
    made, needed : int
        The groups that fill it and that need its memory last: -1 before the first one, the number of groups after the last.
    over : int or None
        The register whose memory it takes over, also where that is fresh: its group is the last that needs it.
    """

    location: Location
    shape: ConcreteShape
    strides: tuple[int, ...] | None
    alignment: int
    made: int
    needed: int
    over: int | None


class StoreKind(Enum):
    """The layout of a state's or an output's rows.

    ``WHOLE``: all of them.  ``TAKEN``: the array that a mitmot starts from, or a copy of it.  ``RING``: the last ones, those
    after the end from the beginning again.  ``PAIR``: two rows that change places.  ``SINGLE``: one row, written over by the
    operation that reads it last, or passed on unchanged.  ``HELD``: one number, a value.  ``NONE``: nothing is kept.
    """

    WHOLE = "whole"
    TAKEN = "taken"
    RING = "ring"
    PAIR = "pair"
    SINGLE = "single"
    HELD = "held"
    NONE = "none"


class Store(Struct, frozen=True):
    """The rows of a state or of an output.

    Attributes
    ----------
    kind : StoreKind
        The layout of the rows.
    dtype : str
        Of the rows.
    row : tuple of int or None
        Shape of a row, None where it is found at run time.
    offset : int
        Rows before the row of step 0.
    checked : bool
        Whether a row's shape is compared when it is stored, for it was not known before.
    over : int or None
        The sequence, by its number, whose rows those of an output may be written over.
    """

    kind: StoreKind
    dtype: str
    row: ConcreteShape
    offset: int
    checked: bool
    over: int | None = None

    @property
    def row_bytes(self) -> int:
        """Bytes of a row, or 0 if its shape is unknown."""
        return 0 if self.row is None else prod(self.row) * np.dtype(self.dtype).itemsize


class Emits(NamedTuple):
    """An emitter's abilities with memory, given by its backend.

    Attributes
    ----------
    writes : callable
        ``writes(instruction, program)``: whether it writes a result into a given array.
    overwrites : callable
        ``overwrites(instruction, program)``: positions of the inputs that this array may be.
    over_sequences : bool
        Whether rows of an output may be written over those of a sequence.
    """

    writes: Callable[[Instruction, Program], bool]
    overwrites: Callable[[Instruction, Program], Sequence[int]]
    over_sequences: bool = False


def overwritable(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return the positions of the inputs that the operation's meaning allows to write over."""
    return range(min(instruction.op.facts.overwrites, len(instruction.inputs)))


# bytes of all rows of an output: fewer are not written over those of a sequence, which gains nothing
SHORTEST_OVER = 1 << 16


def are_worth_over(rows: int, size: int, there: int) -> bool:
    """Return whether writing rows of ``size`` bytes over a sequence of ``there`` rows pays.

    A loop that keeps few of many rows would have to keep all.
    """
    return 2 * rows >= there and size >= SHORTEST_OVER


Group = tuple[int, ...]  # instructions done as one, by index, in order


class Fusion(Struct, frozen=True):
    """The decision whether two instructions connected by a register run as one group.

    Attributes
    ----------
    first, second : int
        The instructions, by index.
    register : int
        The register that connects them.
    refusal : Refusal or None
        Why they are not done as one; None where they are.
    """

    first: int
    second: int
    register: int
    refusal: Refusal | None


class Grouped(NamedTuple):
    """Groups of instructions in a possible order, and the decisions about neighbours."""

    groups: tuple[Group, ...]
    fusions: tuple[Fusion, ...] = ()


Grouping = Callable[[Program, Sequence[ConcreteShape]], Grouped]  # given the shape of each register


class Plan(Struct, frozen=True):
    """The places of a Program's registers, for given shapes and groups.

    Attributes
    ----------
    groups : tuple of tuple of int
        The instructions that are done as one; groups in the order in which they are done.
    places : tuple of Place
        Of each register.
    buffers : tuple of (shape, dtype)
        The buffers to make.
    starts : tuple of int
        Offset of each buffer in the arena, in bytes.
    arena : int
        Bytes of all buffers.
    idle : frozenset of int
        Instructions with nothing to do for these shapes: sizes that are known, views of a whole.
    inner : mapping
        Index of a loop → its plan; of a branch → those of its two sides.
    stores : mapping
        Slot → how its rows lie; empty but for the step of a loop, as is all that follows.
    invariant : frozenset of int
        Instructions that give the same in every step, and are done once before the first.
    carries_copied : frozenset of int
        Numbers of carries whose value is copied for the next step, since its memory is written again.
    writes_copied : frozenset of (int, int)
        State and tap of the rows that are copied before the first row of a mitmot is stored: they may be views of one.
    fusions : tuple of Fusion
        The reason for each group; empty where every instruction is a group.
    mismatch : tuple or None
        A state whose rows cannot have the shape that the step gives, and both shapes: an error of the first step.
    """

    groups: tuple[Group, ...]
    places: tuple[Place, ...]
    buffers: tuple[tuple[tuple[int, ...], str], ...] = ()
    starts: tuple[int, ...] = ()
    arena: int = 0
    idle: frozenset[int] = frozenset()
    fusions: tuple[Fusion, ...] = ()
    inner: Mapping[int, tuple[Plan, ...]] = field(default_factory=dict)
    stores: Mapping[SlotKey, Store] = field(default_factory=dict)
    invariant: frozenset[int] = frozenset()
    carries_copied: frozenset[int] = frozenset()
    writes_copied: frozenset[tuple[int, int]] = frozenset()
    mismatch: tuple[StateSlot, tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def in_place(self) -> int:
        """Number of operations that write into the buffer of one of their inputs."""
        return sum(place.over is not None and isinstance(place.location, Buffer) for place in self.places)

    def placed(self, kind: type[Row] | type[Buffer]) -> list[int]:
        """Return the registers that instructions write into rows, or into buffers."""
        return [
            k for k, place in enumerate(self.places) if isinstance(place.location, kind) and place.made >= 0
        ]


def packed(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of an array in C order.

    Examples
    --------
    >>> packed((2, 3), 8)
    (24, 8)
    """
    strides, step = [], itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def ring_size(slot: StateSlot, steps: int) -> int:
    """Return the number of rows in the ring of a state.

    One more than are read or kept: no row that is read in a step is the row written in it.
    """
    kept = steps if slot.result is not None and slot.keep_last is None else (slot.keep_last or 0)
    if slot.result is None:
        kept = 0
    if kept >= steps:
        return slot.offset + steps
    return min(max(kept, slot.offset) + 1, slot.offset + max(steps, 1))


def aligned(size: int) -> int:
    """Return a number of bytes rounded up to whole lines.

    Examples
    --------
    >>> aligned(0), aligned(1), aligned(64)
    (0, 64, 64)
    """
    return -(-size // ALIGNMENT) * ALIGNMENT


def is_unchanged(instruction: Instruction, shapes: Sequence[ConcreteShape]) -> bool:
    """Return whether a result has its input's elements for the known shapes: a sum over nothing."""
    if instruction.op.declaration.family != "reduce":
        return False
    from scanviz.engine.ops.reduce import SUM_TO_SHAPE  # it is there: there is one of its operations

    if instruction.op.declaration is not SUM_TO_SHAPE:
        return False
    shape = shapes[instruction.outputs[0]]
    return shape is not None and shape == shapes[instruction.inputs[0]]
