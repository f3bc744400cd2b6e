"""The slots of a loop in a kernel: values read before it and in each step, carries, and written rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from scanviz.engine.backends.cupy.elements import Elements, elements_of
from scanviz.engine.backends.cupy.kernel_arguments import Argument, KernelArguments
from scanviz.engine.backends.cupy.kernel_draws import Draws
from scanviz.engine.backends.cupy.kernel_operations import Operations
from scanviz.engine.backends.cupy.kernel_rows import Index
from scanviz.engine.backends.cupy.kernel_support import NotFusedError
from scanviz.engine.program.instructions import LoopInstruction, StateSlot, dtype_of
from scanviz.engine.program.plan import Plan, wraps
from scanviz.engine.program.plan.location import Size
from scanviz.engine.scalar.cuda_source import TYPES, CudaFunctions, literal

MOST_ROWS = 32  # rows of a state in registers
AHEAD = 8  # rows of a sequence that are read at once


class Slots:
    """The statements of a kernel for the slots of a loop, and its step.

    Parameters
    ----------
    loop, plan, on_host
        As of :func:`~scanviz.engine.backends.cupy.kernel.loop_kernel`.
    """

    def __init__(self, loop: LoopInstruction, plan: Plan, on_host: Sequence[bool]) -> None:
        self.loop, self.plan, self.body, self.on_host = loop, plan, loop.body, on_host
        self.elements: Elements = elements_of(loop, plan)
        if 0 in self.elements.sizes:
            raise NotFusedError("there are no elements")
        if any(store.checked for store in plan.stores.values()):
            raise NotFusedError("the shape of a row depends on other values")
        self.functions = CudaFunctions()
        self.draws = Draws(loop, plan, self.functions)
        self.given = KernelArguments(loop.body, plan, self.elements)
        self.rows = Operations(loop.body, plan, self.elements, self.draws, self.functions, self.given.stream)
        self.before = self.given.before
        self.ahead: list[str] = []  # reads for several steps
        self.begin_step: list[str] = []
        self.after_step: list[str] = []
        self.after: list[str] = []

    def read_slots(self) -> None:
        """Read the loop's inputs."""
        self._constants()
        for k, slot in enumerate(self.loop.non_sequences):
            self._non_sequence(k, slot.inner)
        for k, sequence in enumerate(self.loop.sequences):
            if sequence.inner in self.elements.along:
                name = self.given.array("sequence", k, sequence.inner)
                if self.rows.is_used:
                    self._read(self.begin_step, sequence.inner, name, "t")
                else:
                    self._read_ahead(sequence.inner, name)
        for k, state in enumerate(self.loop.states):
            if state.kind == "mitmot":
                self._mitmot(k, state)
            else:
                self._state(k, state)
        for k, carry in enumerate(self.loop.carries):
            if k not in self.draws.blocks_per_step:
                self._carry(k, carry.read, carry.write)

    # arguments

    def _constants(self) -> None:
        for number in self.elements.along:
            location = self.plan.places[number].location
            if isinstance(location, Size):
                self.rows.name(number, literal(np.int64(location.value), "int64"))
        for number, value in self.body.constants.items():
            if number not in self.elements.along:
                continue
            if np.ndim(value) == 0:
                self.rows.name(number, literal(np.asarray(value)[()], dtype_of(self.body, number)))
            else:
                self._read(self.before, number, self.given.array("constant", number, number))

    def _non_sequence(self, k: int, register: int) -> None:
        if register not in self.elements.along:
            return
        if self.on_host[k]:
            name = f"number{k}"
            self.given.arguments.append(Argument("number", k))
            self.given.parameters.append(f"const {TYPES[dtype_of(self.body, register)]} {name}")
            self.rows.name(register, name)
        else:
            self._read(self.before, register, self.given.array("fixed", k, register))

    def _read(self, lines: list[str], register: int, name: str, place: str | None = None) -> None:
        """Read an array of the device: a number once, the inside of a row where it is needed."""
        row = "" if place is None else f"{place} * {name}_row"
        if not self.given.inside(register):
            self._let(lines, register, f"{name}[{row or '0'}]")
        else:
            self.rows.see(
                register,
                lambda index: (
                    f"{name}[{' + '.join(filter(None, [row, *self.given.steps(name, register, index)]))}]"
                ),
            )

    def _read_ahead(self, register: int, name: str) -> None:
        """Read some rows of a sequence before the steps that need them, so that these do not wait for memory one by one."""
        made = TYPES[dtype_of(self.body, register)]
        self.ahead += [
            f"{made} {name}_ahead[{AHEAD}];",
            "#pragma unroll",
            f"for (int j = 0; j < {AHEAD}; ++j)",
            f"  if (j < steps) {name}_ahead[j] = sv_read(&{name}[(t + j) * {name}_row]);",
        ]
        self._let(self.begin_step, register, f"{name}_ahead[j]")

    def _let(self, lines: list[str], register: int, text: str) -> None:
        """Name a register, if anything reads it."""
        if register in self.elements.along:
            name = self.rows.new_name(register)
            lines.append(f"const {TYPES[dtype_of(self.body, register)]} {name} = {text};")
            self.rows.name(register, name)

    # states

    def _state(self, k: int, state: StateSlot) -> None:
        """Keep the last rows of a state in registers, or in shared memory."""
        (_, written), *others = state.writes
        if others or state.writes[0][0] != 0 or state.offset > MOST_ROWS:
            raise NotFusedError("a state reaches back too far")
        name = self.given.array("state", k, written, written=True)
        rows = self.given.count("state", k) if wraps(state) else None
        source = name
        if wraps(state) and self.given.missing(written):
            source = self.given.array("state", k, written, start=True)
        first = [
            f"{_place(f'{state.offset} + first + {j - state.offset}', rows)} * {source}_row"
            for j in range(state.offset)
        ]
        if self.given.inside(written):
            self._shared_rows(f"state{k}", written, state.offset, first, source)
            for tap, register in state.reads:
                self._see_shared(f"state{k}", written, state.offset + 1, state.offset + tap, register)
            return
        for j, place in enumerate(first):
            made = TYPES[dtype_of(self.body, written)]
            self.before.append(f"{made} {name}_{j} = {source}[{place}];")
        for tap, register in state.reads:
            self._let(self.begin_step, register, f"{name}_{state.offset + tap}")

    def _shared_rows(self, name: str, register: int, offset: int, places: Sequence[str], source: str) -> None:
        """Declare shared memory for ``offset`` rows and the next one, and read the first of them."""
        inside, dtype = self.given.inside(register), dtype_of(self.body, register)
        self.rows.share(f"{name}_held", (offset + 1) * prod(inside), dtype)
        for j, place in enumerate(places):
            loop = self.rows.over(inside)
            index = self.rows.loop_index(register)
            steps = " + ".join([place, *self.given.steps(source, register, index)])
            slot = f"{self._slot(offset + 1, j)} * {prod(inside)} + {self.rows.flat(register, index)}"
            self.before += [loop, f"  {name}_held[{slot}] = {source}[{steps}];"]

    @staticmethod
    def _slot(rows: int, place: int, step: str = "first") -> str:
        """Return the slot in shared memory of the row ``place`` of those that a step reads, or the next one."""
        return f"(int)((unsigned long long)({step} + {place}) % {rows})"

    def _see_shared(self, name: str, written: int, rows: int, place: int, register: int) -> None:
        if register not in self.elements.along:
            return
        at = f"{name}_at_{place}"
        line = f"const int {at} = {self._slot(rows, place, 't')} * {prod(self.given.inside(written))};"
        if line not in self.begin_step:
            self.begin_step.append(line)
        self.rows.see(register, lambda index: f"{name}_held[{at} + {self.rows.flat(register, index)}]")

    def _mitmot(self, k: int, state: StateSlot) -> None:
        """Keep the rows between the first and the last tap of a mitmot in registers, if they have no inside."""
        register = state.writes[0][1]
        if self.given.missing(register) and prod(self.elements.sizes) != 1:
            raise NotFusedError("rows of a mitmot are smaller than those of other values")
        low, high = _span(state)
        if high - low >= MOST_ROWS:
            raise NotFusedError("a state reaches back too far")
        name = self.given.array("state", k, register, written=True)
        if self.given.inside(register):
            for tap, number in state.reads:
                self._read(self.begin_step, number, name, f"({state.offset + tap} + t)")
            return
        made = TYPES[dtype_of(self.body, register)]
        for tap in range(low, high + 1):
            place = f"({state.offset + tap} + first) * {name}_row"
            self.before.append(f"{made} {name}_{tap - low} = {name}[{place}];")
        for tap, number in state.reads:
            self._let(self.begin_step, number, f"{name}_{tap - low}")

    def _carry(self, k: int, read: int, write: int) -> None:
        made = TYPES[dtype_of(self.body, write)]
        name = self.given.array("carry", k, write, written=True)
        source = self.given.array("carry", k, write, start=True) if self.given.missing(write) else name
        if self.given.inside(write):
            self._shared_rows(name, write, 1, ["0"], source)
            self._see_shared(name, write, 2, 0, read)
        else:
            self.before.append(f"{made} {name}_now = *{source};")
            self._let(self.begin_step, read, f"{name}_now")

    # results

    def write_slots(self) -> None:
        """Write and carry on the results of a step."""
        if self.loop.until is not None:
            if any(along is not None for along in self.given.along(self.loop.until)):
                raise NotFusedError("the stop condition is no single number")
            self.rows.store_number(self.loop.until, lambda text: [f"const bool stop = {text};"])
        for k, state in enumerate(self.loop.states):
            if state.kind == "mitmot":
                self._write_mitmot(k, state)
            else:
                self._write_state(k, state)
        for k, output in enumerate(self.loop.step_outputs):
            if output.result is None:
                continue
            name = self.given.array("output", k, output.inner, written=True)
            if output.keep_last is None:
                place, condition = "t", ""
            else:
                rows = self.given.count("output", k)
                place = f"(t % {rows})"
                condition = "" if self.loop.until is not None else f"t + {rows} >= last"
            self._store_row(name, place, output.inner, condition)
        for k, carry in enumerate(self.loop.carries):
            if k not in self.draws.blocks_per_step:
                self._write_carry(k, carry.write)

    def _store_row(self, name: str, place: str, register: int, condition: str = "", held: str = "") -> None:
        """Write a row of a result in a step; ``held`` is the slot in shared memory that it goes to as well."""
        guard = self.given.condition(register, condition)
        if not self.given.inside(register):
            self.rows.store_number(
                register, lambda text: [f"{guard}{self.rows.by_one}{name}[{place} * {name}_row] = {text};"]
            )
            return

        def lines(text: str, index: Index) -> list[str]:
            found = [f"{held} = {text};"] if held else []
            if name:
                steps = " + ".join([f"{place} * {name}_row", *self.given.steps(name, register, index)])
                found.append(f"{guard}{name}[{steps}] = {text};")
            return found

        self.rows.store(register, lines)

    def _write_state(self, k: int, state: StateSlot) -> None:
        register, name = state.writes[0][1], f"state{k}"
        rows = f"{name}_rows" if wraps(state) else None
        in_step = rows is None or (state.keep_last or 0) > state.offset or not state.offset
        place = _place(f"{state.offset} + t", rows)
        after = [f"{_place(f't + {j}', rows)} * {name}_row" for j in range(state.offset)]
        if self.given.inside(register):
            self._write_shared(
                name, register, [] if in_step else after, place if in_step else "", state.offset
            )
            return
        if in_step:
            self._store_row(name, place, register)
        else:
            for j, at in enumerate(after):
                self.after.append(
                    f"{self.given.condition(register)}{self.rows.by_one}{name}[{at}] = {name}_{j};"
                )
        if state.offset:
            # all rows are read before one moves: a state may return what another has read
            self._new(name, register)
            held = [f"{name}_{j}" for j in range(state.offset)]
            self.after_step += [f"{row} = {following};" for row, following in pairwise(held)]
            self.after_step.append(f"{held[-1]} = {name}_new;")

    def _write_shared(
        self, name: str, register: int, after: Sequence[str], place: str = "", offset: int = 1
    ) -> None:
        """Write the next of the rows in shared memory.

        It goes to its ``place`` of the result in the step, or the last ``offset`` rows go to theirs after the last step.
        """
        index, inside = self.rows.loop_index(register), self.given.inside(register)
        flat, count = self.rows.flat(register, index), prod(inside)
        self.begin_step.append(f"const int {name}_next = {self._slot(offset + 1, offset, 't')} * {count};")
        held = f"{name}_held[{name}_next + {flat}]"
        self._store_row(name if place else "", place, register, held=held)
        for j, at in enumerate(after):
            steps = " + ".join([at, *self.given.steps(name, register, index)])
            slot = f"{self._slot(offset + 1, j, 't')} * {count} + {flat}"
            guard = self.given.condition(register)
            self.after += [self.rows.over(inside), f"  {guard}{name}[{steps}] = {name}_held[{slot}];"]

    def _new(self, name: str, register: int) -> None:
        """Name the new value of a carry."""
        made = TYPES[dtype_of(self.body, register)]
        self.rows.store_number(register, lambda text: [f"const {made} {name}_new = {text};"])

    def _write_mitmot(self, k: int, state: StateSlot) -> None:
        name = f"state{k}"
        low, high = _span(state)
        if self.given.inside(state.writes[0][1]):
            self.rows.wait()  # until all threads have read the rows
            for tap, register in state.writes:
                self._store_row(name, f"({state.offset + tap} + t)", register)
            return
        rows = [f"{name}_{tap - low}" for tap in range(low, high + 1)]
        guard = self.rows.by_one
        for tap, register in state.writes:
            self._new(f"{name}_{tap - low}", register)
        for tap, _ in state.writes:
            self.after_step.append(f"{name}_{tap - low} = {name}_{tap - low}_new;")
        self.after_step.append(f"{guard}{name}[({state.offset + low} + t) * {name}_row] = {rows[0]};")
        self.after_step += [f"{row} = {following};" for row, following in pairwise(rows)]
        following = f"{name}[({state.offset + high + 1} + t) * {name}_row]"
        self.after_step.append(f"if (t + 1 < last) {rows[-1]} = {following};")
        for j, row in enumerate(rows[:-1]):
            self.after.append(
                f"if (t > first) {guard}{name}[({state.offset + low + j} + t) * {name}_row] = {row};"
            )

    def _write_carry(self, k: int, register: int) -> None:
        name = f"carry{k}"
        if self.given.inside(register):
            self._write_shared(name, register, ["0"])
            return
        self._new(name, register)
        self.after_step.append(f"{name}_now = {name}_new;")
        self.after.append(f"{self.given.condition(register)}{self.rows.by_one}*{name} = {name}_now;")


def _place(text: str, rows: str | None) -> str:
    return f"({text})" if rows is None else f"(({text}) % {rows})"


def _span(state: StateSlot) -> tuple[int, int]:
    """Return the first and the last tap of a state."""
    taps = [tap for tap, _ in (*state.reads, *state.writes)]
    return min(taps), max(taps)
