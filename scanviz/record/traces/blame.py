"""The chain of blame of a NaN or an infinity among kept values: from the step that shows it to its cause.

Each link is a step of a loop, or a row of the function's inputs.  The chain goes from a loop to the loop that it reads (the
forward loop of a gradient), or to the one around it or inside its step.  It also goes through work that was moved out of a
loop.  The function's Program determines where numbers came from (:mod:`scanviz.record.traces.origins`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import ScanvizError
from scanviz.engine.program.file import from_bytes
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    all_loops,
)
from scanviz.engine.program.value_names import as_written
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.layout import trace_heads
from scanviz.record.traces.model import FirstBad, TracedVariableRecord, TraceRecord, first_bad_of
from scanviz.record.traces.origins import Frame, Origin, Place, moves_only, origins, rows_given
from scanviz.record.values import SourceRecord

LONGEST = 12  # loops
MOST_ROWS = 4  # of inputs

_Bad = tuple[TraceRecord, FirstBad]


class BlameLink(Struct, frozen=True):
    """A link of the chain.

    Attributes
    ----------
    words : str
        The event in words.
    loop, run, step : int or None
        The step of a loop that it is about; None for other links.
    source : SourceRecord or None
        The user's line.
    operation : int or None
        The loop's operation that made it.
    """

    words: str
    loop: int | None = None
    run: int | None = None
    step: int | None = None
    source: SourceRecord | None = None
    operation: int | None = None


def chain_of_blame(record: ProfileRecord, loop: int | None) -> tuple[BlameLink, ...]:
    """Return the chain that begins with the first NaN or infinity of a loop; empty if none was kept.

    Examples
    --------
    >>> chain_of_blame(ProfileRecord(), 1)
    ()
    """
    return tuple(_Chain(record).links(loop))


class _Step(NamedTuple):
    """A step in the function's Program: the call and its loops, and the registers of the kept values."""

    frames: tuple[Frame, ...]
    registers: dict[int, int]  # id of a traced variable → register
    variables: dict[int, TracedVariableRecord]  # register → traced variable


@lru_cache(maxsize=8)
def _program(content: bytes) -> Program | None:
    """Return a Program of a record; None without a readable one."""
    try:
        return from_bytes(content) if content else None
    except ScanvizError:
        return None


