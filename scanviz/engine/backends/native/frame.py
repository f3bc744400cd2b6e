"""What the code of a step stands on: where numbers and arrays are found while a loop is written."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from scanviz.engine.backends.native.elements import Operand
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.jit import module_text
from scanviz.engine.backends.native.places import ArrayPlace, ArrayPlaces, Base
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program, dtype_of, is_scalar
from scanviz.engine.program.plan import Plan, Size, StoreKind, wraps
from scanviz.engine.runtime.calling import FAILED

ARGUMENTS = ("i64 %first", "i64 %last", "ptr %addresses", "ptr %numbers")


class StepFrame:
    """Where a loop's code finds what the step reads and writes: numbers in registers, arrays by their addresses.

    Attributes
    ----------
    step : Value
        The number of the step.
    values : dict
        Register → the number that it holds.
    addresses : dict
        What stays where it is → its address, read before the first step.
    rows : dict
        Rows of this step → their addresses.
    numbers : dict
        Slot → bytes between rows of a sequence, number of rows of a state or an output.
    most_reported : int
        How many numbers an error leaves at most.
    """

    step: Value

    def __init__(self, loop: LoopInstruction, plan: Plan, vector_bytes: int, code: Code) -> None:
        self.loop, self.plan, self.vector_bytes, self.code = loop, plan, vector_bytes, code
        self.places = ArrayPlaces(loop, plan)
        self.values: dict[int, Value] = {}
        self.addresses: dict[Base, Value] = {}
        self.rows: dict[Base, Value] = {}
        self.numbers: dict[tuple[str, int], Value] = {}
        self.most_reported = 0
        self._prepared: dict[Hashable, tuple[ArrayPlace, Callable[[Operand], None]]] = {}

    @property
    def body(self) -> Program:
        """The step's program."""
        return self.loop.body

    def open(self) -> None:
        """Read the numbers that are the same in all steps."""
        loop = self.loop
        for kind, count in (
            ("sequence", len(loop.sequences)), ("state", len(loop.states)), ("output", len(loop.step_outputs)),
        ):  # fmt: skip
            for k in range(count):
                at = len(self.numbers)
                address = self.code.at(Value("%numbers", "address"), 8 * at)
                self.numbers[kind, k] = self.code.load(address, "int64")
        for number, place in enumerate(self.plan.places):
            if isinstance(place.location, Size):
                self.values[number] = constant(place.location.value, "int64")
        for number, value in self.body.constants.items():
            if is_scalar(self.body, number):
                self.values[number] = constant(value[()], dtype_of(self.body, number))
        for k, slot in enumerate(loop.non_sequences):
            if is_scalar(self.body, slot.inner):
                self.values[slot.inner] = self.code.load(
                    self.address(("fixed", k, 0)), dtype_of(self.body, slot.inner)
                )

    def address(self, base: Base) -> Value:
        """Return the address of what stays where it is; it is read in the first block, before all else."""
        if base not in self.addresses:
            self.addresses[base] = Value(f"%a{len(self.addresses)}", "address")
        return self.addresses[base]

    def module(self) -> str:
        """Return the text of the module: the addresses are read first."""
        lines = []
        for k, base in enumerate(self.addresses):
            name = self.addresses[base].text
            lines.append(f"  {name}p = getelementptr i8, ptr %addresses, i64 {8 * k}")
            lines.append(f"  {name} = load ptr, ptr {name}p, align 8")
        self.code.lines[:0] = lines
        return module_text(self.code, ARGUMENTS)

    def _row(self, base: Base) -> Value:
        """Return the address of a row of this step."""
        if base in self.rows:
            return self.rows[base]
        kind, k, tap = base
        code = self.code
        start = self.address((kind, k, 0))
        if kind == "sequence":
            moved = code.op(f"mul i64 {self.step.text}, {self.numbers[kind, k].text}", "int64")
        elif kind == "state":
            moved = code.times(self.position(k, self.step, tap), self.row_bytes(kind, k))
        else:
            position = self.step
            if self.loop.step_outputs[k].keep_last is not None:
                size = self.numbers[kind, k]
                position = code.op(f"urem i64 {position.text}, {size.text}", "int64")
            moved = code.times(position, self.row_bytes(kind, k))
        self.rows[base] = code.at(start, moved)
        return self.rows[base]

    def position(self, k: int, step: Value, tap: int) -> Value:
        """Return the number of the row of a state that a tap means at a step."""
        slot, code = self.loop.states[k], self.code
        if self.plan.stores["state", k].kind is StoreKind.SINGLE and not is_scalar(
            self.body, slot.writes[0][1]
        ):
            step, tap = Value("%first", "int64"), -1  # one row, written over
        place = code.add(step, slot.offset + tap)
        if wraps(slot):
            size = self.numbers["state", k].text
            return code.op(f"urem i64 {place.text}, {size}", "int64")
        return place

    def row_bytes(self, kind: str, k: int) -> int:
        """Return the bytes of a row of a state or an output."""
        number = self.loop.states[k].writes[0][1] if kind == "state" else self.loop.step_outputs[k].inner
        shape = self.places.shape(number) or ()
        return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype_of(self.body, number)).itemsize

    def operand(self, place: ArrayPlace) -> Operand:
        """Return an array with the address that it is at in this step."""
        moving = place.base[0] in ("sequence", "state", "output")
        start = self._row(place.base) if moving else self.address(place.base)
        address = self.code.at(start, place.offset)
        return Operand(place, address if place.shift is None else self.code.at(address, place.shift))

    def prepared(
        self, key: Hashable, shape: tuple[int, ...], dtype: str, write: Callable[[Operand], None]
    ) -> Operand:
        """Return memory that is filled once before the steps: see :class:`Step`."""
        if key not in self._prepared:
            self._prepared[key] = self.places.temporary(shape, dtype), write
        return self.operand(self._prepared[key][0])

    def prepare(self) -> None:
        """Write what fills memory before the steps."""
        for place, write in self._prepared.values():
            write(self.operand(place))

    def fail_unless(self, holds: Value, instruction: Instruction, numbers: Sequence[Value]) -> None:
        """End the loop before this step with an error where a condition is false: see :class:`Step`."""
        code, wrong, right = self.code, self.code.label(), self.code.label()
        code.branch(holds, right, wrong)
        code.begin(wrong)
        report = self.address(("report", 0, 0))
        index = next(k for k, each in enumerate(self.body.instructions) if each is instruction)
        for k, number in enumerate((constant(index, "int64"), *numbers)):
            code.store(number, code.at(report, 8 * k))
        self.most_reported = max(self.most_reported, 1 + len(numbers))
        code.line(f"ret i64 {code.op(f'or i64 {self.coded(self.step).text}, {FAILED}', 'int64').text}")
        code.begin(right)

    def coded(self, done: Value) -> Value:
        """Return the steps done as the code returns them."""
        return self.code.op(f"shl i64 {done.text}, 2", "int64")

    def value(self, number: int) -> Value:
        """Return the number that a register holds: read from its row where it is the first time."""
        found = self.values.get(number)
        if found is None:
            place = self.places.of(number)
            assert place is not None, number
            found = self.values[number] = self.code.load(self.operand(place).address, place.dtype)
        return found

    def give(self, number: int, value: Value) -> None:
        """Note the number that a register holds from now on."""
        self.values[number] = value


__all__ = ["StepFrame"]
