"""The Python source of a loop: one step as straight-line calls of the array library.

There are three variants of the same code: *plain* without stamps, *steps* with one stamp per step, *ops* with one after every
operation.  :mod:`scanviz.engine.runtime.calling` has the calling convention; the code reads only what it needs from the arena.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    has_effects,
    is_scalar,
)
from scanviz.engine.program.plan import Buffer, Plan, Row, Size, Store, StoreKind, wraps
from scanviz.engine.runtime.calling import STOPPED

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Library
    from scanviz.engine.observation.sampling import Variant

# states that keep only the last row: two alternating rows, one overwritten row, or a scalar in a variable
LAST_ROW_ALONE = (StoreKind.PAIR, StoreKind.SINGLE, StoreKind.HELD)
LONGEST_HISTORY = 6  # deepest tap for which rows are kept in variables


class SourceWriter:
    """Writes one variant of a loop for a plan; it decides nothing but names."""

    def __init__(
        self,
        loop: LoopInstruction,
        plan: Plan,
        variant: Variant,
        runners: Mapping[int, Any],
        library: Library,
        first: str = "first",
    ) -> None:
        self.loop, self.plan, self.variant, self.runners = loop, plan, variant, runners
        self.first = first  # the source of the number of the first step
        self.library, self.emitter = library, library.emitter(loop.body)
        self.body: list[tuple[str, int | None]] = []  # lines of the step, with the instruction they run
        self.before: list[str] = []
        self.once: list[tuple[str, int]] = []  # lines of instructions that are run before the first step
        self.iterated: list[tuple[str, str]] = []  # (name of the step's value, what to iterate over)

    def write(self) -> SourceWriter:
        """Write all lines, and return itself."""
        fresh = self.emitter.fresh
        loop = self.loop
        self.sequences = [fresh(f"{slot.name}_rows") for slot in loop.sequences]
        self.states = [fresh(f"{slot.name}_rows") for slot in loop.states]
        self.sizes = [fresh(f"{slot.name}_size") for slot in loop.states]
        self.outputs = [fresh(f"{slot.name}_out") for slot in loop.step_outputs]
        self.output_sizes = [fresh(f"{slot.name}_size") for slot in loop.step_outputs]
        named = [*(slot.name for slot in loop.states), *(slot.name for slot in loop.step_outputs)]
        self.row_stores = [fresh(f"{name}_row_store") for name in named]
        self.buffers = [fresh(f"buffer{k}") for k in range(len(self.plan.buffers))]
        self.row_names: dict[tuple[str, int], int] = {}
        self.mitmot_rows: dict[tuple[int, int], int] = {}
        for number in self._rows_written():
            row = self.plan.places[number].location
            assert isinstance(row, Row)
            if self.plan.stores[row.slot].kind is StoreKind.TAKEN:
                self.mitmot_rows[row.slot[1], row.tap] = number
            else:
                self.row_names[row.slot] = number
        for number, place in enumerate(self.plan.places):
            if isinstance(place.location, Size):
                self.emitter.call_it(number, self.emitter.bind_size(place.location.value))
        self.emitter.unchanged = {slot.inner for slot in loop.non_sequences} | set(loop.body.constants)
        self.emitter.fixed = {slot.inner for slot in loop.non_sequences if is_scalar(loop.body, slot.inner)}
        if has_effects(loop.body):
            from scanviz.engine.ops.effects import at_step  # seldom needed

            self.line(f"{self.emitter.bind(at_step, 'at_step')}(t)")
        self._read_inputs()
        self._open_rows()
        self.stamp_each()
        for index, instruction in enumerate(loop.body.instructions):
            self._instruction(index, instruction)
            self.stamp_each()
        self._store_rows()
        self.stamp_each()
        self._advance()
        self.before += self.emitter.before
        return self

    def _rows_written(self) -> list[int]:
        """Return the registers written straight into rows: of states, outputs, then mitmots."""
        wanted = [number for slot in self.loop.states for _, number in slot.writes if slot.kind != "mitmot"]
        wanted += [slot.inner for slot in self.loop.step_outputs]
        wanted += [number for slot in self.loop.states for _, number in slot.writes if slot.kind == "mitmot"]
        rows = set(self.plan.placed(Row))
        return [number for number in dict.fromkeys(wanted) if number in rows]

    def _rows_from(self, rows: str, shift: int) -> str:
        """Return the source of the rows that the steps iterate over."""
        if self.first != "0":
            return f"{rows}[{_plus(self.first, shift)}:{_plus('last', shift)}]"
        return f"{rows}[{shift}:]" if shift else rows

    def line(self, text: str, instruction: int | None = None) -> None:
        """Add a line to the step."""
        self.body.append((text, instruction))

    def stamp_each(self) -> None:
        """Add a time stamp in the ops variant."""
        if self.variant == "ops":
            self.line("record(clock())")

    def _read_inputs(self) -> None:
        """Name the rows of sequences and states that the step reads."""
        for sequence, array in zip(self.loop.sequences, self.sequences, strict=True):
            self._iterate(self.emitter.name(sequence.inner), array)
        self.history: dict[int, list[str]] = {}
        for k, slot in enumerate(self.loop.states):
            if self._carried(k):
                self._read_history(k)
                continue
            for tap, number in slot.reads:
                name = self.emitter.name(number)
                if wraps(slot):
                    self.line(f"{name} = {self.states[k]}[{self.place_of(k, 't', tap)}]")
                else:
                    self._iterate(name, self.states[k], slot.offset + tap)

    def _iterate(self, name: str, rows: str, shift: int = 0) -> None:
        """Iterate a name over rows; ``shift`` is added to the step's number."""
        self.iterated.append((name, self._rows_from(rows, shift)))

    def _carried(self, k: int) -> bool:
        """Return whether a state's earlier rows are kept in variables."""
        slot = self.loop.states[k]
        return slot.kind != "mitmot" and not self._store(k).checked and slot.offset <= LONGEST_HISTORY

    def _read_history(self, k: int) -> None:
        """Name the rows of the steps before the first, the latest of them first."""
        slot = self.loop.states[k]
        named = {-tap: self.emitter.name(number) for tap, number in slot.reads}
        names = [
            named.get(back) or self.emitter.fresh(f"{slot.name}_tm{back}")
            for back in range(1, slot.offset + 1)
        ]
        self.history[k] = names
        for back, name in enumerate(names, start=1):
            self.before.append(f"{name} = {self.states[k]}[{self.place_of(k, self.first, -back)}]")

    def _store(self, k: int) -> Store:
        return self.plan.stores["state", k]

    def _kind(self, k: int) -> StoreKind:
        return self._store(k).kind

    def place_of(self, k: int, step: str, tap: int) -> str:
        """Return the source of the number of a state's row."""
        slot = self.loop.states[k]
        place = _plus(step, slot.offset + tap)
        return f"({place}) % {self.sizes[k]}" if wraps(slot) else place

    def _open_rows(self) -> None:
        """Name the rows that operations write straight into."""
        for (k, tap), number in self.mitmot_rows.items():
            slot = self.loop.states[k]
            read = dict(slot.reads).get(tap)
            if read is not None:
                self.emitter.call_it(number, self.emitter.name(read))  # the row that was read is overwritten
                continue
            self._iterate(self.emitter.name(number), self.states[k], slot.offset + tap)
        for (kind, k), number in self.row_names.items():
            if kind == "state" and self._kind(k) is StoreKind.SINGLE:
                self.emitter.call_it(number, self.history[k][0])
                continue
            name = self.emitter.name(number)
            if kind == "state":
                slot = self.loop.states[k]
                if self._kind(k) in LAST_ROW_ALONE:
                    self.before.append(f"{name} = {self.states[k]}[{self.place_of(k, self.first, 0)}]")
                elif wraps(slot):
                    self.line(f"{name} = {self.states[k]}[{self.place_of(k, 't', 0)}]")
                else:
                    self._iterate(name, self.states[k], slot.offset)
            elif self.loop.step_outputs[k].keep_last is None:
                self._iterate(name, self.outputs[k])
            else:
                self.line(f"{name} = {self.outputs[k]}[t % {self.output_sizes[k]}]")
        self._name_steps_to_rows()

    def _name_steps_to_rows(self) -> None:
        """Give registers that are written over on the way to a row the row's name."""
        for number, place in enumerate(self.plan.places):
            if isinstance(place.location, Row) and place.made >= 0:
                slot, tap = place.location.slot, place.location.tap
                last = self.mitmot_rows.get((slot[1], tap)) if slot[0] == "state" else None
                last = self.row_names.get(slot, number) if last is None else last
                if last != number:
                    self.emitter.call_it(number, self.emitter.name(last))

    def _instruction(self, index: int, instruction: AnyInstruction) -> None:
        comment = _comment(instruction)
        if not isinstance(instruction, Instruction):
            hint = "loop_" + instruction.name if isinstance(instruction, LoopInstruction) else "branch"
            self.line(self.emitter.call_statement(instruction, self.runners[index], hint) + comment, index)
            return
        if index in self.plan.idle:
            if not isinstance(self.plan.places[instruction.outputs[0]].location, Size):
                self.emitter.call_it(instruction.outputs[0], self.emitter.name(instruction.inputs[0]))
            return
        if index in self.plan.invariant:
            self.once += [
                (text + comment, index) for text in self.library.statements(self.emitter, instruction, None)
            ]
            return
        out = None
        if len(instruction.outputs) == 1:
            place = self.plan.places[instruction.outputs[0]].location
            if isinstance(place, Buffer):
                out = self.buffers[place.number]
                self.emitter.call_it(instruction.outputs[0], out)
            elif isinstance(place, Row):
                out = self.emitter.name(instruction.outputs[0])
        for text_line in self.library.statements(self.emitter, instruction, out):
            self.line(text_line + comment, index)
            comment = ""

    def _store_rows(self) -> None:
        """Store the rows that no operation wrote in place.

        Mit-mots come last: values read from them may be views of rows that are written here.
        """
        self._keep_carries()
        self.next_rows: dict[int, str] = {}
        mitmots: list[tuple[int, str, int]] = []
        for k, slot in enumerate(self.loop.states):
            for tap, number in slot.writes:
                name = self.emitter.name(number)
                if self.mitmot_rows.get((k, tap)) == number:
                    continue
                if slot.kind == "mitmot":
                    mitmots.append((k, name, tap))
                elif self._store(k).checked:
                    self.line(f"{self.row_stores[k]}.write(t, {tap}, {self._array(number)})")
                elif self.row_names.get(("state", k)) == number:
                    self.next_rows[k] = name
                else:
                    self.next_rows[k] = self._store_state(k, number, name)
        for k, output in enumerate(self.loop.step_outputs):
            self._store_output(k, output.inner)
        held = []
        for k, name, tap in mitmots:
            held.append((k, self._copied(name, "row") if (k, tap) in self.plan.writes_copied else name, tap))
        for k, name, tap in held:
            if self._store(k).checked:
                self.line(f"{self.row_stores[k]}.write(t, {tap}, {self.as_array()}({name}))")
            else:
                self.line(f"{self.states[k]}[{self.place_of(k, 't', tap)}] = {name}")

    def _keep_carries(self) -> None:
        """Name the new carries, copied if their memory will be overwritten."""
        self.kept: list[str] = []
        for k, slot in enumerate(self.loop.carries):
            name, copied = self.emitter.name(slot.write), k in self.plan.carries_copied
            self.kept.append(self._copied(name, f"{slot.name}_kept") if copied else name)

    def _copied(self, name: str, hint: str) -> str:
        """Copy a variable; return the name of the copy."""
        copy = self.emitter.fresh(hint)
        self.line(f"{copy} = {name}.copy()")
        return copy

    def as_array(self) -> str:
        """Return the name of the function that makes an array of a number."""
        return self.emitter.bind(self.library.tier.module.as_array, "asarray")

    def _array(self, number: int) -> str:
        name = self.emitter.name(number)
        return f"{self.as_array()}({name})" if is_scalar(self.loop.body, number) else name

    def _store_state(self, k: int, number: int, name: str) -> str:
        """Store a row that lies elsewhere; return the name of the stored row."""
        place = self.place_of(k, "t", 0)
        if self._kind(k) in (StoreKind.HELD, StoreKind.SINGLE):
            return name
        if is_scalar(self.loop.body, number):
            self.line(f"{self.states[k]}[{place}] = {name}")
            return name
        row = self.emitter.fresh(f"{self.loop.states[k].name}_row")
        if self._kind(k) in LAST_ROW_ALONE:
            self.before.append(f"{row} = {self.states[k]}[{self.place_of(k, self.first, 0)}]")
        else:
            self.line(f"{row} = {self.states[k]}[{place}]")
        self.line(f"{row}[...] = {name}")
        return row

    def _store_output(self, k: int, number: int) -> None:
        slot = self.loop.step_outputs[k]
        if slot.result is None or self.row_names.get(("output", k)) == number:
            return
        if self.plan.stores["output", k].checked:
            self.line(f"{self.row_stores[len(self.loop.states) + k]}.write(t, {self._array(number)})")
            return
        place = "t" if slot.keep_last is None else f"t % {self.output_sizes[k]}"
        self.line(f"{self.outputs[k]}[{place}] = {self.emitter.name(number)}")

    def _advance(self) -> None:
        """Advance states and carries in one assignment, and stop if the condition holds."""
        moves: list[tuple[str, str]] = []
        for k, row in self.next_rows.items():
            if k in self.history:
                names = self.history[k]
                moves.extend(zip(names[:0:-1], names[-2::-1], strict=True))
                moves.append((names[0], row))
                if self._kind(k) in (StoreKind.PAIR, StoreKind.SINGLE):
                    moves.append((row, names[0]))
        for slot, value in zip(self.loop.carries, self.kept, strict=True):
            moves.append((self.emitter.name(slot.read), value))
        condition = None
        if self.loop.until is not None:
            condition = self.emitter.name(self.loop.until)
            if any(condition == target for target, _ in moves):
                moves.append((self.emitter.fresh("stop"), condition))
                condition = moves[-1][0]
        moves = [(target, value) for target, value in moves if target != value]
        if moves:
            self.line(f"{', '.join(a for a, _ in moves)} = {', '.join(b for _, b in moves)}")
        if condition is not None:
            truth = self.library.tier.module.truth
            test = condition if truth is None else f"{self.emitter.bind(truth, 'truth')}({condition})"
            self.line(f"if {test}:")
            for text in [*self.leave("t + 1"), f"return t + 1, {STOPPED}, -1"]:
                self.line(f"    {text}")

    def leave(self, done: str) -> list[str]:
        """Return the lines that store carries and states when the loop is left after ``done`` steps."""
        lines = self.store_held(done)
        carried = "".join(f"{self.emitter.name(slot.read)}, " for slot in self.loop.carries)
        return [*lines, f"arena.carried = ({carried})"] if carried else lines

    def store_held(self, done: str) -> list[str]:
        """Return the lines that store the states that are not in place."""
        held = [k for k in self.history if self._kind(k) in (StoreKind.HELD, StoreKind.SINGLE)]
        return [f"{self.states[k]}[{self.place_of(k, done, -1)}] = {self.history[k][0]}" for k in held]


def _comment(instruction: AnyInstruction) -> str:
    """Return the user's line as a sanitised comment."""
    source = instruction.provenance.source
    text = " ".join(source.text().split()) if source is not None else ""
    return f"  # {source}: {text}".encode("utf-8", "replace").decode() if text else ""


def _plus(name: str, shift: int) -> str:
    return name if shift == 0 else f"{name} {'+' if shift > 0 else '-'} {abs(shift)}"