class _Chain:
    """A chain under construction."""

    def __init__(self, record: ProfileRecord) -> None:
        self.record = record
        self.loops = {loop.key: loop for loop in record.loops}
        self.functions = {function.key: function for function in record.functions}
        self._placed: dict[int, dict[int, LoopInstruction]] = {}

    def links(self, loop: int | None) -> Iterator[BlameLink]:
        seen: set[int] = set()
        found = self._first(loop)
        while found is not None and found[0].loop not in seen and len(seen) < LONGEST:
            trace, bad = found
            seen.add(trace.loop)
            step = self._step(trace, bad.step)
            operands = self._operands(step, trace, bad)
            constant = next((one for one in operands if self._was_bad(one, trace, bad.step)), None)
            inner = self._inner(trace, bad)
            yield self._link(trace, bad, operands, constant)
            if inner is not None and constant is None:
                found = self._first(inner)
                continue
            asked = bad.variable if constant is None else constant
            links, found = self._before(step, trace, bad, asked, bad.given or constant is not None)
            yield from links

    def _first(self, loop: int | None) -> _Bad | None:
        return first_bad_of(trace for trace in self.record.traces if trace.loop == loop)

    def _inner(self, trace: TraceRecord, bad: FirstBad) -> int | None:
        """Return the inner loop that computed a step's value; None if an operation did."""
        return self.loops[trace.loop].inner_loop(bad.variable.operation)

    # a step in its Program

    def _step(self, trace: TraceRecord, step: int) -> _Step | None:
        """Return a step in its Program; None if the record has no matching Program."""
        known = self.loops[trace.loop]
        program, placed = _program(self.functions[known.function].program), self._in_program(known.function)
        if program is None or not placed:
            return None
        frames = [self._call(program, trace)]
        frames[0].steps_done = {
            placed[other.loop].key: other.total_steps
            for other in self.record.traces
            if other.loop in placed and (other.run == trace.run or self.loops[other.loop].runs == 1)
        }
        for key in self._way(trace.loop):
            loop = placed[key]
            linked = any(instruction is loop for instruction in frames[-1].program.instructions)
            frames.append(Frame(loop.body, trace.run, loop, linked, step=step if key == trace.loop else None))
        heads = {_place_of(head.record): head.register for head in trace_heads(placed[trace.loop], known)}
        found = [(variable, heads.get(_place_of(variable))) for variable in trace.variables]
        registers = {id(variable): register for variable, register in found if register is not None}
        variables = {register: variable for variable, register in reversed(found) if register is not None}
        return _Step(tuple(frames), registers, variables)

    def _in_program(self, function: int) -> dict[int, LoopInstruction]:
        """Return the loops of a function's Program by their keys in the record; empty if the two do not match."""
        if function not in self._placed:
            program = _program(self.functions[function].program)
            keys = [loop.key for loop in self.record.loops if loop.function == function]
            loops = [] if program is None else [loop for loop, _ in all_loops(program)]
            self._placed[function] = dict(zip(keys, loops, strict=True)) if len(keys) == len(loops) else {}
        return self._placed[function]

    def _call(self, program: Program, trace: TraceRecord) -> Frame:
        """Return the call around a run, if its inputs were kept."""
        graph = self.functions[self.loops[trace.loop].function].graph
        leaves = {} if graph is None else graph.leaves
        shared = {leaf.results[0].name for leaf in leaves.values() if leaf.role == "shared"}
        names = [program.registers[number].name or "" for number in program.inputs]
        frame = Frame(program, 0, given=sum(name not in shared for name in names))
        held = next((call for call in self.record.calls if call.has_run(trace.loop, trace.run)), None)
        if held is not None and len(held.inputs) == len(program.inputs):
            frame.inputs = tuple(held.arrays[place].array() for place in held.inputs)
        return frame

    def _way(self, key: int) -> list[int]:
        """Return a loop and the loops around it, the outermost first."""
        found = [key]
        while (parent := self.loops[found[0]].parent) is not None:
            found.insert(0, parent)
        return found

    # links

    def _operands(self, step: _Step | None, trace: TraceRecord, bad: FirstBad) -> list[TracedVariableRecord]:
        """Return the values that an operation of a step read; for a value that is only passed on, that value."""
        register = None if step is None or bad.given else step.registers.get(id(bad.variable))
        if step is None or register is None:
            return []
        body = step.frames[-1].program
        maker = _maker(body, register)
        read = (register,) if maker is None else as_written(body, maker)
        wanted = (step.variables.get(number) for number in read)
        return list({id(one): one for one in wanted if one is not None and one is not bad.variable}.values())

    def _was_bad(self, operand: TracedVariableRecord, trace: TraceRecord, step: int) -> bool:
        """Return whether a value that is the same in every step was bad from the start."""
        place = trace.steps.index(step)
        return operand.role == "input" and operand.tap is None and bool(operand.statistics[place, 3:].any())

    def _link(
        self,
        trace: TraceRecord,
        bad: FirstBad,
        operands: list[TracedVariableRecord],
        constant: TracedVariableRecord | None,
    ) -> BlameLink:
        loop, name = self.loops[trace.loop], bad.variable.name
        at = f"step {bad.step} of {loop.name}{self._back(trace, bad.step)}"
        if bad.given:
            words = f"{at} read it from {name}"
        elif constant is None and self._inner(trace, bad) is not None:
            words = f"{at} got it from the loop in its step: {name}"
        else:
            place = trace.steps.index(bad.step)
            given = ", ".join(_shortly(operand, place) for operand in operands)
            made = "made it" if constant is None else f"read it from {constant.name}"
            words = f"{at} {made}: {name}{f' with {given}' if given else ''}"
        return BlameLink(words, trace.loop, trace.run, bad.step, bad.variable.source, bad.variable.operation)

    def _back(self, trace: TraceRecord, step: int) -> str:
        forward = self.loops.get(self.loops[trace.loop].gradient_of or -1)
        if forward is None:
            return ""
        of = [other for other in self.record.traces if other.loop == forward.key and other.run == trace.run]
        steps = of[0].total_steps if of else trace.total_steps
        at = f"step {steps - 1 - step} of {forward.name}" if step < steps else forward.name
        return f" (back over {at})"

    def _before(
        self, step: _Step | None, trace: TraceRecord, bad: FirstBad, asked: TracedVariableRecord, given: bool
    ) -> tuple[list[BlameLink], _Bad | None]:
        """Return links for the origin of a bad value or for an operation's inputs, and the earlier place of the bad value."""
        if given and (earlier := self._not_kept(trace, bad)) is not None:
            return [earlier], None
        register = None if step is None else step.registers.get(id(asked))
        if step is None or register is None:
            return [], None
        found = origins(step.frames, register, _where(asked, trace.steps.index(bad.step)))
        parent = self.loops[trace.loop].parent
        if not given:
            return ([] if parent is not None else self._rows(found, trace, bad.step, given)), None
        links = self._moved(step, trace, register) if parent is None else []
        for one in found:
            if one.loop is not None and not one.back:
                placed = self._in_program(self.loops[trace.loop].function)
                key = next(key for key, loop in placed.items() if loop is one.loop)
                if (first := self._first(key)) is not None:
                    return links, first
                words = f"loop {self.loops[key].name} returned it, in a step that was not kept"
                return [*links, BlameLink(words, key)], None
        if parent is not None:
            return links, self._first(parent)
        return [*links, *self._rows(found, trace, bad.step, given)], None

    def _not_kept(self, trace: TraceRecord, bad: FirstBad) -> BlameLink | None:
        """Return the earlier step that wrote a state, if its values were not kept."""
        index = bad.variable.variable
        variable = None if index is None else self.loops[trace.loop].variables[index]
        if variable is None or not bad.given or variable.kind in ("sequence", "nitsot"):
            return None
        written = [bad.step + (bad.variable.tap or 0) - tap for tap in variable.writes]
        before = max((step for step in written if 0 <= step < bad.step), default=None)
        if before is None:
            return None
        words = f"step {before} wrote {variable.name}, and was not kept: --recompute shows it"
        return BlameLink(words, trace.loop, trace.run, before)

    def _moved(self, step: _Step, trace: TraceRecord, register: int) -> list[BlameLink]:
        """Return the operation outside of loops that computed a value of a step, if there is one."""
        loop, program = step.frames[-1].loop, step.frames[0].program
        assert loop is not None
        outer = {slot.inner: (slot.outer, ", for all its steps") for slot in loop.sequences}
        outer |= {slot.inner: (slot.outer, "") for slot in loop.non_sequences}
        number, when = outer.get(register, (None, ""))
        maker = _maker(program, number)
        while isinstance(maker, Instruction) and moves_only(maker):
            maker = _maker(program, maker.inputs[maker.op.declaration.views or 0])
        if maker is None or isinstance(maker, LoopInstruction):
            return []
        operations = self.functions[self.loops[trace.loop].function].operations
        operation = operations[program.instructions.index(maker)]
        return [BlameLink(f"{operation.label} was computed before the loop{when}", source=operation.source)]

    def _rows(self, found: list[Origin], trace: TraceRecord, step: int, given: bool) -> list[BlameLink]:
        """Return links for the input rows that a value came from, the nearest in time."""
        rows = rows_given(found, whole=given)
        nearest = rows[0].back if rows else 0
        links = []
        if nearest and not given:
            words = f"step {step - nearest} of {self.loops[trace.loop].name} wrote that input"
            links.append(BlameLink(words, trace.loop, trace.run, step - nearest))
        texts = dict.fromkeys(map(_row, rows))
        return [*links, *(BlameLink(text) for text in [*texts][:MOST_ROWS])]


