"""The arena of one run of a loop: one block of memory for everything that the plan places for a number of steps.

Buffers come first, then the rows of each slot, then room for the loops inside, which run one at a time and share it.  Every part
begins at a multiple of :data:`~scanviz.engine.program.plan.location.ALIGNMENT`.  A loop inside whose number of steps or shapes
are not known beforehand, and the array that a mitmot takes over, lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from scanviz.engine.program.instructions import LoopInstruction, Program, StateSlot
from scanviz.engine.program.plan.location import Plan, Size, SlotKey, StoreKind, aligned, ring_size
from scanviz.engine.program.shapes import ConcreteShape


class Arena(Struct, frozen=True):
    """Offsets of a loop's rows and buffers in memory.

    Attributes
    ----------
    rows : mapping
        Slot → how many rows it has.
    starts : mapping
        Slot → where the first of them begins, in bytes; without those whose rows are not in the arena.
    inner : int
        Offset of the memory for inner loops, in bytes.
    bytes : int
        Length of the arena.
    """

    rows: Mapping[SlotKey, int]
    starts: Mapping[SlotKey, int]
    inner: int
    bytes: int


def arena_of(loop: LoopInstruction, plan: Plan, steps: int, taken: Mapping[int, int]) -> Arena:
    """Lay out memory for a number of steps; ``taken`` has the rows of each mitmot by its number."""
    rows = {key: _rows(loop, plan, key, steps, taken) for key in plan.stores}
    starts: dict[SlotKey, int] = {}
    end = plan.arena
    for key, store in plan.stores.items():
        slot = loop.states[key[1]] if key[0] == "state" else None
        if store.kind is StoreKind.NONE or store.row is None or (slot is not None and slot.in_place):
            continue
        starts[key] = end
        end += aligned(rows[key] * store.row_bytes)
    return Arena(rows, starts, end, end + inner_bytes(loop.body, plan))


def _rows(loop: LoopInstruction, plan: Plan, key: SlotKey, steps: int, taken: Mapping[int, int]) -> int:
    kind, number = plan.stores[key].kind, key[1]
    if kind is StoreKind.NONE:
        return 0
    if key[0] == "output":
        last = loop.step_outputs[number].keep_last
        return steps if last is None else min(steps, last)
    if kind is StoreKind.TAKEN:
        return taken[number]
    if kind in (StoreKind.SINGLE, StoreKind.HELD):
        return 1
    slot = loop.states[number]
    return slot.offset + steps if kind is StoreKind.WHOLE else ring_size(slot, steps)


def inner_bytes(program: Program, plan: Plan) -> int:
    """Return the memory that the inner loops need, as far as their plans and numbers of steps are known."""
    return max(
        (inner_arena(program, plan, index).bytes for index in plan.inner if _sized(program, plan, index)),
        default=0,
    )


def _sized(program: Program, plan: Plan, index: int) -> bool:
    loop = program.instructions[index]
    return isinstance(loop, LoopInstruction) and inner_steps(program, plan, loop) is not None


def inner_steps(program: Program, plan: Plan, loop: LoopInstruction) -> int | None:
    """Return the number of steps of an inner loop, or None if unknown; with a stop condition its maximum."""
    location, value = plan.places[loop.n_steps].location, program.constants.get(loop.n_steps)
    return location.value if isinstance(location, Size) else None if value is None else int(value)


def inner_arena(program: Program, plan: Plan, index: int) -> Arena:
    """Return the arena of a loop inside whose number of steps is known."""
    loop = program.instructions[index]
    assert isinstance(loop, LoopInstruction)
    steps = inner_steps(program, plan, loop)
    shapes = {k: plan.places[slot.outer].shape for k, slot in enumerate(loop.states) if slot.kind == "mitmot"}
    taken = {k: 0 if shape is None else shape[0] for k, shape in shapes.items()}
    return arena_of(loop, plan.inner[index][0], max(steps or 0, 0), taken)


class BufferLayout(NamedTuple):
    """The part of a plan that a run needs.

    Attributes
    ----------
    buffers : tuple of (shape, dtype)
        The buffers to make.
    arena : int
        Bytes of all buffers.
    outputs : tuple of shape or None
        Of each step output the shape of its rows; None where none are kept, or the first stored row has it.
    over : tuple of int or None
        Of each step output the sequence whose rows it may be written over.
    mismatch : tuple or None
        A state whose rows cannot have the shape that the step gives, and both shapes: an error of the first step.
    """

    buffers: tuple[tuple[tuple[int, ...], str], ...]
    arena: int
    outputs: tuple[ConcreteShape, ...]
    over: tuple[int | None, ...]
    mismatch: tuple[StateSlot, tuple[int, ...], tuple[int, ...]] | None = None


def buffer_layout(plan: Plan) -> BufferLayout:
    """Return the part of its plan that a run of a loop needs."""
    outputs: list[ConcreteShape] = []
    over: list[int | None] = []
    while (store := plan.stores.get(("output", len(outputs)))) is not None:
        outputs.append(None if store.kind is StoreKind.NONE or store.checked else store.row)
        over.append(store.over)
    return BufferLayout(plan.buffers, plan.arena, tuple(outputs), tuple(over), plan.mismatch)
