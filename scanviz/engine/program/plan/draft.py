"""A plan in the making: decisions so far, lifetimes of memory, and offsets of views.

The parts of planning (rows, views, buffers) each decide for some registers and read what the ones before them decided; the draft
is what they hand on.  How far the elements of a view lie apart is NumPy's own answer: the operation's meaning on an array of that
shape and those strides; no element is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.lib.stride_tricks import as_strided

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.shape import RESHAPE
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, is_scalar
from scanviz.engine.program.lifetimes import aliases, last_uses
from scanviz.engine.program.plan.groups import local_registers
from scanviz.engine.program.plan.location import (
    Buffer,
    Emits,
    Fusion,
    Group,
    Grouping,
    Row,
    View,
    is_unchanged,
    packed,
)
from scanviz.engine.program.shapes import ConcreteShape

_NO_ONE: frozenset[int] = frozenset()


class Draft(Struct):
    """A plan in the making, shared by the parts of planning.

    Attributes
    ----------
    program : Program
        The planned program.
    shapes : list
        The shape of each register, None where unknown.
    sizes : dict
        Register → the size that it holds, where that follows from the shapes.
    groups, fusions, local
        The instructions done as one, why these, and the registers that never leave one of them.
    emits : Emits
        Abilities of the emitter.
    made : dict
        Register → the index of the instruction that fills it.
    time, needed : list of int, dict
        Instruction → its group; register → the last group that needs its memory, views of it included.
    shared : dict
        Register that may be a view → the registers whose memory it may share.
    located : dict
        Register → where it lives, as far as that is decided.
    over, given_up : dict, set
        Register → the one whose memory it takes over; those registers.
    buffers : list
        Shape and dtype of each buffer.
    """

    program: Program
    shapes: list[ConcreteShape]
    sizes: dict[int, int]
    groups: tuple[Group, ...]
    fusions: tuple[Fusion, ...]
    emits: Emits
    local: frozenset[int]
    made: dict[int, int]
    time: list[int]
    needed: dict[int, int]
    shared: dict[int, frozenset[int]]
    located: dict[int, Row | Buffer | View] = field(default_factory=dict)
    over: dict[int, int] = field(default_factory=dict)
    given_up: set[int] = field(default_factory=set)
    buffers: list[tuple[tuple[int, ...], str]] = field(default_factory=list)

    def maker(self, number: int) -> AnyInstruction | None:
        """Return the instruction that fills a register, None for an input or a constant."""
        index = self.made.get(number)
        return None if index is None else self.program.instructions[index]

    def writable(self, number: int) -> Instruction | None:
        """Return the instruction that fills a register if it can write into given memory."""
        maker = self.maker(number)
        one = (
            isinstance(maker, Instruction) and len(maker.outputs) == 1 and not is_scalar(self.program, number)
        )
        plain = one and isinstance(self.program.registers[number].type, TensorType)
        if not plain or number in self.local or self.shapes[number] is None:
            return None
        assert isinstance(maker, Instruction)
        return maker if self.leaves_group(maker) or self.emits.writes(maker, self.program) else None

    def leaves_group(self, instruction: Instruction) -> bool:
        """Return whether a result in memory has the elements of a register that is not: its group writes them there."""
        apart = bool(instruction.inputs) and instruction.inputs[0] in self.local
        stays = instruction.outputs[0] in self.local
        return apart and not stays and is_unchanged(instruction, self.shapes)

    def take_over(self, number: int, old: int) -> None:
        """Record that a result is written over a register."""
        self.over[number] = old
        self.given_up.add(old)

    def may_take_over(self, number: int, old: int) -> bool:
        """Return whether a result may be written over a register: its group reads that last, and allows it.

        Every instruction of the group that reads it must be one that may write over that input, and none may read a view of
        it.  One exception: an instruction that changes the register itself may read a view as an input that may overlap it.
        """
        time = self.time[self.made[number]]
        if self.needed.get(old, -1) != time or old in self.given_up:
            return False
        for index in self.groups[time]:
            instruction = self.program.instructions[index]
            overlaps = instruction.op.facts.overlaps if old in instruction.inputs else -1
            if any(
                old in self.shared.get(number, _NO_ONE) and k != overlaps
                for k, number in enumerate(instruction.inputs)
            ):
                return False
            if old in instruction.inputs and not self._overwrites(instruction, old):
                return False
        return True

    def _overwrites(self, instruction: AnyInstruction, old: int) -> bool:
        if not isinstance(instruction, Instruction):
            return False
        allowed = self.emits.overwrites(instruction, self.program)
        return all(k in allowed for k, number in enumerate(instruction.inputs) if number == old)


def drafted(
    program: Program, shapes: list[ConcreteShape], sizes: dict[int, int], grouping: Grouping, emits: Emits
) -> Draft:
    """Return a plan in which nothing is decided yet."""
    groups, fusions = grouping(program, shapes)
    time = [0] * len(program.instructions)
    for k, group in enumerate(groups):
        for index in group:
            time[index] = k
    shared = aliases(program)
    needed = last_uses(program, shared, time)
    made = {number: k for k, instruction in enumerate(program.instructions) for number in instruction.outputs}
    local = local_registers(program, groups)
    return Draft(program, shapes, sizes, groups, fusions, emits, local, made, time, needed, shared)


Strides = tuple[int, ...] | None


def is_whole(draft: Draft, instruction: Instruction) -> bool:
    """Return whether an instruction returns its input array itself, for the known shapes."""
    if instruction.outputs[0] in draft.located or draft.leaves_group(instruction):
        return False
    return is_unchanged(instruction, draft.shapes)


def is_surely_view(draft: Draft, instruction: Instruction) -> bool:
    """Return whether a result surely shares its source's memory, wherever that lies."""
    return instruction.op.facts.always_view or is_whole(draft, instruction)


def view_of(draft: Draft, instruction: Instruction, strides: Strides) -> tuple[int | None, Strides] | None:
    """Return a view's offset in bytes from its source and its strides, or None if it may be no view.

    Parameters
    ----------
    draft : Draft
        Shapes and sizes.
    instruction : Instruction
        One whose result may share the memory of an input, by its declaration.
    strides : tuple of int or None
        Those of the source.
    """
    declaration = instruction.op.declaration
    source, *others = instruction.inputs
    sure, shape = is_surely_view(draft, instruction), draft.shapes[source]
    wanted, kind = draft.shapes[instruction.outputs[0]], draft.program.registers[source].type
    if shape is None or strides is None or wanted is None or not isinstance(kind, TensorType):
        return (None, None) if sure else None
    if is_whole(draft, instruction):
        return 0, strides
    itemsize = np.dtype(kind.dtype).itemsize
    if declaration is RESHAPE:  # of rows in order it is a view; elsewhere NumPy decides
        return (0, packed(wanted, itemsize)) if strides == packed(shape, itemsize) else None
    given = [_number(draft, other) for other in others]
    if not sure or any(number is None for number in given):
        return (None, None) if sure else None
    stand_in = as_strided(np.zeros((), kind.dtype), shape, strides, writeable=False)
    try:
        found = np.asarray(instruction.op.perform([stand_in, *given])[0])
    except (ScanvizError, ValueError, IndexError):  # it is an error when it is run
        return None, None
    if not found.size or not stand_in.size:
        return 0, tuple(found.strides)
    return _address(found) - _address(stand_in), tuple(found.strides)


def _number(draft: Draft, number: int) -> Any:
    """Return the known value of an index's input, or None."""
    size = draft.sizes.get(number)
    return draft.program.constants.get(number) if size is None else np.int64(size)


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
