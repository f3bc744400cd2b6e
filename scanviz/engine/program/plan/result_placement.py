"""Placement of results: in rows of states and outputs, or in buffers that they share one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace as with_fields

from scanviz.engine.program.instructions import Instruction, LoopInstruction, StateSlot, dtype_of, is_scalar
from scanviz.engine.program.plan.draft import Draft
from scanviz.engine.program.plan.location import (
    Buffer,
    Row,
    SlotKey,
    Store,
    StoreKind,
    aligned,
)
from scanviz.engine.program.shapes import ConcreteShape

Mismatch = tuple[StateSlot, tuple[int, ...], tuple[int, ...]]


def wraps(slot: StateSlot) -> bool:
    """Return whether the rows of a state may lie in a ring: not all of them are kept."""
    return slot.kind != "mitmot" and (slot.result is None or slot.keep_last is not None)


def stores_of(
    loop: LoopInstruction, draft: Draft, rows: Sequence[ConcreteShape], known: bool
) -> dict[SlotKey, Store]:
    """Choose how the rows of each slot lie.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    draft : Draft
        The shapes that are known.
    rows : sequence
        Of each state the shape of the rows it has, None where it is not known.
    known : bool
        Whether shapes may be relied on: where they change from run to run, every row is checked.
    """
    found: dict[SlotKey, Store] = {}
    for k, (state, row) in enumerate(zip(loop.states, rows, strict=True)):
        checked = not known or any(draft.shapes[number] is None for _, number in state.writes)
        dtype = dtype_of(loop.body, state.writes[0][1])
        found["state", k] = Store(_kind(loop, state, checked), dtype, row, state.offset, checked)
    for k, output in enumerate(loop.step_outputs):
        shape = draft.shapes[output.inner] if known else None
        dtype = dtype_of(loop.body, output.inner)
        kept = StoreKind.WHOLE if output.keep_last is None else StoreKind.RING
        kind = StoreKind.NONE if output.result is None else kept
        found["output", k] = Store(kind, dtype, shape, 0, shape is None)
    return found


def _kind(loop: LoopInstruction, slot: StateSlot, checked: bool) -> StoreKind:
    if slot.kind == "mitmot":
        return StoreKind.TAKEN
    if not wraps(slot):
        return StoreKind.WHOLE
    if slot.kind == "mitsot" or (slot.keep_last or 1) != 1 or checked:
        return StoreKind.RING
    return StoreKind.HELD if is_scalar(loop.body, slot.writes[0][1]) else StoreKind.PAIR


def mismatch_of(loop: LoopInstruction, draft: Draft, rows: Sequence[ConcreteShape]) -> Mismatch | None:
    """Return the first state whose rows cannot have the shape that the step gives, with both shapes."""
    for state, row in zip(loop.states, rows, strict=True):
        for _, number in state.writes:
            shape = draft.shapes[number]
            if row is not None and shape is not None and shape != row:
                return state, row, shape
    return None


def place_rows(loop: LoopInstruction, draft: Draft, stores: dict[SlotKey, Store]) -> None:
    """Write results straight into their rows, where their shapes are known to be those of the rows."""
    made = [(("state", k), slot.writes[0][1]) for k, slot in enumerate(loop.states) if slot.kind != "mitmot"]
    made += [(("output", k), slot.inner) for k, slot in enumerate(loop.step_outputs)]
    _place_over(loop, draft, stores)
    for slot_key, number in made:
        store = stores[slot_key]
        free = store.kind is not StoreKind.NONE and not store.checked and number not in draft.located
        if free and draft.writable(number) is not None:
            draft.located[number] = Row(slot_key)
    for k, slot in enumerate(loop.states):
        if slot.kind == "mitmot" and not stores["state", k].checked:
            _place_in_mitmot(draft, k, slot)
        elif stores["state", k].kind is StoreKind.PAIR and slot.reads:
            old, new, row = slot.reads[0][1], slot.writes[0][1], Row(("state", k))
            if new == old or (draft.located.get(new) == row and _taken_over(draft, new, old, row)):
                stores["state", k] = with_fields(stores["state", k], kind=StoreKind.SINGLE)


def _place_over(loop: LoopInstruction, draft: Draft, stores: dict[SlotKey, Store]) -> None:
    """Write rows of outputs over those of sequences that the step has finished reading."""
    given_twice = [number for number in loop.body.outputs if loop.body.outputs.count(number) > 1]
    for k, slot in enumerate(loop.step_outputs):
        if slot.over is None or not draft.emits.over_sequences:
            continue
        slot_key: SlotKey = ("output", k)
        store, read = stores[slot_key], loop.sequences[slot.over].inner
        alike = draft.shapes[read] == draft.shapes[slot.inner] is not None
        plain = store.kind is StoreKind.WHOLE and not store.checked and slot.inner in draft.made
        if not alike or not plain or slot.inner in given_twice:
            continue
        draft.needed[read] = _values_needed(draft, read)
        if draft.writable(slot.inner) is None:  # it is stored when the step has done all else
            is_over = draft.needed.get(read, -1) < len(draft.groups)
        elif draft.needed.get(read, -1) < draft.time[draft.made[slot.inner]]:
            is_over = True
        else:
            is_over = _taken_over(draft, slot.inner, read, Row(slot_key))
        if is_over:
            stores[slot_key] = with_fields(store, over=slot.over)


def _values_needed(draft: Draft, number: int) -> int:
    """Return the last group that needs a register's elements, and not just its known sizes."""
    looking = {number, *(other for other, seen in draft.shared.items() if number in seen)}
    if not looking.isdisjoint(draft.program.outputs):
        return len(draft.groups)
    return max(
        (
            draft.time[index]
            for index, instruction in enumerate(draft.program.instructions)
            if not looking.isdisjoint(instruction.inputs) and not draft.sizes.keys() >= {*instruction.outputs}
        ),
        default=-1,
    )


