"""Write a program group by group: the step of a loop, or one side of a branch.

A chain of elementwise operations is written as one loop.  Inner loops and branches are written in place.  An operation without
native code is *called out*: the code calls a Python function (:mod:`scanviz.engine.backends.native.run.callouts`) with the
number of the instruction and the addresses of its inputs and outputs.  That takes 1–2 µs beside the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scanviz.engine.backends.native.emit import NotWrittenError, RunError
from scanviz.engine.backends.native.emit.call_arguments import Callout
from scanviz.engine.backends.native.emit.frame import ProgramFrame, Shared
from scanviz.engine.backends.native.emit.instructions import WRITE, source_of, why_not, write_chain
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.kernels.arrays import write_seen
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    dtype_of,
    is_scalar,
)
from scanviz.engine.program.plan import Where

# writes inner loops and branches; filled by `inside.py`
INSIDE: dict[type[AnyInstruction], Callable[[ProgramWriter, int, Any], None]] = {}


class ProgramWriter(ProgramFrame):
    """Writes the instructions of a program.

    Attributes
    ----------
    inline : bool
        Whether inner loops and branches are part of the code; else they are called out, and observers are notified.
    """

    inline: bool = True

    def refuse(self) -> None:
        """Check that everything can be written.

        Raises
        ------
        NotWrittenError
            If an instruction has no native code.
        """
        for index, instruction in enumerate(self.body.instructions):
            if self._is_idle(index):
                continue
            if why_not(instruction, self.body) is not None:
                self._may_call_out(instruction)
            for number in instruction.outputs:
                known = self.places.shape(number) is not None
                if not known and self.plan.places[number].location is not Where.NUMBER:
                    raise NotWrittenError(
                        f"the shape of the result of `{instruction.op.name}` depends on values"
                    )

    def _may_call_out(self, instruction: AnyInstruction) -> None:
        """Refuse an instruction that cannot be called out: its shapes must be known."""
        if instruction.op.facts.effect:
            raise NotWrittenError(f"`{instruction.op.name}` does something beside giving results")
        for number in (*instruction.inputs, *instruction.outputs):
            known = self.places.shape(number) is not None
            if not known and self.plan.places[number].location is not Where.NUMBER:
                raise NotWrittenError(f"the shape of an input of `{instruction.op.name}` depends on values")

    def write_groups(self) -> None:
        """Write all instructions."""
        for group in self.plan.groups:
            self._group(group)
            if any(not self._is_idle(index) for index in group):
                self.stamp(group)

    def stamp(self, group: Sequence[int]) -> None:
        """Write a time stamp, in timed code."""

    def _is_idle(self, index: int) -> bool:
        instruction = self.body.instructions[index]
        return index in self.plan.idle or instruction.op.facts.size == "is"

    def _group(self, group: Sequence[int]) -> None:
        for index in group:
            instruction = self.body.instructions[index]
            source = instruction.provenance.source
            if source is not None and not self._is_idle(index):
                self.code.comment(f"{instruction.op.name}  {source}: {source.text().strip()}")
        todo = [self.body.instructions[index] for index in group]
        if len(group) > 1 and not is_scalar(self.body, todo[-1].outputs[0]) and self._is_chain(todo):
            local = frozenset(
                n for part in todo for n in part.outputs if self.plan.places[n].location is Where.LOCAL
            )
            self.shared.written += len(todo)
            write_chain(self, [part for part in todo if isinstance(part, Instruction)], local)
            return
        for index in group:
            if index not in self.plan.idle:
                self._one(index, self.body.instructions[index])

    def _is_chain(self, group: Sequence[AnyInstruction]) -> bool:
        """Return whether a group is written as one chain."""
        return all(why_not(part, self.body) is None for part in group)

    def _one(self, index: int, instruction: AnyInstruction) -> None:
        if instruction.op.facts.size == "is":
            if instruction.outputs[0] not in self.values:
                raise NotWrittenError(f"`{instruction.op.name}` depends on values")
            return
        try:
            with self._taken_back_on_refusal():
                self._write(index, instruction)
        except RunError:
            raise
        except NotWrittenError as refused:
            self._may_call_out(instruction)
            call_out(self, instruction, str(refused))

    def _write(self, index: int, instruction: AnyInstruction) -> None:
        """Write an instruction in place."""
        reason = why_not(instruction, self.body)
        if reason is not None:
            raise NotWrittenError(reason)
        match instruction:
            case Instruction():
                row = WRITE.get(instruction.op.declaration)
                (row or write_seen)(self, instruction)
                self.shared.written += instruction.op.facts.weight != "free"
            case LoopInstruction() | BranchInstruction():
                if not self.inline:
                    raise NotWrittenError("it is observed")
                self._write_inside(index, instruction)

    def where(
        self, holds: Value, instruction: AnyInstruction, why: str, write: Callable[[], Sequence[Value]]
    ) -> None:
        """Write lines that run if a condition holds; otherwise call the instruction out."""
        self._may_call_out(instruction)
        code, good, bad, after = self.code, self.code.label(), self.code.label(), self.code.label()
        numbers = [number for number in instruction.outputs if is_scalar(self.body, number)]
        with self.inside((*instruction.inputs, *(set(instruction.outputs) - set(numbers)))):
            code.branch(holds, good, bad)
            code.begin(bad)
            known = dict(self.values), dict(self.rows)
            call_out(self, instruction, why, seldom=True)
            called, before = [self.value(number) for number in numbers], code.block
            self.values, self.rows = known  # addresses computed on one side are unknown on the other
            code.jump(after)
            code.begin(good)
            written, end = write(), code.block
            code.jump(after)
            code.begin(after)
        for number, one, other in zip(numbers, called, written, strict=True):
            self.give(number, code.either(one, before, other, end))

    def _write_inside(self, index: int, instruction: LoopInstruction | BranchInstruction) -> None:
        """Write an inner loop or a branch in place."""
        if index not in self.plan.inner:
            raise NotWrittenError(f"the shapes of the inputs of `{instruction.op.name}` depend on values")
        INSIDE[type(instruction)](self, index, instruction)
        self.shared.inside += 1

    @contextmanager
    def _taken_back_on_refusal(self) -> Iterator[None]:
        """Undo the lines of an instruction that turns out to have no native code."""
        code, lines, block = self.code, len(self.code.lines), self.code.block
        values, rows, shared = dict(self.values), dict(self.rows), self.shared
        sites, callouts, counted = len(shared.sites), len(shared.callouts), len(shared.counted)
        try:
            yield
        except NotWrittenError:
            code.take_back(lines, block)
            del shared.sites[sites:], shared.callouts[callouts:], shared.counted[counted:]
            self.values, self.rows = values, rows
            raise

    @contextmanager
    def inside(self, read: Sequence[int]) -> Iterator[None]:
        """Context of code that may run any number of times: load inputs before it, forget values found in it."""
        for number in read:
            if is_scalar(self.body, number):
                self.value(number)
            else:
                place = self.places.of(number)
                if place is not None:
                    self.operand(place)
        values, rows = dict(self.values), dict(self.rows)
        yield
        self.values, self.rows = values, rows


A_CALL = 4  # native operations save about what one call out costs
A_PROGRAM = 10  # operations' worth that an inner loop or branch saves as part of the code


def refuse_many_callouts(shared: Shared) -> None:
    """Check that native code gains more than its callouts cost.

    Raises
    ------
    NotWrittenError
        If it does not.
    """
    usual = [callout for callout in shared.callouts if not callout.seldom]
    if A_CALL * len(usual) > shared.written + A_PROGRAM * shared.inside:
        reasons = ", ".join(dict.fromkeys(callout.why for callout in usual))
        raise NotWrittenError(f"callouts would cost more than native code gains: {reasons}")


def call_out(frame: ProgramFrame, instruction: AnyInstruction, why: str, seldom: bool = False) -> None:
    """Write a callout of an instruction, and a return if it fails."""
    code, body = frame.code, frame.body
    code.comment(f"called out: {why}")
    reads = [source_of(frame, number) for number in instruction.inputs]
    writes = []
    for number in instruction.outputs:
        place = None if is_scalar(body, number) else frame.places.of(number)
        writes.append(place or frame.places.temporary((), dtype_of(body, number)))
    site = frame.site_of(instruction)
    number = len(frame.shared.callouts)
    frame.shared.callouts.append(Callout(site, tuple(reads), tuple(writes), why, seldom))
    table = frame.operand(frame.places.temporary((len(reads) + len(writes),), "int64")).address
    for k, place in enumerate((*reads, *writes)):
        address = frame.operand(place).address
        code.line(f"store ptr {address.text}, ptr {code.at(table, 8 * k).text}, align 8")
    function = frame.address(("called", 0, 0))
    arguments = ", ".join(value.typed for value in (constant(number, "int64"), frame.steps()[-1], table))
    status = code.op(f"call i64 {function.text}({arguments})", "int64")
    failed, went_well = code.label(), code.label()
    code.branch(code.op(f"icmp ne i64 {status.text}, 0", "bool"), failed, went_well)
    code.begin(failed)
    frame.report(-1, [])
    code.begin(went_well)
    for output, place in zip(instruction.outputs, writes, strict=True):
        if is_scalar(body, output):
            frame.give(output, code.load(frame.operand(place).address, place.dtype))
