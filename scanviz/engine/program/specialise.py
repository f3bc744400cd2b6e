"""A loop's body for concrete shapes: where each register lives.

Lifetimes come from the order of instructions; shapes are those met at run time.  A register is a *scalar* (0-d: a value
of its own), a *view* of another, a *row* of a result (written straight there), a *buffer* made before the first step and
reused by later registers once nothing reads it, or *fresh* (a new array every step, where its shape depends on values
or its op cannot write into a given array).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, Program
from scanviz.engine.program.lifetimes import aliases, last_uses
from scanviz.engine.program.shapes import ConcreteShape, known_sizes, propagate_shapes

Writes = Callable[[Instruction, Program], bool]
Overwrites = Callable[[Instruction, Program], Sequence[int]]


@dataclass(frozen=True, slots=True)
class Row:
    """The register is the row that a slot of the loop stores: ``("state", 2)`` or ``("output", 0)``.

    ``tap`` is the one that a mitmot writes it at, 0 for all others.
    """

    slot: tuple[str, int]
    tap: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """The register lives in a buffer made before the first step."""

    number: int


Place = Row | Buffer


@dataclass(slots=True)
class MemoryPlan:
    """Where the registers of a loop's body live.

    Attributes
    ----------
    shapes : list
        The concrete shape of each register, None where unknown.
    places : dict
        Register → Row or Buffer; registers without an entry are scalars, views or fresh.
    buffers : list of (shape, dtype)
        The buffers to make.
    in_place : int
        How many operations write over one of their inputs.
    sizes : dict
        Register → the size that it holds, where that follows from the shapes of the inputs.
    """

    shapes: list[ConcreteShape]
    places: dict[int, Place] = field(default_factory=dict)
    buffers: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    in_place: int = 0
    sizes: dict[int, int] = field(default_factory=dict)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of all buffers."""
        import numpy as np

        return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in self.buffers)


def specialise(
    loop: LoopInstruction,
    inputs: Sequence[ConcreteShape],
    rows: dict[tuple[str, int], tuple[int, ...]],
    writes: Writes,
    overwrites: Overwrites,
) -> MemoryPlan:
    """Plan the memory of a loop's body.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    inputs : sequence
        Shapes of the body's inputs, None where they are not to be relied on.
    rows : dict
        Slot → shape of its rows, for the slots whose rows may be written straight.
    writes, overwrites : callable
        Whether an instruction can write its result into a given array, and the positions of the inputs that it may be.
    """
    plan = MemoryPlan(propagate_shapes(loop.body, inputs), sizes=known_sizes(loop.body, inputs))
    _place_rows(loop, plan, rows, writes)
    _place_mitmot_rows(loop, plan, rows, writes, overwrites)
    _place_buffers(loop.body, plan, writes, overwrites if loop.reuse else _nothing, loop.reuse)
    return plan


def is_scalar(program: Program, number: int) -> bool:
    """Return whether a register holds one number."""
    kind = program.registers[number].type
    return isinstance(kind, TensorType) and kind.ndim == 0


def _producers(program: Program) -> dict[int, AnyInstruction]:
    return {number: each for each in program.instructions for number in each.outputs}


def _place_rows(
    loop: LoopInstruction, plan: MemoryPlan, rows: dict[tuple[str, int], tuple[int, ...]], writes: Writes
) -> None:
    body, producer = loop.body, _producers(loop.body)
    wanted = [
        (("state", k), slot.writes[0][1]) for k, slot in enumerate(loop.states) if slot.kind != "mitmot"
    ]
    wanted += [(("output", k), slot.inner) for k, slot in enumerate(loop.step_outputs)]
    for slot, number in wanted:
        made = producer.get(number)
        fits = slot in rows and plan.shapes[number] == rows[slot] and not is_scalar(body, number)
        if fits and number not in plan.places and isinstance(made, Instruction) and writes(made, body):
            plan.places[number] = Row(slot)


