"""A tier that runs Programs from their bytes and plans alone: the measure of whether both suffice for an emitter.

Each run of a loop has one arena of bytes; every register is an address in it, with the shape and strides of the plan, and only
what the plan calls fresh is allocated.  No shape or dtype is inferred: they are compared with what plan and registers promise.
Memory is filled with junk before it is written, unless by the plan it takes over the array that is read, and after its last
use.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.backends.reference import perform
from scanviz.engine.graph.nodes import Array
from scanviz.engine.ops.effects import at_step, running_loop
from scanviz.engine.program.file import from_bytes, to_bytes
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program, dtype_of
from scanviz.engine.program.plan import Buffer, Emits, Grouping, Plan, overwritable, planning, single
from scanviz.engine.program.plan.arena import arena_of, inner_bytes, inner_steps
from scanviz.engine.program.plan.location import Row, Size, SlotKey, StoreKind, View, Where
from scanviz.engine.program.verify import verify_plan
from scanviz.engine.runtime import row_storage as running
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.errors import changed_shape
from scanviz.engine.runtime.interpreter import Interpreter
from tests.support.addresses import address, array_at, fill, memory

Values = Mapping[int, Array]
EVERYTHING = Emits(  # operations with a new array can write it in a given place
    lambda instruction, program: instruction.op.declaration.views is None, overwritable
)


class ArenaBackend(NamedTuple):
    """The tier: its groups of instructions, its abilities with memory, and the receiver of each loop's plan."""

    groups: Grouping = single
    emits: Emits = EVERYTHING
    on_plan: Callable[[LoopInstruction, Plan], None] = lambda loop, plan: None

    def run(self, program: Program, inputs: Sequence[Any]) -> list[Array]:
        """Return the outputs for inputs of a program that is written to bytes and read again."""
        read, given = from_bytes(to_bytes(program)), [np.asarray(array) for array in inputs]
        with np.errstate(all="ignore"):
            return [np.array(array) for array in run_once(read, given, None, self)]


def run_once(program: Program, given: Sequence[Array], plan: Plan | None, tier: ArenaBackend) -> list[Array]:
    """Return the outputs of a program that is no step of a loop."""
    shapes, strides = [array.shape for array in given], [array.strides for array in given]
    plan = plan or planning.plan(program, shapes, tier.groups, tier.emits, strides)
    verify_plan(program, plan)
    frame = Frame(program, plan, tier, memory(inner_bytes(program, plan)), 0, None)
    frame.known.update(zip(program.inputs, given, strict=True))
    frame.run(frozenset())
    return [frame.value(number) for number in program.outputs]


class Frame:
    """The registers of a program at work: numbers, fresh arrays and views by register, all else by address."""

    def __init__(self, program: Program, plan: Plan, tier: Any, arena: Array, room: int, row: Any) -> None:
        self.program, self.plan, self.tier = program, plan, tier
        self.arena, self.room, self.row = arena, room, row
        self.known: dict[int, Array] = dict(program.constants)
        self.kept: dict[int, Array] = {}  # hoisted work before the first step
        self.computed: dict[int, Array] = {}  # of the group at work, not stored yet

    def value(self, number: int) -> Array:
        """Return the content of a register, checked against the plan."""
        if number in self.computed:
            return self.computed[number]
        place, dtype = self.plan.places[number], dtype_of(self.program, number)
        match place.location:
            case Size(value):
                found = np.asarray(value, dtype)
            case Row(slot, tap):
                found = self.row(slot, tap)
            case Buffer(k):
                found = array_at(self.arena, self.plan.starts[k], self.plan.buffers[k][0], dtype)
            case View(base, int(offset)) if place.strides is not None and place.shape is not None:
                found = array_at(self.value(base), offset, place.shape, dtype, place.strides)
            case _:
                found = self.kept[number] if number in self.kept else self.known[number]
        assert found.dtype == dtype and place.shape in (None, found.shape), (number, place, found)
        if place.strides is not None and found.size:
            several = [
                k for k, size in enumerate(found.shape) if size > 1
            ]  # strides of other axes have no effect
            assert [found.strides[k] for k in several] == [place.strides[k] for k in several], (number, place)
            inside = isinstance(place.location, Row | Buffer | View)
            assert not inside or address(found) % place.alignment == 0, (number, place)
        return found if found.ndim else np.array(found)  # a number is a value

    def run(self, without: frozenset[int]) -> None:
        """Run all instructions but some, and free registers after their last use."""
        taken = {place.over for place in self.plan.places}
        for time, group in enumerate(self.plan.groups):
            self.run_group([index for index in group if index not in without])
            for number, place in enumerate(self.plan.places):
                if place.needed == time and number not in self.program.constants:
                    self.known.pop(number, None)
                    if isinstance(place.location, Buffer) and number not in taken:
                        fill(self.value(number))

    def run_group(self, group: Sequence[int]) -> None:
        """Run instructions as one: what they give is stored when all is computed."""
        for number in [number for index in group for number in self.program.instructions[index].outputs]:
            place = self.plan.places[number]
            if isinstance(place.location, Row | Buffer) and place.over is None:
                fill(self.value(number))
        for index in group:
            outputs = self.program.instructions[index].outputs
            if self.computed or not (len(outputs) == 1 and self.has_place(outputs[0])):
                self.computed.update(zip(outputs, self.results(index), strict=True))
        found, self.computed = self.computed, {}
        for number, value in found.items():
            if not self.has_place(number):
                self.store(number, value)

    def has_place(self, number: int) -> bool:
        """Return whether the plan determines a register completely: a size, or a view by its address, shape and strides."""
        place = self.plan.places[number]
        view = isinstance(place.location, View) and place.location.offset is not None
        return isinstance(place.location, Size) or (view and None not in (place.shape, place.strides))

    def results(self, index: int) -> Sequence[Array]:
        """Return what an instruction gives."""
        instruction, inner = self.program.instructions[index], self.plan.inner.get(index)
        if isinstance(instruction, Instruction):
            return perform(instruction.op, [self.value(number) for number in instruction.inputs])
        if isinstance(instruction, LoopInstruction):
            values = {number: self.value(number) for number in instruction.inputs}
            sized = inner is not None and inner_steps(self.program, self.plan, instruction) is not None
            room = self.arena[self.room :] if sized else None
            return Loop(instruction, values, inner[0] if inner else None, self.tier, room).run()
        then = bool(self.value(instruction.condition))
        program = instruction.then_program if then else instruction.else_program
        given = [self.value(k) for k in (instruction.then_inputs if then else instruction.else_inputs)]
        return run_once(program, given, inner[not then] if inner else None, self.tier)

    def store(self, number: int, value: Array) -> None:
        """Put a result where it belongs."""
        place = self.plan.places[number]
        assert value.dtype == dtype_of(self.program, number), (number, value.dtype)
        if isinstance(place.location, Row | Buffer):
            assert self.value(number).shape == value.shape, (number, place, value.shape)
            self.value(number)[...] = value
        elif isinstance(place.location, View):
            base = self.value(place.location.base)
            assert not value.size or np.may_share_memory(value, base), (number, place)
            self.known[number] = value
        elif place.over is not None:
            self.known[number] = self.known[place.over]
            self.known[number][...] = value
        elif place.location is not Where.LOCAL:
            self.known[number] = np.array(value)


