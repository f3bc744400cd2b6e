"""A whole loop as one function of LLVM's language: (first step, last step, addresses, numbers) → steps done.

``addresses`` has those of the sequences, the rows of states and of outputs, the non-sequences, the plan's buffers, constants and
scratch memory; ``numbers`` the bytes from one row of a sequence to the next, the numbers of rows of the states and of the outputs.
A state that is one number stays in a register from step to step.  The result is four times the steps done, plus how it ended as
:mod:`scanviz.engine.runtime.calling` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scanviz.engine.backends.native.errors import NotWrittenError
from scanviz.engine.backends.native.frame import StepFrame
from scanviz.engine.backends.native.instructions import WRITE, copy, why_not, write_chain
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.places import Base
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import Instruction, LoopInstruction, dtype_of, is_scalar
from scanviz.engine.program.plan import Plan, Row, StoreKind, Where
from scanviz.engine.runtime.calling import STOPPED
from scanviz.engine.runtime.schedule import Variant

DEEPEST = 6  # taps of a number that are kept in registers
CLOCK_MONOTONIC = 1  # Linux's, which time.perf_counter_ns reads


@dataclass(frozen=True, slots=True)
class CallArguments:
    """What is handed to the code, in order.

    Attributes
    ----------
    addresses : tuple of Base
        What their addresses are counted from; ``("stamps", 0, 0)`` last where times are taken.
    scratch : int
        Bytes of scratch memory.
    stamped : tuple of tuple of int
        Of a variant that times operations: the instructions that end at each stamp of a step.
    reported : int
        How many int64 numbers an error leaves: the instruction, and values of its inputs but the first.
    """

    addresses: tuple[Base, ...]
    scratch: int
    stamped: tuple[tuple[int, ...], ...]
    reported: int


class LoopEmitter(StepFrame):
    """Writes one variant of a loop for a plan."""

    def __init__(
        self, loop: LoopInstruction, plan: Plan, variant: Variant, vector_bytes: int, marked: bool = False
    ) -> None:
        super().__init__(loop, plan, vector_bytes, Code(marked))
        self.variant = variant
        self.held = [
            k
            for k, slot in enumerate(loop.states)
            if slot.kind != "mitmot" and slot.offset <= DEEPEST and is_scalar(loop.body, slot.writes[0][1])
        ]
        self.history: dict[int, list[Value]] = {}
        self.stamped: list[tuple[int, ...]] = []

    def write(self) -> tuple[str, CallArguments]:
        """Return the module's text and what it is handed.

        Raises
        ------
        NotWrittenError
            If an instruction has no native code.
        """
        self._refuse()
        self.open()
        code = self.code
        first, last = Value("%first", "int64"), Value("%last", "int64")
        head, step, after, before = "steps", "step", "done", "ready"
        initial = [value for k in self.held for value in self._initial(k)]
        code.jump("prepare")  # which is written last, when it is known what the step needs
        code.begin(head)
        self.step = Value(code.name(), "int64")
        phis = [Value(code.name(), each.dtype) for each in initial]
        place = len(code.lines)
        going = code.op(f"icmp slt i64 {self.step.text}, {last.text}", "bool")
        code.branch(going, step, after)
        code.begin(step)
        self._take_history(phis)
        self._step()
        following = [value for k in self.held for value in self._next(k)]
        further = code.add(self.step, 1)
        stop = self._stop()
        triples = [(self.step, first, further), *zip(phis, initial, following, strict=True)]
        code.phis(place, before, triples)
        if stop is None:
            code.jump(head)
        else:
            code.branch(stop, "stopped", head)
        code.begin(after)
        self._leave(self.step, phis)
        code.line(f"ret i64 {self.coded(self.step).text}")
        if stop is not None:
            code.begin("stopped")
            self._leave(further, following)
            stopped = code.op(f"or i64 {self.coded(further).text}, {STOPPED}", "int64")
            code.line(f"ret i64 {stopped.text}")
        code.begin("prepare")
        self.prepare()
        code.jump(before)
        code.begin(before)
        code.jump(head)
        layout = CallArguments(
            tuple(self.addresses), self.places.scratch, tuple(self.stamped), self.most_reported
        )
        return self.module(), layout

    def _refuse(self) -> None:
        plan, loop = self.plan, self.loop
        for index, instruction in enumerate(loop.body.instructions):
            reason = None if index in plan.idle else why_not(instruction, loop.body)
            if reason is not None:
                raise NotWrittenError(reason)
            for number in instruction.outputs:
                if self.places.shape(number) is None and plan.places[number].location is not Where.NUMBER:
                    raise NotWrittenError(
                        f"the shape of what `{instruction.op.name}` gives depends on values"
                    )
        for register in loop.body.registers:
            if isinstance(register.type, TensorType) and register.type.dtype == "float16":
                raise NotWrittenError("float16 has no native code")
        if loop.carries:
            raise NotWrittenError("it carries a random state")
        if any(store.checked for store in plan.stores.values()) or plan.mismatch is not None:
            raise NotWrittenError("rows of its states are checked in each step")

    # states that are numbers

    def _initial(self, k: int) -> list[Value]:
        """Return the rows before the first step of a state that is one number, the latest first."""
        slot = self.loop.states[k]
        dtype = dtype_of(self.body, slot.writes[0][1])
        found = []
        for back in range(1, slot.offset + 1):
            position = self.position(k, Value("%first", "int64"), -back)
            address = self.code.at(
                self.address(("state", k, 0)), self.code.times(position, np.dtype(dtype).itemsize)
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

    # the step

    def _step(self) -> None:
        self._stamp(())
        for group in self.plan.groups:
            self._group(group)
            if any(not self._is_idle(index) for index in group):
                self._stamp(group)
        self._store_rows()
        self._stamp((len(self.body.instructions),))

    def _is_idle(self, index: int) -> bool:
        instruction = self.body.instructions[index]
        return index in self.plan.idle or instruction.op.facts.size == "is"

    def _group(self, group: Sequence[int]) -> None:
        todo = []
        for index in group:
            instruction = self.body.instructions[index]
            assert isinstance(instruction, Instruction)
            source = instruction.provenance.source
            if source is not None and not self._is_idle(index):
                self.code.comment(f"{instruction.op.name}  {source}: {source.text().strip()}")
            todo.append(instruction)
        alive = [each for index, each in zip(group, todo, strict=True) if index not in self.plan.idle]
        if len(group) > 1 and not is_scalar(self.body, todo[-1].outputs[0]):
            local = frozenset(
                n for each in todo for n in each.outputs if self.plan.places[n].location is Where.LOCAL
            )
            write_chain(self, todo, local)
            return
        for instruction in alive:
            self._one(instruction)

    def _one(self, instruction: Instruction) -> None:
        (number,) = instruction.outputs
        if instruction.op.facts.size == "is":
            if number not in self.values:
                raise NotWrittenError(f"`{instruction.op.name}` depends on values")
            return
        WRITE[instruction.op.declaration].write(self, instruction)

    def _store_rows(self) -> None:
        """Store the rows that no operation wrote in place, those of mitmots last."""
        late: list[tuple[int, int, int]] = []
        for k, slot in enumerate(self.loop.states):
            for tap, number in slot.writes:
                if self.plan.places[number].location == Row(("state", k), tap):
                    continue
                if slot.kind == "mitmot":
                    late.append((k, tap, number))
                elif self.plan.stores["state", k].kind is not StoreKind.HELD or k not in self.held:
                    self._store(("state", k, tap), number)
        for k, output in enumerate(self.loop.step_outputs):
            if output.result is not None and self.plan.places[output.inner].location != Row(("output", k), 0):
                self._store(("output", k, 0), output.inner)
        for k, tap, number in late:
            if (k, tap) in self.plan.writes_copied and not is_scalar(self.body, number):
                source = self.places.of(number)
                assert source is not None
                held = self.places.temporary(source.shape, source.dtype)
                copy(self, source, held)
                self.places.moved(number, held)
        for k, tap, number in late:
            self._store(("state", k, tap), number)

    def _store(self, base: Base, number: int) -> None:
        target = self.places.row(*base, number)
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
        if condition.dtype == "bool":
            return condition
        test = "fcmp une" if condition.dtype.startswith("float") else "icmp ne"
        zero = constant(0, condition.dtype).text
        return self.code.op(f"{test} {condition.typed}, {zero}", "bool")

    def _leave(self, done: Value, latest: Sequence[Value]) -> None:
        """Store what is not in its row when the loop is left after some steps."""
        given = iter(latest)
        for k, slot in enumerate(self.loop.states):
            number, kind = slot.writes[0][1], self.plan.stores["state", k].kind
            if k in self.held:
                values = [next(given) for _ in range(slot.offset)]
                if kind is StoreKind.HELD and values:
                    position = self.position(k, done, -1)
                    size = np.dtype(dtype_of(self.body, number)).itemsize
                    address = self.code.at(self.address(("state", k, 0)), self.code.times(position, size))
                    self.code.store(values[0], address)
            elif kind is StoreKind.SINGLE:
                self._leave_single(k, done, number)

    def _leave_single(self, k: int, done: Value, number: int) -> None:
        """Copy the one row of a state to where that of the last step is looked for."""
        place, slot = self.places.row("state", k, 0, number), self.loop.states[k]
        assert place is not None
        start, row = self.address(("state", k, 0)), self.row_bytes("state", k)
        code = self.code
        size = self.numbers["state", k].text
        ends = []
        for step in (Value("%first", "int64"), done):
            position = code.add(step, slot.offset - 1)
            position = code.op(f"urem i64 {position.text}, {size}", "int64")
            ends.append(code.at(start, code.times(position, row)))
        self.code.declared["memmove"] = "declare ptr @memmove(ptr, ptr, i64)"
        code.line(f"call ptr @memmove(ptr {ends[1].text}, ptr {ends[0].text}, i64 {row})")

    # times

    def _stamp(self, group: Sequence[int]) -> None:
        """Write the time down, where this variant does."""
        if self.variant == "plain" or (self.variant == "steps" and group):
            return
        code = self.code
        width = 1 if self.variant == "steps" else self._stamps_a_step()
        place = code.op(f"sub i64 {self.step.text}, %first", "int64")
        place = code.add(code.times(place, width), len(self.stamped))
        self.stamped.append(tuple(group))
        address = code.at(self.address(("stamps", 0, 0)), code.times(place, 16))
        code.declared["clock_gettime"] = "declare i32 @clock_gettime(i32, ptr)"
        code.line(f"call i32 @clock_gettime(i32 {CLOCK_MONOTONIC}, ptr {address.text})")

    def _stamps_a_step(self) -> int:
        groups = sum(any(not self._is_idle(index) for index in group) for group in self.plan.groups)
        return groups + 2


__all__ = ["CallArguments", "LoopEmitter"]