def _place_mitmot_rows(
    loop: LoopInstruction,
    plan: MemoryPlan,
    rows: dict[tuple[str, int], tuple[int, ...]],
    writes: Writes,
    overwrites: Overwrites,
) -> None:
    """Let operations write straight into rows of mitmots, where the row as it was is needed by nothing later.

    The row that is written may have been read in the same step: then this must be the last use of what was read, or of a
    view of it, and the operation one that may write over that input.
    """
    body, last, shared = loop.body, last_uses(loop.body), aliases(loop.body)
    made = {number: (k, each) for k, each in enumerate(body.instructions) for number in each.outputs}
    for k, slot in enumerate(loop.states):
        if slot.kind != "mitmot":
            continue
        reads = dict(slot.reads)
        for tap, number in slot.writes:
            index, maker = made.get(number, (-1, None))
            fits = ("state", k) in rows and plan.shapes[number] == rows["state", k]
            if not fits or is_scalar(body, number) or number in plan.places:
                continue
            if not isinstance(maker, Instruction) or len(maker.outputs) != 1 or not writes(maker, body):
                continue
            if _may_replace(reads.get(tap), index, maker, body, last, shared, overwrites):
                plan.places[number] = Row(("state", k), tap)


def _may_replace(
    old: int | None,
    index: int,
    maker: Instruction,
    body: Program,
    last: dict[int, int],
    shared: dict[int, frozenset[int]],
    overwrites: Overwrites,
) -> bool:
    """Return whether an instruction may write its result over a row that the step has read (None: it has not)."""
    if old is None or old not in last or last[old] < index:
        return True
    viewed = any(old in shared.get(each, ()) for each in maker.inputs)
    places = [each for each in overwrites(maker, body) if maker.inputs[each] == old]
    return last[old] == index and not viewed and len(places) == maker.inputs.count(old)


def _nothing(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return no input that may be written over."""
    return ()


def _place_buffers(
    body: Program, plan: MemoryPlan, writes: Writes, overwrites: Overwrites, reuse: bool
) -> None:
    last, shared = last_uses(body), aliases(body)
    free: dict[tuple[tuple[int, ...], str], list[int]] = {}
    for index, instruction in enumerate(body.instructions):
        if (
            isinstance(instruction, Instruction)
            and len(instruction.outputs) == 1
            and writes(instruction, body)
        ):
            _place_one(body, plan, instruction, index, last, shared, free, overwrites)
        for number in set(instruction.inputs) | set(instruction.outputs):
            place = plan.places.get(number)
            if (
                isinstance(place, Buffer)
                and last[number] <= index
                and not _taken_over(plan, instruction, place, number)
            ):
                kept = free.setdefault(plan.buffers[place.number], [])
                if reuse and place.number not in kept:
                    kept.append(place.number)


def _taken_over(plan: MemoryPlan, instruction: AnyInstruction, place: Buffer, number: int) -> bool:
    """Return whether the instruction's own result now lives in an input's buffer."""
    return any(output != number and plan.places.get(output) == place for output in instruction.outputs)


def _place_one(
    body: Program,
    plan: MemoryPlan,
    instruction: Instruction,
    index: int,
    last: dict[int, int],
    shared: dict[int, frozenset[int]],
    free: dict[tuple[tuple[int, ...], str], list[int]],
    overwrites: Overwrites,
) -> None:
    output = instruction.outputs[0]
    shape, kind = plan.shapes[output], body.registers[output].type
    if output in plan.places or shape is None or not shape or not isinstance(kind, TensorType):
        return
    key = (shape, kind.dtype)
    for position in overwrites(instruction, body):
        number = instruction.inputs[position]
        place = plan.places.get(number)
        mine = isinstance(place, Buffer) and last[number] == index and number not in shared
        if mine and isinstance(place, Buffer) and plan.buffers[place.number] == key:
            plan.places[output] = place
            plan.in_place += 1
            return
    waiting = free.get(key)
    if waiting:
        plan.places[output] = Buffer(waiting.pop())
        return
    plan.buffers.append(key)
    plan.places[output] = Buffer(len(plan.buffers) - 1)