class Loop:
    """One run of a loop in its arena, which is ``room`` where the loop around it has some."""

    def __init__(
        self, loop: LoopInstruction, values: Values, plan: Plan | None, tier: ArenaBackend, room: Array | None
    ) -> None:
        self.loop, self.step, self.steps = loop, 0, running.count_steps(loop, values[loop.n_steps])
        self.sequences = [values[slot.outer] for slot in loop.sequences]
        running.check_sequences(loop, self.sequences, self.steps)
        starts = [(slot, values[slot.outer]) for slot in loop.states]
        begun = [array[None] if slot.kind == "sitsot" else array for slot, array in starts]
        self.carries = [values[slot.outer] for slot in loop.carries]
        self.fixed = {slot.inner: values[slot.outer] for slot in loop.non_sequences}
        text: list[Any] = [(sequence.shape[1:], sequence.strides[1:]) for sequence in self.sequences]
        text += [(begun[k].shape[1:], None) for k, slot in enumerate(loop.states) for _ in slot.reads]
        text += [(carry.shape, None) for carry in self.carries]
        text += [(array.shape, array.strides) for array in self.fixed.values()]
        self.shapes, strides = [shape for shape, _ in text], [apart for _, apart in text]
        rows = [array.shape[1:] for array in begun]
        plan = plan or planning.plan_loop(loop, self.shapes, tier.groups, tier.emits, rows, strides)
        verify_plan(loop.body, plan)
        tier.on_plan(loop, plan)
        self.plan = plan
        self.layout = arena_of(loop, plan, self.steps, {k: len(array) for k, array in enumerate(begun)})
        self.arena = memory(self.layout.bytes) if room is None else room[: self.layout.bytes]
        assert len(self.arena) == self.layout.bytes
        fill(self.arena)
        self.frame = Frame(loop.body, plan, tier, self.arena, self.layout.inner, self.row)
        self.rows: dict[SlotKey, Any] = {key: self.rows_of(key) for key in plan.stores}
        for k, (slot, array) in enumerate(zip(loop.states, begun, strict=True)):
            if slot.in_place:
                self.rows["state", k] = array
            for position in range(len(array) if slot.kind == "mitmot" else slot.offset):
                self.row(("state", k), position - slot.offset)[...] = array[position]

    def rows_of(self, key: SlotKey) -> Any:
        """Return the rows of a slot: in the arena, or one by one where their shape is found at run time."""
        store, start = self.plan.stores[key], self.layout.starts.get(key)
        if start is None or store.row is None:
            return {}
        return array_at(self.arena, start, (self.layout.rows[key], *store.row), store.dtype)

    def row(self, key: SlotKey, tap: int) -> Array:
        """Return the row of a slot that a tap means in the present step."""
        given = key[0] == "sequence"
        rows: Array = self.sequences[key[1]] if given else self.rows[key]
        return rows[self.step if given else self.at(key, tap), ...]

    def at(self, key: SlotKey, tap: int) -> int:
        """Return the number of that row."""
        position, kind = self.plan.stores[key].offset + self.step + tap, self.plan.stores[key].kind
        if kind in (StoreKind.SINGLE, StoreKind.HELD):
            return 0
        return position % self.layout.rows[key] if kind in (StoreKind.RING, StoreKind.PAIR) else position

    def run(self) -> list[Array]:
        """Run all steps and return the results."""
        frame, plan, loop = self.frame, self.plan, self.loop
        if plan.mismatch is not None and self.steps:
            raise changed_shape(loop, plan.mismatch[0], 0, *plan.mismatch[1:])
        frame.known.update(self.fixed)
        if self.steps:
            for index in sorted(plan.invariant):
                frame.run_group([index])
                (number,) = loop.body.instructions[index].outputs
                frame.kept.update({number: frame.known[number]} if number in frame.known else {})
        with running_loop(loop.name):
            self.run_steps()
        return self.results(self.step)

    def run_steps(self) -> None:
        """Run steps up to a last one."""
        frame, plan, loop, stop = self.frame, self.plan, self.loop, False
        while self.step < self.steps and not stop:
            at_step(self.step)
            carried = {slot.read: carry for slot, carry in zip(loop.carries, self.carries, strict=True)}
            frame.known.update({**self.fixed, **carried})
            frame.run(plan.invariant)
            stop = self.end_step()
            self.step += 1

    def end_step(self) -> bool:
        """Store a step's results, those of mitmots last, and return whether the loop ends."""
        value, plan, loop = self.frame.value, self.plan, self.loop
        carried = enumerate(value(slot.write) for slot in loop.carries)
        self.carries = [np.array(v) if k in plan.carries_copied else v for k, v in carried]
        stop = loop.until is not None and bool(value(loop.until))
        writes = [(("state", k), tap, n) for k, slot in enumerate(loop.states) for tap, n in slot.writes]
        writes += [(("output", k), 0, slot.inner) for k, slot in enumerate(loop.step_outputs)]
        todo = [(key, tap, value(n)) for key, tap, n in writes if plan.places[n].location != Row(key, tap)]
        copied = {(("state", k), tap) for k, tap in plan.writes_copied}
        todo = [(key, tap, np.array(row) if (key, tap) in copied else row) for key, tap, row in todo]
        for key, tap, row in sorted(todo, key=lambda entry: plan.stores[entry[0]].kind is StoreKind.TAKEN):
            if plan.stores[key].kind is not StoreKind.NONE:
                self.write(key, tap, row)
        return stop

    def write(self, key: SlotKey, tap: int, value: Array) -> None:
        """Store a row, refusing another shape."""
        known = self.plan.stores[key].row is not None
        if not known:
            self.rows[key][self.at(key, tap)] = np.array(value)
        expected = (self.row(key, tap) if known else self.rows[key][min(self.rows[key])]).shape
        if value.shape != expected:
            slot: Any = (self.loop.states if key[0] == "state" else self.loop.step_outputs)[key[1]]
            raise changed_shape(self.loop, slot, self.step, expected, value.shape)
        if known:
            self.row(key, tap)[...] = value

    def results(self, done: int) -> list[Array]:
        """Return the kept rows, copied out of the arena."""
        found: dict[int | None, Array] = {}
        wanted: list[Any] = [(("output", k), slot) for k, slot in enumerate(self.loop.step_outputs)]
        for k, state in enumerate(self.loop.states):
            found[state.result] = np.array(self.rows["state", k])  # all of a mitmot
            wanted += [(("state", k), state)] if state.kind != "mitmot" else []
            if state.history is not None:
                found[state.history] = self.gathered(("state", k), range(-state.offset, done))
        for key, slot in wanted:
            if slot.result is not None:
                kept = done if slot.keep_last is None else min(slot.keep_last, done)
                found[slot.result] = self.gathered(key, range(done - kept, done))
        for carry, value in zip(self.loop.carries, self.carries, strict=True):
            found[carry.result] = np.array(value)
        return [found[number] for number in self.loop.outputs]

    def gathered(self, key: SlotKey, steps: range) -> Array:
        """Return the rows of steps as an array of their own."""
        row, rows, loop, module = self.plan.stores[key].row, [], self.loop, ArrayModule()
        for self.step in steps:
            rows.append(np.array(self.rows[key][self.at(key, 0)]))
        if row is None and not rows:
            inner, fixed = loop.step_outputs[key[1]].inner, list(self.fixed.values())
            run = Interpreter(loop.body, perform, module).run_apart
            row = running.row_shape_without_steps(loop, inner, self.shapes, fixed, run, module)
        return np.stack(rows) if rows else np.empty((0, *(row or ())), self.plan.stores[key].dtype)