def _place_in_mitmot(draft: Draft, k: int, slot: StateSlot) -> None:
    """Let operations write straight into rows of a mitmot, where the row as it was is needed by nothing later.

    If the step read that row before, the operation must be one that may write over it, and the last that needs the row or a
    view of it.
    """
    reads = dict(slot.reads)
    for tap, number in slot.writes:
        if number in draft.located or draft.writable(number) is None:
            continue
        old = reads.get(tap)
        if old is None or draft.needed.get(old, -1) < draft.time[draft.made[number]]:
            draft.located[number] = Row(("state", k), tap)
        else:
            _taken_over(draft, number, old, Row(("state", k), tap))


def _taken_over(draft: Draft, new: int, old: int, row: Row) -> bool:
    """Let a row be written over the previous row, by one operation or several consecutive ones."""
    chain = [new]
    while not draft.may_take_over(chain[-1], old):
        before = _written_over(draft, chain[-1])
        if before is None:
            return False
        chain.append(before)
    for number, before in zip(chain, [*chain[1:], old], strict=True):
        draft.located[number] = row
        draft.take_over(number, before)
    return True


def _written_over(draft: Draft, number: int) -> int | None:
    """Return an unplaced register that an operation may write its result over, or None."""
    maker = draft.writable(number)
    if maker is None:
        return None
    kind = draft.shapes[number], dtype_of(draft.program, number)
    for k in draft.emits.overwrites(maker, draft.program):
        old = maker.inputs[k]
        alone = old in draft.made and old not in draft.located and old not in draft.shared
        alike = alone and (draft.shapes[old], dtype_of(draft.program, old)) == kind
        if alike and draft.writable(old) is not None and draft.may_take_over(number, old):
            return old
    return None


