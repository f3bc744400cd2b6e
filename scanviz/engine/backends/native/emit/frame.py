"""Frame of a program's code: where its numbers and arrays are.

The program is the step of a loop or one side of a branch.  Inner programs are written into the same function; ``around`` is the
frame of the program around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from scanviz.engine.backends.native.cache.jit import module_text
from scanviz.engine.backends.native.emit.call_arguments import Callout, RunCounter, Site
from scanviz.engine.backends.native.emit.elements import Operand
from scanviz.engine.backends.native.emit.ir import Code, Value, constant
from scanviz.engine.backends.native.emit.places import (
    CONSTANT,
    SCRATCH,
    ArrayPlace,
    ArrayPlaces,
    Base,
    Scratch,
)
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import AnyInstruction, LoopInstruction, Program, dtype_of, is_scalar
from scanviz.engine.program.plan import Plan, Size
from scanviz.engine.runtime.calling import FAILED


class Shared:
    """State shared by all programs of one function.

    Attributes
    ----------
    code : Code
        The code that is written.
    scratch : Scratch
        The scratch memory.
    addresses : dict
        Base → its address, read before the first step.
    constants : dict
        Base → array of the constants, in C order.
    sites : list of Site
        Instructions that may fail or are called out.
    callouts : list of Callout
        The callouts.
    prepared : dict
        Functions that write lines before the steps, by purpose.
    most_reported : int
        The most numbers that an error leaves.
    programs : int
        The number of programs written.
    inside, written : int
        The number of inner loops and branches among them, and of operations with native code.
    counts : bool
        Whether the code counts runs of inner loops.
    counted : list of RunCounter
        Those loops, in order.
    """

    def __init__(self, code: Code, counts: bool) -> None:
        self.code, self.scratch, self.counts = code, Scratch(), counts
        self.counted: list[RunCounter] = []
        self.addresses: dict[Base, Value] = {}
        self.constants: dict[Base, Array] = {}
        self.sites: list[Site] = []
        self.callouts: list[Callout] = []
        self.prepared: dict[Hashable, tuple[ArrayPlace, Callable[[Operand], None]]] = {}
        self.most_reported = self.programs = self.inside = self.written = 0

    def address(self, base: Base) -> Value:
        """Return a fixed address, loaded in the first block."""
        if base not in self.addresses:
            self.addresses[base] = Value(f"%a{len(self.addresses)}", "address")
        return self.addresses[base]

    def module(self) -> str:
        """Return the module's IR; it loads the addresses first."""
        lines = []
        for k, base in enumerate(self.addresses):
            name = self.addresses[base].text
            lines.append(f"  {name}p = getelementptr i8, ptr %addresses, i64 {8 * k}")
            lines.append(f"  {name} = load ptr, ptr {name}p, align 8")
        self.code.lines[:0] = lines
        return module_text(self.code)