def _row(origin: Origin) -> str:
    """Return, in words, the numbers of an input that a step used, and whether they were bad."""
    at = [index for index in origin.place if index is not None]
    at = at if None not in origin.place[: len(at)] else []
    name = f"{origin.name}[{', '.join(map(str, at))}]" if at else origin.name
    value = origin.frame.value(origin.frame.program.inputs[_input(origin)])
    numbers = None if value is None else np.asarray(value, np.float64)[tuple(at)]
    is_bad = numbers is not None and not np.isfinite(numbers).all()
    verb = "it came" if is_bad else "computed"
    kind = "your input" if origin.kind == "input" else origin.kind
    shown = f" = {numbers:.4g}" if numbers is not None and numbers.ndim == 0 else ""
    return f"{verb} from {kind} {name}{shown}"


def _input(origin: Origin) -> int:
    program = origin.frame.program
    names = [program.registers[number].name for number in program.inputs]
    return names.index(origin.name) if origin.name in names else int(origin.name.removeprefix("number "))


def _maker(program: Program, number: int | None) -> AnyInstruction | None:
    return next((one for one in program.instructions if number in one.outputs), None)


def _place_of(variable: TracedVariableRecord) -> tuple[object, ...]:
    return variable.role, variable.variable, variable.tap, variable.operation, variable.name


def _where(variable: TracedVariableRecord, place: int) -> Place | None:
    """Return the position of the first NaN or infinity in a value; None if unknown, or if all are."""
    bad = np.flatnonzero(~np.isfinite(variable.values[place])) if variable.values.size else np.zeros(0)
    if not len(bad):
        return None
    return tuple(int(index) for index in np.unravel_index(int(bad[0]), variable.shape))


def _shortly(variable: TracedVariableRecord, place: int) -> str:
    """Return a value in a few words: a single number itself, else its range."""
    low, high = variable.statistics[place, :2].tolist()
    shown = f"{low:.4g}" if math.prod(variable.shape) == 1 else f"{low:.4g} … {high:.4g}"
    return f"{variable.name} = {shown}"