def copied_carries(loop: LoopInstruction, draft: Draft) -> frozenset[int]:
    """Return the carries whose values may lie in memory that the next step overwrites."""
    rewritten = {number for slot in loop.states for _, number in slot.reads} | set(draft.located)
    return frozenset(
        k
        for k, slot in enumerate(loop.carries)
        if draft.shared.get(slot.write, frozenset((slot.write,))) & rewritten
    )


def copied_writes(loop: LoopInstruction, draft: Draft) -> frozenset[tuple[int, int]]:
    """Return the rows of mitmots, by state and tap, that are copied before the first of them is stored.

    They may be views of rows that are stored before them.  One alone needs no copy.
    """
    stored = [
        (k, tap)
        for k, slot in enumerate(loop.states)
        if slot.kind == "mitmot"
        for tap, number in slot.writes
        if draft.located.get(number) != Row(("state", k), tap)
    ]
    return frozenset(stored) if len(stored) > 1 else frozenset()


Key = tuple[tuple[int, ...], str]


def place_buffers(draft: Draft, reuse: bool) -> None:
    """Give each result that can be written into memory, and has no place yet, a buffer.

    Parameters
    ----------
    draft : Draft
        The decisions so far; is changed.
    reuse : bool
        Whether buffers may be shared and written over.
    """
    free: dict[Key, list[int]] = {}
    for time, group in enumerate(draft.groups):
        used: set[int] = set()
        for index in group:
            instruction = draft.program.instructions[index]
            used |= {*instruction.inputs, *instruction.outputs}
            number = instruction.outputs[0] if len(instruction.outputs) == 1 else -1
            if number >= 0 and number not in draft.located and draft.shapes[number]:
                maker = draft.writable(number)
                if maker is not None:
                    _place(draft, maker, number, free, reuse)
        if reuse:
            _let_go(draft, used, time, free)


def _place(draft: Draft, maker: Instruction, number: int, free: dict[Key, list[int]], reuse: bool) -> None:
    shape = draft.shapes[number]
    assert shape is not None
    key = (shape, dtype_of(draft.program, number))
    for old in _candidates(draft, maker, number) if reuse else ():
        place = draft.located.get(old)
        mine = isinstance(place, Buffer) and old not in draft.shared
        if (
            mine
            and isinstance(place, Buffer)
            and draft.buffers[place.number] == key
            and draft.may_take_over(number, old)
        ):
            draft.located[number] = place
            draft.take_over(number, old)
            return
    waiting = free.get(key)
    if waiting:
        draft.located[number] = Buffer(waiting.pop())
        return
    draft.buffers.append(key)
    draft.located[number] = Buffer(len(draft.buffers) - 1)


def _candidates(draft: Draft, maker: Instruction, number: int) -> list[int]:
    """Return the registers that the result may be written over: those the instruction names, then others of its group."""
    found = [maker.inputs[k] for k in draft.emits.overwrites(maker, draft.program)]
    group = draft.groups[draft.time[draft.made[number]]]
    if len(group) > 1:
        found += [number for index in group for number in draft.program.instructions[index].inputs]
    return found


def _let_go(draft: Draft, used: set[int], time: int, free: dict[Key, list[int]]) -> None:
    """Note the buffers that nothing needs after a group."""
    for number in used:
        place = draft.located.get(number)
        if isinstance(place, Buffer) and draft.needed[number] <= time and number not in draft.given_up:
            kept = free.setdefault(draft.buffers[place.number], [])
            if place.number not in kept:
                kept.append(place.number)


def laid_out(buffers: list[Key]) -> tuple[tuple[int, ...], int]:
    """Return where each buffer begins in one piece of memory, aligned, and how long that is.

    Examples
    --------
    >>> laid_out([((3,), "float64"), ((2, 2), "float32")])
    ((0, 64), 128)
    """
    starts, end = [], 0
    for shape, dtype in buffers:
        starts.append(end)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        end += aligned(size)
    return tuple(starts), end
