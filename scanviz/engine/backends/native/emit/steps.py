"""Steps of a loop: rows, scalar states, the stop condition.

A scalar state stays in a register from step to step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.call_arguments import Site
from scanviz.engine.backends.native.emit.frame import ProgramFrame, Shared, bytes_of
from scanviz.engine.backends.native.emit.instructions import copy
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace, Base, must_fit
from scanviz.engine.backends.native.emit.program import ProgramWriter
from scanviz.engine.backends.native.emit.small_rows import after_step, before_steps, know, small_rows
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.program.instructions import LoopInstruction, dtype_of, has_effects, is_scalar
from scanviz.engine.program.plan import Plan, Row, StoreKind, wraps

DEEPEST = 6  # taps of a scalar that are kept in registers


class StepsWriter(ProgramWriter):
    """Writes the steps of a loop.

    Attributes
    ----------
    first : Value
        The first step.
    numbers : dict
        Slot → bytes between rows of a sequence, number of rows of a state or an output.
    held : list of int
        States that are scalars in registers.
    share : tuple of int
        The rows of a batch in memory, and how many of them the code computes; (1, 1) for all.
    """

    share = (1, 1)

    def __init__(
        self,
        loop: LoopInstruction,
        plan: Plan,
        vector_bytes: int,
        shared: Shared,
        around: ProgramFrame | None = None,
        site: Site | None = None,
    ) -> None:
        fixed = {slot.inner: k for k, slot in enumerate(loop.non_sequences)} if around is None else {}
        super().__init__(loop.body, plan, fixed, vector_bytes, shared, around, site)
        self.loop = self.loop_around = loop
        self.first = Value("%first", "int64")
        self.numbers: dict[tuple[str, int], Value] = {}
        self.held = [
            k
            for k, slot in enumerate(loop.states)
            if slot.kind != "mitmot" and slot.offset <= DEEPEST and is_scalar(loop.body, slot.writes[0][1])
        ]
        self.history: dict[int, list[Value]] = {}
        self._single: dict[int, Value] = {}  # states of one row, which is overwritten: its number

    def refuse(self) -> None:
        """Check that everything can be written."""
        if has_effects(self.body):
            raise NotWrittenError("the step prints or checks a value")
        super().refuse()
        plan = self.plan
        if any(store.checked for store in plan.stores.values()) or plan.mismatch is not None:
            raise NotWrittenError("rows of its states are checked in each step")
        for slot in self.loop.carries:
            must_fit(self.places.shape(slot.read) == self.places.shape(slot.write))

    def open(self) -> None:
        """Enter the places of the carries."""
        super().open()
        for k, slot in enumerate(self.loop.carries):
            self.places.moved(slot.read, self.carried(k))

    def carried(self, k: int) -> ArrayPlace:
        """Return the place of a carry between two steps."""
        place = self.places.row("carry", k, 0, self.loop.carries[k].read)
        if place is None:
            raise NotWrittenError("the shape of a carry depends on values")
        return place

    # rows

    def start(self, kind: str, k: int) -> Value:
        """Return the address of the first row of a slot."""
        return self.address((kind + self.within, k, 0))

    def row(self, base: Base) -> Value | None:
        """Return the address of a row of this step or of an outer loop's step; None for fixed addresses."""
        if base in self.rows:
            return self.rows[base]
        kind, k, tap = base
        own = next((word for word in ("sequence", "state", "output") if word + self.within == kind), None)
        if own is None:
            return super().row(base)
        code, start = self.code, self.start(own, k)
        if own == "sequence":
            moved = self._times(self.step, self.numbers[own, k])
        elif own == "state":
            moved = code.times(self.position(k, self.step, tap), self.bytes_apart(own, k))
        else:
            position = self.step
            if self.loop.step_outputs[k].keep_last is not None:
                position = code.op(f"urem i64 {position.text}, {self.numbers[own, k].text}", "int64")
            # the address of the first row; a loop that runs backwards has it last in memory
            turned = -1 if self.around is None and self.loop.step_outputs[k].backwards else 1
            moved = code.times(position, turned * self.bytes_apart(own, k))
        self.rows[base] = code.at(start, moved)
        return self.rows[base]

    def array_of(self, base: Base) -> Base | None:
        """Return a key of a row; None for a row in a ring."""
        kind, k, _ = base
        if kind != "state" + self.within:
            return super().array_of(base)
        return None if self.plan.stores["state", k].kind is StoreKind.RING else base

    def _times(self, first: Value, second: Value) -> Value:
        if second.text.startswith("%"):
            return self.code.op(f"mul i64 {first.text}, {second.text}", "int64")
        return self.code.times(first, int(second.text))

    def position(self, k: int, step: Value, tap: int) -> Value:
        """Return the row number of a state's tap at a step."""
        slot, code = self.loop.states[k], self.code
        if self._has_one_row(k):
            if k in self._single:
                return self._single[k]
            step, tap = self.first, -1
        if not wraps(slot):
            return code.add(step, slot.offset + tap)
        place = code.add(step, slot.offset + tap)
        return code.op(f"urem i64 {place.text}, {self.numbers['state', k].text}", "int64")

    def _has_one_row(self, k: int) -> bool:
        """Return whether a state has a single row that is written over."""
        is_number = is_scalar(self.body, self.loop.states[k].writes[0][1])
        return self.plan.stores["state", k].kind is StoreKind.SINGLE and not is_number

    def row_bytes(self, kind: str, k: int) -> int:
        """Return the bytes of a row of a state or an output."""
        number = self.loop.states[k].writes[0][1] if kind == "state" else self.loop.step_outputs[k].inner
        return bytes_of(self.places.shape(number) or (), dtype_of(self.body, number))

    def bytes_apart(self, kind: str, k: int) -> int:
        """Return the distance in bytes between the rows of two steps; a part of a batch has shorter rows."""
        of_all, of_part = self.share
        return self.row_bytes(kind, k) * of_all // of_part

    # scalar states

    def initial(self, k: int) -> list[Value]:
        """Load the initial rows of a scalar state, latest first."""
        slot = self.loop.states[k]
        dtype = dtype_of(self.body, slot.writes[0][1])
        found = []
        for back in range(1, slot.offset + 1):
            position = self.position(k, self.first, -back)
            address = self.code.at(
                self.start("state", k), self.code.times(position, np.dtype(dtype).itemsize)
            )
            found.append(self.code.load(address, dtype))
        return found

    def _take_history(self, phis: Sequence[Value]) -> None:
        given = iter(phis)
        for k in self.held:
            slot = self.loop.states[k]
            self.history[k] = [next(given) for _ in range(slot.offset)]
            for tap, number in slot.reads:
                self.values[number] = self.history[k][-tap - 1]

    def _next(self, k: int) -> list[Value]:
        slot = self.loop.states[k]
        return [self.value(slot.writes[0][1]), *self.history[k]][: slot.offset]

    # the steps

    def write_steps(self, last: Value) -> tuple[Value, Value | None]:
        """Write the steps up to ``last``; return the steps done, and whether a stop condition ended them."""
        code = self.code
        head, step, after = code.label(), code.label(), code.label()
        numbers = [value for k in self.held for value in self.initial(k)]
        small = small_rows(self, self.loop)
        initial = [*numbers, *before_steps(self, small, self.first, last)]
        for k in range(len(self.loop.states)):
            if self._has_one_row(k):
                self._single[k] = self.position(k, self.first, -1)
        before = code.block
        code.jump(head)
        code.begin(head)
        self.step = Value(code.name(), "int64")
        phis = [Value(code.name(), value.dtype, value.lanes) for value in initial]
        phis, rows = phis[: len(numbers)], phis[len(numbers) :]
        place = len(code.lines)
        going = code.op(f"icmp slt i64 {self.step.text}, {last.text}", "bool")
        code.branch(going, step, after)
        code.begin(step)
        self._take_history(phis)
        know(self, small, rows)
        self._step()
        following = [value for k in self.held for value in self._next(k)]
        next_rows = after_step(self, small)
        further = code.add(self.step, 1)
        stop = self._stop()
        code.phis(
            place,
            before,
            [
                (self.step, self.first, further),
                *zip([*phis, *rows], initial, [*following, *next_rows], strict=True),
            ],
        )
        end = code.block
        if stop is None:
            code.jump(head)
        else:
            code.branch(stop, after, head)
        code.begin(after)
        if stop is None:
            self.leave(self.step, phis)
            return self.step, None
        done, stopped, *latest = (
            code.op(f"phi {one.type} [ {one.text}, %{head} ], [ {other.text}, %{end} ]", one.dtype)
            for one, other in (
                (self.step, further),
                (constant(False, "bool"), constant(True, "bool")),
                *zip(phis, following, strict=True),
            )
        )
        self.leave(done, latest)
        return done, stopped

    def leave(self, done: Value, latest: Sequence[Value]) -> None:
        """Store the states that are in no row when the loop is left."""
        raise NotImplementedError

    def _step(self) -> None:
        self.stamp(())
        self.write_groups()
        kept = self._kept_carries()
        self._store_rows()
        for k, slot in enumerate(self.loop.carries):
            if is_scalar(self.body, slot.write):
                self.code.store(self.value(slot.write), self.operand(self.carried(k)).address)
            else:
                copy(self, kept[k], self.carried(k))
        self.stamp((len(self.body.instructions),))

    def _kept_carries(self) -> Mapping[int, ArrayPlace]:
        """Return the places of the new carries, copied if they would be overwritten before all rows are stored."""
        kept: dict[int, ArrayPlace] = {}
        for k, slot in enumerate(self.loop.carries):
            place = None if is_scalar(self.body, slot.write) else self.places.of(slot.write)
            if place is None:
                continue
            kept[k] = place
            if (k in self.plan.carries_copied or len(self.loop.carries) > 1) and place != self.carried(k):
                kept[k] = self.places.temporary(place.shape, place.dtype)
                copy(self, place, kept[k])
        if len(self.loop.carries) > 1:
            for slot in self.loop.carries:
                if is_scalar(self.body, slot.write):
                    self.value(slot.write)  # read before another carry is written
        return kept

    def _store_rows(self) -> None:
        """Store the rows that no operation wrote in place; mitmots last."""
        late: list[tuple[int, int, int]] = []
        for k, slot in enumerate(self.loop.states):
            for tap, number in slot.writes:
                if self.plan.places[number].location == Row(("state", k), tap):
                    continue
                if slot.kind == "mitmot":
                    late.append((k, tap, number))
                elif self.plan.stores["state", k].kind is not StoreKind.HELD or k not in self.held:
                    self._store("state", k, tap, number)
        for k, output in enumerate(self.loop.step_outputs):
            if output.result is not None and self.plan.places[output.inner].location != Row(("output", k), 0):
                self._store("output", k, 0, output.inner)
        for k, tap, number in late:
            if (k, tap) in self.plan.writes_copied and not is_scalar(self.body, number):
                source = self.places.of(number)
                assert source is not None
                held = self.places.temporary(source.shape, source.dtype)
                copy(self, source, held)
                self.places.moved(number, held)
        for k, tap, number in late:
            self._store("state", k, tap, number)

    def _store(self, slot: str, k: int, tap: int, number: int) -> None:
        target = self.places.row(slot, k, tap, number)
        assert target is not None
        if is_scalar(self.body, number):
            self.code.store(self.value(number), self.operand(target).address)
            return
        source = self.places.of(number)
        assert source is not None
        copy(self, source, target)

    def _stop(self) -> Value | None:
        if self.loop.until is None:
            return None
        condition = self.value(self.loop.until)
        return cast(self.code, condition, "bool")