class ProgramFrame:
    """Finds a program's numbers in registers and its arrays by address.

    Parameters
    ----------
    body : Program
        The program.
    plan : Plan
        Its plan.
    fixed : mapping
        In the outermost loop: the registers of non-sequences, with their numbers.
    vector_bytes : int
        The bytes of the widest registers.
    shared : Shared
        State shared by all programs of the function.
    around : ProgramFrame or None
        The frame of the program around it.
    site : Site or None
        The instruction of that program that holds this one.

    Attributes
    ----------
    step : Value
        The number of the step; in a branch that of the loop around it.
    values : dict
        Register → its value, for scalars.
    rows : dict
        Rows of this step → their addresses.
    loop_around : LoopInstruction or None
        The loop whose step it is; None for a branch.
    side : int
        The side of a branch.
    """

    step: Value
    loop_around: LoopInstruction | None = None
    side = 0

    def __init__(
        self,
        body: Program,
        plan: Plan,
        fixed: Mapping[int, int],
        vector_bytes: int,
        shared: Shared,
        around: ProgramFrame | None = None,
        site: Site | None = None,
    ) -> None:
        self.body, self.plan, self.vector_bytes, self.shared = body, plan, vector_bytes, shared
        self.around, self.site, self.code = around, site, shared.code
        self.within = f" in {shared.programs}" if shared.programs else ""
        shared.programs += 1
        self.places = ArrayPlaces(body, plan, fixed, shared.scratch, self.within)
        self.values: dict[int, Value] = {}
        self.rows: dict[Base, Value] = {}

    def open(self) -> None:
        """Enter the numbers that are known when code is written."""
        for number, place in enumerate(self.plan.places):
            if isinstance(place.location, Size):
                self.values[number] = constant(place.location.value, "int64")
        for number, value in self.body.constants.items():
            if is_scalar(self.body, number):
                self.values[number] = constant(value[()], dtype_of(self.body, number))

    def address(self, base: Base) -> Value:
        """Return a fixed address."""
        frame: ProgramFrame | None = self if base[0].startswith(CONSTANT) else None
        while frame is not None:
            if base[0] == CONSTANT + frame.within:
                self.shared.constants[base] = np.ascontiguousarray(frame.body.constants[base[1]])
            frame = frame.around
        return self.shared.address(base)

    def row(self, base: Base) -> Value | None:
        """Return the address of a row of this step or of an outer loop's step; None for fixed addresses."""
        return None if self.around is None else self.around.row(base)

    def operand(self, place: ArrayPlace) -> Operand:
        """Return an array with its address in this step."""
        code = self.code
        if place.base[0] == SCRATCH:
            address = code.at(self.address((SCRATCH, 0, 0)), place.base[1] + place.offset)
        else:
            address = code.at(self.row(place.base) or self.address(place.base), place.offset)
        array = self.array_of(place.base)
        if array is not None:
            code.memory.locate(address, array, place.offset)
        return Operand(place, address if place.shift is None else code.at(address, place.shift))

    def array_of(self, base: Base) -> Base | None:
        """Return a key of the array at a base; None if it may be the array of another base."""
        return base if self.around is None else self.around.array_of(base)

    def prepared(
        self, key: Hashable, shape: tuple[int, ...], dtype: str, write: Callable[[Operand], None]
    ) -> Operand:
        """Return memory that lines of ``write`` fill once before the steps; one per key."""
        known = self.shared.prepared
        if key not in known:
            known[key] = self.places.temporary(shape, dtype), write
        return self.operand(known[key][0])

    def where(
        self, holds: Value, instruction: AnyInstruction, why: str, write: Callable[[], Sequence[Value]]
    ) -> None:
        """Write lines that run if a condition holds; otherwise call the instruction out.

        ``write`` returns the scalars among its results, and stores arrays itself.
        """
        raise NotImplementedError

    def fail_unless(self, holds: Value, instruction: AnyInstruction, numbers: Sequence[Value]) -> None:
        """End the loop before this step with an instruction's error unless a condition holds.

        ``numbers`` are the int64 values of its last inputs, from which the error is made.
        """
        code, wrong, right = self.code, self.code.label(), self.code.label()
        with code.storing_nothing():  # outputs that are read later: code ends where an error is reported
            code.branch(holds, right, wrong)
            code.begin(wrong)
            self.report(self.site_of(instruction, len(numbers)), numbers)
            code.begin(right)

    def site_of(self, instruction: AnyInstruction, reported: int = 0) -> int:
        """Register an instruction as a site, and return its number.

        Its error message shows the last ``reported`` inputs.
        """
        index = next(k for k, other in enumerate(self.body.instructions) if other is instruction)
        self.shared.sites.append(self.site_at(index, reported))
        return len(self.shared.sites) - 1

    def site_at(self, index: int, reported: int = 0) -> Site:
        """Return an instruction with the programs around it."""
        read = self.body.instructions[index].inputs
        shapes = tuple(self.places.shape(number) or () for number in read[: len(read) - reported])
        return Site(self.body, index, self.loop_around, self.site, self.side, shapes)

    def report(self, site: int, numbers: Sequence[Value]) -> None:
        """Report a failed instruction, the steps of all loops and some numbers, and return from the function."""
        code, report = self.code, self.address(("report", 0, 0))
        reported = (constant(site, "int64"), *self.steps(), *numbers)
        for k, number in enumerate(reported):
            code.store(number, code.at(report, 8 * k))
        self.shared.most_reported = max(self.shared.most_reported, len(reported))
        self.left(self.steps()[0])
        code.line(f"ret i64 {code.op(f'or i64 {self.coded(self.steps()[0]).text}, {FAILED}', 'int64').text}")

    def steps(self) -> list[Value]:
        """Return the current steps of the loops, outermost first."""
        above = [] if self.around is None else self.around.steps()
        return above if self.loop_around is None else [*above, self.step]

    def left(self, done: Value) -> None:
        """Note a return after ``done`` steps of the outermost loop."""
        if self.around is not None:
            self.around.left(done)

    def coded(self, done: Value) -> Value:
        """Return the code's return value for a number of steps done."""
        return self.code.op(f"shl i64 {done.text}, 2", "int64")

    def value(self, number: int) -> Value:
        """Return the number in a register; it is loaded from its row on first use."""
        found = self.values.get(number)
        if found is None:
            place = self.places.of(number)
            assert place is not None, number
            found = self.values[number] = self.code.load(self.operand(place).address, place.dtype)
        return found

    def give(self, number: int, value: Value) -> None:
        """Set the number in a register."""
        self.values[number] = value


def bytes_of(shape: Sequence[int], dtype: str) -> int:
    """Return the bytes of an array."""
    return math.prod(shape) * np.dtype(dtype).itemsize
