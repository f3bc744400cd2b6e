"""Inner loops and branches in the function of the outer loop; rows of inner loops are scratch memory.

The number of steps (with a stop condition, its maximum) and all shapes must be known.  Ctrl+c is heard only between steps of the
outermost loop, so an inner loop whose runs may be long is called out instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.call_arguments import Site
from scanviz.engine.backends.native.emit.instructions import copy
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, must_fit
from scanviz.engine.backends.native.emit.program import INSIDE, ProgramWriter
from scanviz.engine.backends.native.emit.steps import StepsWriter
from scanviz.engine.backends.native.emit.strip_mining import strip_mined_loop, write_strip_mined
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.backends.native.run.counts import count_begin, count_end
from scanviz.engine.cost import MACHINE_RATES
from scanviz.engine.program.instructions import (
    BranchInstruction,
    LoopInstruction,
    StateSlot,
    StepOutputSlot,
    dtype_of,
    is_scalar,
)
from scanviz.engine.program.plan import Plan, StoreKind, wraps
from scanviz.engine.program.plan.arena import inner_steps
from scanviz.engine.program.work import step_ns


class InlineWriter(StepsWriter):
    """Writes an inner loop, an instruction of the program of ``around``."""

    def __init__(self, around: ProgramWriter, index: int, loop: LoopInstruction, plan: Plan) -> None:
        super().__init__(loop, plan, around.vector_bytes, around.shared, around, around.site_at(index))
        self.outside, self.inline = around, around.inline
        self.first = constant(0, "int64")
        self.rows_of: dict[tuple[str, int], ArrayPlace] = {}
        self.starts: dict[tuple[str, int], Value] = {}
        self.finals: dict[int, Value] = {}
        self._carries = [
            self.places.temporary(self.places.shape(slot.read) or (), dtype_of(loop.body, slot.read))
            for slot in loop.carries
        ]

    def write(self) -> None:
        """Write the loop, and enter the places of its results.

        Raises
        ------
        NotWrittenError
            If something of it cannot be written.
        """
        loop, outside = self.loop, self.outside
        steps = inner_steps(outside.body, outside.plan, loop)
        if steps is None or steps < 0:
            raise NotWrittenError(f"the number of steps of `{loop.name}` depends on values")
        if is_long(loop, self.plan, steps):
            raise NotWrittenError(
                f"`{loop.name}` is a long inner loop, which runs in its own chunks of steps"
            )
        self.refuse()
        with outside.inside([number for number in loop.inputs if number != loop.n_steps]):
            self.open()
            self._read_outside()
            self._make_rows(steps)
            last, mined = constant(steps, "int64"), strip_mined_loop(self)
            begun = count_begin(self.shared, loop.key, _loops_around(self.site) > 1)
            done = self.write_steps(last)[0] if mined is None else write_strip_mined(self, mined, last)
            count_end(self.shared, begun, done)
        self._give_results(steps, done)

    # before the first step

    def _read_outside(self) -> None:
        """Take non-sequences and initial carries from the program around the loop."""
        loop, outside = self.loop, self.outside
        for slot in loop.non_sequences:
            if is_scalar(outside.body, slot.outer):
                self.values[slot.inner] = outside.value(slot.outer)
            else:
                self.places.moved(slot.inner, self._around(slot.outer))
        for carry, place in zip(loop.carries, self._carries, strict=True):
            if is_scalar(outside.body, carry.outer):
                self.code.store(outside.value(carry.outer), self.operand(place).address)
            else:
                copy(self, self._around(carry.outer), place)

    def _around(self, number: int) -> ArrayPlace:
        """Return the place of an array of the program around the loop."""
        place = self.outside.places.of(number)
        if place is None:
            raise NotWrittenError("the shape of an inner loop's input depends on values")
        return place

    def carried(self, k: int) -> ArrayPlace:
        """Return the place of a carry between two steps."""
        return self._carries[k]

    def start(self, kind: str, k: int) -> Value:
        """Return the address of the first row of a slot."""
        return self.starts[kind, k]

    def _make_rows(self, steps: int) -> None:
        for k, sequence in enumerate(self.loop.sequences):
            place = self._around(sequence.outer)
            must_fit(place.shape[0] >= steps)
            self.starts["sequence", k] = self.operand(place).address
            self.numbers["sequence", k] = constant(place.strides[0], "int64")
            base = (f"sequence{self.within}", k, sequence.tap)
            row = ArrayPlace(base, 0, place.shape[1:], place.strides[1:], place.dtype)
            self.places.moved(sequence.inner, row)
        for k, slot in enumerate(self.loop.states):
            rows = self._rows_of_state(k, slot, steps)
            self._room("state", k, slot.writes[0][1], rows)
            self._begin(k, slot)
        for k, output in enumerate(self.loop.step_outputs):
            last = output.keep_last
            self._room("output", k, output.inner, max(1, steps if last is None else min(steps, last)))

    def _rows_of_state(self, k: int, slot: StateSlot, steps: int) -> int:
        """Return how many rows of a state are stored."""
        if slot.kind == "mitmot":
            taps = [tap for tap, _ in (*slot.reads, *slot.writes)]
            rows = self._around(slot.outer).shape[0]
            must_fit(not steps or rows >= slot.offset + steps + max(taps))
            return rows
        if slot.kind == "mitsot":
            must_fit(self._around(slot.outer).shape[0] == slot.offset)
        if not wraps(slot):
            return slot.offset + steps
        return max(0 if slot.result is None else slot.keep_last or 0, slot.offset) + 1

    def _room(self, kind: str, k: int, number: int, rows: int) -> None:
        """Allocate scratch memory for the rows of a slot."""
        row = self.places.shape(number) or ()
        place = self.places.temporary((rows, *row), dtype_of(self.body, number))
        self.rows_of[kind, k] = place
        self.starts[kind, k] = self.operand(place).address
        self.numbers[kind, k] = constant(rows, "int64")

    def _begin(self, k: int, slot: StateSlot) -> None:
        """Store the initial rows of a state."""
        rows, outside = self.rows_of["state", k], self.outside
        if slot.kind == "mitmot":
            copy(self, self._around(slot.outer), rows)
        elif slot.kind == "mitsot":
            copy(self, self._around(slot.outer), rows.part(0, 0, slot.offset))
        elif is_scalar(outside.body, slot.outer):
            if k not in self.held or slot.history is not None:
                self.code.store(outside.value(slot.outer), self.starts["state", k])
        else:
            copy(self, self._around(slot.outer), rows.row(0))

    def initial(self, k: int) -> list[Value]:
        """Return the initial rows of a scalar state; one in a register stays there."""
        slot = self.loop.states[k]
        return [self.outside.value(slot.outer)] if slot.kind == "sitsot" else super().initial(k)

    # after the last step

    def leave(self, done: Value, latest: Sequence[Value]) -> None:
        """Keep the scalar states that are in no row."""
        given = iter(latest)
        for k in self.held:
            values = [next(given) for _ in range(self.loop.states[k].offset)]
            if values and self.plan.stores["state", k].kind is StoreKind.HELD:
                self.finals[k] = values[0]

    def _give_results(self, steps: int, done: Value) -> None:
        """Enter the places of the results in the program around the loop."""
        outside = self.outside
        for k, slot in enumerate(self.loop.states):
            rows = self.rows_of["state", k]
            if slot.result is not None:
                outside.places.moved(slot.result, self._last_of_state(k, slot, rows, steps, done))
            if slot.history is not None:
                outside.places.moved(slot.history, rows.part(0, 0, slot.offset + steps))
        for k, output in enumerate(self.loop.step_outputs):
            if output.result is not None:
                place = self._last(output, self.rows_of["output", k], 0, steps, done)
                outside.places.moved(output.result, place)
        for carry, place in zip(self.loop.carries, self._carries, strict=True):
            if carry.result is None:
                continue
            if is_scalar(outside.body, carry.result):
                outside.give(carry.result, self.code.load(self.operand(place).address, place.dtype))
            else:
                outside.places.moved(carry.result, place)

    def _last_of_state(
        self, k: int, slot: StateSlot, rows: ArrayPlace, steps: int, done: Value
    ) -> ArrayPlace:
        if slot.kind == "mitmot":
            return rows
        kind = self.plan.stores["state", k].kind
        if k in self.finals:
            self.code.store(self.finals[k], self.starts["state", k])
        if kind is StoreKind.SINGLE or k in self.finals:
            return rows.part(0, 0, min(steps, 1))
        return self._last(slot, rows, slot.offset, steps, done)

    def _last(
        self, slot: StateSlot | StepOutputSlot, rows: ArrayPlace, offset: int, steps: int, done: Value
    ) -> ArrayPlace:
        """Return the rows of a result; rows that wrap around in a ring, or end at an unknown step, are copied."""
        size, code = rows.shape[0], self.code
        kept = steps if slot.keep_last is None else min(slot.keep_last, steps)
        if self.loop.until is not None:
            row, alone = rows._replace(shape=rows.shape[1:], strides=rows.strides[1:]), rows.part(0, 0, 1)
            position = code.add(done, offset - 1)
            position = code.op(f"urem i64 {position.text}, {size}", "int64")
            held = self.places.temporary(alone.shape, rows.dtype)
            copy(self, row._replace(shift=code.times(position, rows.strides[0])), held.row(0))
            return held
        begin = (offset + steps - kept) % size if slot.keep_last is not None else offset
        if begin + kept <= size:
            return rows.part(0, begin, kept)
        held = self.places.temporary((kept, *rows.shape[1:]), rows.dtype)
        first = size - begin
        copy(self, rows.part(0, begin, first), held.part(0, 0, first))
        copy(self, rows.part(0, 0, kept - first), held.part(0, first, kept - first))
        return held


def _loops_around(site: Site | None) -> int:
    return 0 if site is None else (site.loop is not None) + _loops_around(site.around)


def write_inner_loop(around: ProgramWriter, index: int, loop: LoopInstruction) -> None:
    """Write an inner loop in place.

    Raises
    ------
    NotWrittenError
        If something of it cannot be written.
    """
    if not loop.runs_on("native"):
        raise NotWrittenError(f"`{loop.name}` asks for mode={loop.mode!r}")
    InlineWriter(around, index, loop, around.plan.inner[index][0]).write()


LONG_NS = 5e7  # a run after which ctrl+c is heard in time
LONG_UNTIL_NS = 1e9  # the same for the step limit of an until loop, which usually ends earlier


def is_long(loop: LoopInstruction, plan: Plan, steps: int) -> bool:
    """Return whether one run of an inner loop may be too long to defer ctrl+c."""
    taken = max(steps, 0) * step_ns(loop.body, plan, MACHINE_RATES)
    return taken > (LONG_NS if loop.until is None else LONG_UNTIL_NS)


class BranchSide(ProgramWriter):
    """Writes one side of a branch."""

    def __init__(self, around: ProgramWriter, index: int, branch: BranchInstruction, side: int) -> None:
        program, self.reads = branch.sides[side]
        plan = around.plan.inner[index][side]
        super().__init__(program, plan, {}, around.vector_bytes, around.shared, around, around.site_at(index))
        self.outside, self.inline, self.side = around, around.inline, side
        self.step = around.step

    def write(self, outputs: Sequence[int]) -> list[Value | None]:
        """Write the side; return its scalar results, None for arrays, which are copied to the results' places."""
        self.open()
        for number, outer in zip(self.body.inputs, self.reads, strict=True):
            if is_scalar(self.outside.body, outer):
                self.values[number] = self.outside.value(outer)
            else:
                place = self.outside.places.of(outer)
                assert place is not None
                self.places.moved(number, place)
        self.write_groups()
        found: list[Value | None] = []
        for number, output in zip(self.body.outputs, outputs, strict=True):
            if is_scalar(self.outside.body, output):
                found.append(self.value(number))
                continue
            source, target = self.places.of(number), self.outside.places.of(output)
            if source is None or target is None or source.shape != target.shape:
                raise NotWrittenError("the shape of a branch's result depends on values")
            copy(self, source, target)
            found.append(None)
        return found


def write_branch(around: ProgramWriter, index: int, branch: BranchInstruction) -> None:
    """Write a branch in place.

    Raises
    ------
    NotWrittenError
        If something of a side cannot be written.
    """
    code = around.code
    sides = [BranchSide(around, index, branch, k) for k in (0, 1)]
    for side in sides:
        side.refuse()
    condition = cast(code, around.value(branch.condition), "bool")
    reads = list(dict.fromkeys([*branch.then_inputs, *branch.else_inputs]))
    labels, after = (code.label(), code.label()), code.label()
    results: list[list[Value | None]] = []
    ends = []
    with around.inside(reads):
        code.branch(condition, *labels)
        for side, label in zip(sides, labels, strict=True):
            code.begin(label)
            known = dict(around.values), dict(around.rows)
            results.append(side.write(branch.outputs))
            around.values, around.rows = known  # addresses computed on one side are unknown on the other
            ends.append(code.block)
            code.jump(after)
        code.begin(after)
    for output, first, second in zip(branch.outputs, *results, strict=True):
        if first is not None and second is not None:
            around.give(output, code.either(first, ends[0], second, ends[1]))


INSIDE.update({LoopInstruction: write_inner_loop, BranchInstruction: write_branch})
