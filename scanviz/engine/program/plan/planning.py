"""Planning: one pass over a Program gives every register its place, and the same for the loops and branches inside.

A result gets the first of these places that is possible:

1. a row of a state or output;
2. a buffer that others use before and after it;
3. none: sizes known beforehand, single numbers, results that only their own group reads;
4. the array of an input that it may write over;
5. a view of an input;
6. an array of its own at every step.

Values that stay the same from step to step are computed once before the loop.  They are slices of a buffer at fixed places, one
array for the whole run; and views, sizes and casts of non-sequences and constants, which cost more to make than to keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.shape import RESHAPE
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    NonSequenceSlot,
    Program,
    SequenceSlot,
    StateSlot,
    is_scalar,
)
from scanviz.engine.program.lifetimes import owned_registers
from scanviz.engine.program.plan.draft import Draft, drafted, is_whole, view_of
from scanviz.engine.program.plan.location import (
    ALIGNMENT,
    Buffer,
    Emits,
    Grouping,
    Location,
    Place,
    Plan,
    Row,
    Size,
    SlotKey,
    Store,
    StoreKind,
    View,
    Where,
    packed,
)
from scanviz.engine.program.plan.result_placement import (
    copied_carries,
    copied_writes,
    laid_out,
    mismatch_of,
    place_buffers,
    place_rows,
    stores_of,
)
from scanviz.engine.program.shapes import ConcreteShape, shapes_and_sizes, sizes_inside
from scanviz.engine.program.slots import passed

Strides = tuple[int, ...] | None


def plan(
    program: Program,
    shapes: Sequence[ConcreteShape] | None,
    groups: Grouping,
    emits: Emits,
    strides: Sequence[Strides] | None = None,
    sizes: Mapping[int, int] | None = None,
) -> Plan:
    """Return where the registers of a program live that is run once.

    Parameters
    ----------
    program : Program
        A function's, or one side of a branch.
    shapes : sequence or None
        Of its inputs, None for each that may not be relied on; None if none may.
    groups : callable
        ``groups(program, shapes)`` gives the instructions that are done as one.
    emits : Emits
        Abilities of the emitter with memory.
    strides : sequence, optional
        Of its inputs, in bytes, None for each that is not known.
    sizes : mapping, optional
        Those of its inputs that are known to be sizes, with their values.
    """
    draft = _draft(program, shapes, groups, emits, sizes)
    owned = owned_registers(program.instructions, program.outputs, program.inputs)
    for instruction in program.instructions:
        in_array = instruction.op.name == "assign" and not is_scalar(program, instruction.outputs[0])
        if in_array and instruction.inputs[0] in owned:
            # a new array that nothing else reads: no copy
            draft.take_over(instruction.outputs[0], instruction.inputs[0])
    return _finished(draft, dict.fromkeys(program.inputs, Where.GIVEN), strides, groups)


def plan_loop(
    loop: LoopInstruction,
    shapes: Sequence[ConcreteShape] | None,
    groups: Grouping,
    emits: Emits,
    rows: Sequence[ConcreteShape] | None = None,
    strides: Sequence[Strides] | None = None,
) -> Plan:
    """Return where the registers of a loop's step live, and how the rows of its slots lie.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    shapes : sequence or None
        Of the step's inputs, in the order of the body's; None if they change from run to run.
    groups, emits
        As of :func:`plan`.
    rows : sequence, optional
        Of each state the shape of its rows; by default that of the step's input which reads them.
    strides : sequence, optional
        Of the step's inputs that are no states' rows, in bytes, None for each that is not known.
    """
    body = loop.body
    draft = _draft(body, shapes, groups, emits)
    rows = _rows_read(loop, draft) if rows is None else rows
    stores = stores_of(loop, draft, rows, shapes is not None)
    mismatch = mismatch_of(loop, draft, rows) if shapes is not None else None
    if mismatch is None:
        place_rows(loop, draft, stores)
    place_buffers(draft, loop.reuse)
    return _finished(
        draft,
        _given(loop),
        strides,
        groups,
        stores=stores,
        invariant=invariant_instructions(loop, draft),
        carries_copied=copied_carries(loop, draft),
        writes_copied=copied_writes(loop, draft),
        mismatch=mismatch,
    )


def _draft(
    program: Program,
    shapes: Sequence[ConcreteShape] | None,
    groups: Grouping,
    emits: Emits,
    inside: Mapping[int, int] | None = None,
) -> Draft:
    given = [None] * len(program.inputs) if shapes is None else shapes
    known, sizes = shapes_and_sizes(program, given, inside)
    return drafted(program, known, sizes, groups, emits)


def _rows_read(loop: LoopInstruction, draft: Draft) -> list[ConcreteShape]:
    return [draft.shapes[slot.reads[0][1]] if slot.reads else None for slot in loop.states]


def _given(loop: LoopInstruction) -> dict[int, Location]:
    """Return where the step's inputs live."""
    found: dict[int, Location] = dict.fromkeys(loop.body.inputs, Where.GIVEN)
    for k, slot in enumerate(loop.sequences):
        found[slot.inner] = Row(("sequence", k), slot.tap)
    for k, state in enumerate(loop.states):
        for tap, number in state.reads:
            found[number] = Row(("state", k), tap)
    return found


def _finished(
    draft: Draft,
    given: Mapping[int, Location],
    strides: Sequence[Strides] | None,
    groups: Grouping,
    **more: Any,
) -> Plan:
    """Return the plan with a place for each register, and with the plans of loops and branches inside."""
    stores: Mapping[SlotKey, Store] = more.get("stores", {})
    found: dict[int, Place] = {}
    laid = strides or [None] * len(draft.program.inputs)
    for number, known in zip(draft.program.inputs, laid, strict=True):
        found[number] = _input_place(draft, number, given[number], known, stores)
    for number, value in draft.program.constants.items():
        found[number] = _placed(draft, number, Where.CONSTANT, value.strides, value.itemsize)
    idle: set[int] = set()
    for index, instruction in enumerate(draft.program.instructions):
        for number in instruction.outputs:
            found[number] = _result_place(draft, instruction, number, found, stores)
        if _is_idle(draft, instruction):
            idle.add(index)
    places = tuple(found.get(k, _UNUSED) for k in range(len(draft.program.registers)))
    starts, arena = laid_out(draft.buffers)
    return Plan(
        draft.groups,
        places,
        tuple(draft.buffers),
        starts,
        arena,
        frozenset(idle),
        draft.fusions,
        dict(_inner(draft, places, groups)),
        **more,
    )


def _is_idle(draft: Draft, instruction: AnyInstruction) -> bool:
    """Return whether there is nothing to do: a size that is known, or a view of a whole array."""
    if not isinstance(instruction, Instruction) or len(instruction.outputs) != 1:
        return False
    return instruction.outputs[0] in draft.sizes or is_whole(draft, instruction)


_UNUSED = Place(Where.FRESH, None, None, 1, -1, -1, None)


def _placed(draft: Draft, number: int, location: Location, strides: Strides, alignment: int) -> Place:
    made = draft.made.get(number)
    return Place(
        location,
        draft.shapes[number],
        strides,
        alignment,
        -1 if made is None else draft.time[made],
        draft.needed.get(number, -1),
        draft.over.get(number),
    )


def _input_place(
    draft: Draft, number: int, location: Location, strides: Strides, stores: Mapping[SlotKey, Store]
) -> Place:
    if number in draft.sizes:
        return _placed(draft, number, Size(draft.sizes[number]), (), 1)
    if isinstance(location, Row) and location.slot in stores:
        return _row(draft, number, location, stores[location.slot])
    return _placed(draft, number, location, strides, 1)


def _row(draft: Draft, number: int, location: Row, store: Store) -> Place:
    """Return the place of a row of a store: rows lie one after another, but in an array that is taken over."""
    shape = draft.shapes[number]
    if shape is None or store.kind is StoreKind.TAKEN or store.row != shape:
        return _placed(draft, number, location, None, 1)
    strides = packed(shape, np.dtype(store.dtype).itemsize)
    return _placed(draft, number, location, strides, gcd(ALIGNMENT, store.row_bytes))


def _result_place(
    draft: Draft,
    instruction: AnyInstruction,
    number: int,
    found: Mapping[int, Place],
    stores: Mapping[SlotKey, Store],
) -> Place:
    program, location = draft.program, draft.located.get(number)
    size, kind = draft.sizes.get(number), program.registers[number].type
    if isinstance(location, Row):
        return _row(draft, number, location, stores[location.slot])
    if isinstance(location, Buffer):
        shape, dtype = draft.buffers[location.number]
        return _placed(draft, number, location, packed(shape, np.dtype(dtype).itemsize), ALIGNMENT)
    if size is not None:
        return _placed(draft, number, Size(size), (), 1)
    if number in draft.local:
        return _placed(draft, number, Where.LOCAL, None, 1)
    if is_scalar(program, number):
        return _placed(draft, number, Where.NUMBER, (), 1)
    old = draft.over.get(number)
    if old is not None:
        return _placed(draft, number, found[old].location, found[old].strides, found[old].alignment)
    if isinstance(instruction, Instruction) and isinstance(kind, TensorType):
        viewed = instruction.op.declaration.views
        if viewed is not None and not is_scalar(program, instruction.inputs[viewed]):
            return _view(draft, instruction, number, instruction.inputs[viewed], found)
    return _placed(draft, number, Where.FRESH, None, 1)


def _root(number: int, found: Mapping[int, Place]) -> int:
    location = found[number].location
    return location.base if isinstance(location, View) else number


def _view(
    draft: Draft, instruction: Instruction, number: int, source: int, found: Mapping[int, Place]
) -> Place:
    seen = view_of(draft, instruction, found[source].strides)
    if seen is None:
        return _placed(draft, number, Where.FRESH, None, 1)
    (start, strides), before = seen, found[source].location
    offset = before.offset if isinstance(before, View) else 0
    if start is None or offset is None:
        return _placed(draft, number, View(_root(source, found), None), strides, 1)
    offset += start
    return _placed(
        draft, number, View(_root(source, found), offset), strides, gcd(found[source].alignment, start)
    )


def _inner(draft: Draft, places: Sequence[Place], groups: Grouping) -> Iterator[tuple[int, tuple[Plan, ...]]]:
    """Iterate over the loops and branches inside whose input shapes are known, with their plans."""
    for index, instruction in enumerate(draft.program.instructions):
        if isinstance(instruction, LoopInstruction):
            shapes, strides = _step_inputs(instruction, draft, places)
            if None not in shapes:
                rows = [_row_shape(slot, draft.shapes[slot.outer]) for slot in instruction.states]
                yield index, (plan_loop(instruction, shapes, groups, draft.emits, rows, strides),)
        elif isinstance(instruction, BranchInstruction):
            plans = []
            for side, reads in instruction.sides:
                shapes, strides = [draft.shapes[k] for k in reads], [places[k].strides for k in reads]
                sizes = sizes_inside(side, reads, draft.sizes)
                plans.append(plan(side, shapes, groups, draft.emits, strides, sizes))
            yield index, tuple(plans)


def _row_shape(slot: StateSlot, given: ConcreteShape) -> ConcreteShape:
    return given if given is None or slot.kind == "sitsot" else given[1:]


def _step_inputs(
    loop: LoopInstruction, draft: Draft, places: Sequence[Place]
) -> tuple[list[ConcreteShape], list[Strides]]:
    """Return the shapes and strides of a step's inputs, from those of the registers around the loop."""
    shapes: list[ConcreteShape] = []
    strides: list[Strides] = []
    for entry in passed(loop):
        shape, apart = draft.shapes[entry.outer], places[entry.outer].strides
        stays = isinstance(entry.slot, SequenceSlot | NonSequenceSlot)  # where it is for all steps
        shapes.append(shape if shape is None else shape[entry.rows :])
        strides.append(apart[entry.rows :] if stays and apart is not None else None)
    return shapes, strides


def invariant_instructions(loop: LoopInstruction, draft: Draft) -> frozenset[int]:
    """Return the indices of the body's instructions that can be run once, before the first step."""
    fixed = {slot.inner for slot in loop.non_sequences} | set(loop.body.constants) | set(draft.sizes)
    whole = {number for number, place in draft.located.items() if isinstance(place, Buffer)}
    views: set[int] = set()  # arrays that are one view of a buffer in every step
    found: set[int] = set()
    for index, instruction in enumerate(loop.body.instructions):
        if not isinstance(instruction, Instruction) or not _is_taken(loop, instruction):
            continue
        (output,) = instruction.outputs
        source, *others = instruction.inputs
        if output in draft.located or not fixed.issuperset(others):
            continue
        if source in fixed:
            fixed.add(output)
        elif source in whole | views and _is_view(loop, instruction, source in whole):
            views.add(output)
        else:
            continue
        found.add(index)
    return frozenset(found)


def _is_taken(loop: LoopInstruction, instruction: Instruction) -> bool:
    """Return whether an instruction of invariant inputs is done once: a view, or a cast of a number."""
    cast = instruction.op.declaration is CAST and is_scalar(loop.body, instruction.outputs[0])
    return cast or _is_look(instruction.op)


def _is_look(op: Op) -> bool:
    """Return whether an operation only views an array, or picks from it."""
    facts = op.facts
    size = facts.size == "is" and not facts.raises
    return facts.always_view or size or op.declaration is INDEX or op.declaration is RESHAPE


def _is_view(loop: LoopInstruction, instruction: Instruction, whole: bool) -> bool:
    """Return whether a result is a view of its source for sure; ``whole``: that source is a buffer, not a part of one."""
    if is_scalar(loop.body, instruction.outputs[0]) or is_scalar(loop.body, instruction.inputs[0]):
        return False  # a number is a value, not a view
    return instruction.op.facts.always_view or (instruction.op.declaration is RESHAPE and whole)
