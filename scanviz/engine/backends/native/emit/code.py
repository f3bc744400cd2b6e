"""A whole loop as one function of LLVM IR: (first step, last step, addresses, numbers) → steps done.

``addresses`` are those of sequences, rows of states and outputs, non-sequences, buffers, constants and scratch memory.  ``numbers``
are the bytes between two rows of each sequence, then the numbers of rows of states and outputs.  The result is four times the
steps done, plus the outcome (:mod:`scanviz.engine.runtime.calling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scanviz.engine.backends.native.cache.jit import Machine, compiled, target
from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit import inside as _inside  # noqa: F401  # writes inner loops and branches
from scanviz.engine.backends.native.emit.call_arguments import CallArguments, CodeVariant
from scanviz.engine.backends.native.emit.frame import Shared
from scanviz.engine.backends.native.emit.ir import Code, Value
from scanviz.engine.backends.native.emit.program import refuse_many_callouts
from scanviz.engine.backends.native.emit.steps import StepsWriter
from scanviz.engine.backends.native.emit.strip_mining import strip_mined_loop, write_strip_mined
from scanviz.engine.program.instructions import LoopInstruction, dtype_of, is_scalar
from scanviz.engine.program.plan import Plan, StoreKind
from scanviz.engine.program.verify import verify_plan

if TYPE_CHECKING:
    from scanviz.engine.backends.native.run.stamps import StampWriter


class Kind(NamedTuple):
    """A kind of code of a loop.

    Attributes
    ----------
    variant : str
        ``"plain"``; ``"timed"``, which notes times of steps or of operations; or ``"strip_mined"``, plain code that takes strips of
        elements through many steps and notes a time for each block of these.
    inline : bool
        Whether inner loops and branches are written in place; else they are called out, so that observers are notified.
    counts : bool
        Whether runs of inner loops are counted (:mod:`scanviz.engine.backends.native.run.counts`).
    share : tuple of int
        Rows of the loop's batch, and rows that the code takes; (1, 1) for the whole loop.
    calls_out : bool
        Whether operations without native code may be called out.
    """

    variant: CodeVariant
    inline: bool = True
    counts: bool = False
    share: tuple[int, int] = (1, 1)
    calls_out: bool = True


class FunctionWriter(StepsWriter):
    """Writes one kind of code of a loop for a plan, as a function; ``marked`` code has marks for the user's lines."""

    def __init__(self, loop: LoopInstruction, plan: Plan, kind: Kind, marked: bool = False) -> None:
        super().__init__(loop, plan, target().vector_bytes, Shared(Code(marked), kind.counts))
        self.share, self.variant, self.inline = kind.share, kind.variant, kind.inline
        self.stamped: list[tuple[int, ...]] = []
        self.stamps: StampWriter | None = None

    def write(self) -> tuple[str, CallArguments]:
        """Return the module's IR and the arguments of its function.

        Raises
        ------
        NotWrittenError
            If an instruction has no native code.
        """
        self.refuse()
        self.open()
        code = self.code
        if self.variant != "plain":
            from scanviz.engine.backends.native.run.stamps import StampWriter  # only needed while observed

            width = self._stamps_a_step() if self.variant == "timed" else 0
            self.stamps = StampWriter(code, self.address(("stamps", 0, 0)), width)
        code.jump("prepare")  # written last, when the needs of the steps are known
        code.begin("ready")
        mined = strip_mined_loop(self) if self.variant != "timed" else None
        last, stopped = Value("%last", "int64"), None
        if mined is not None:
            blocks = None if self.stamps is None else partial(self.stamps.blocks, self.first, last)
            done = write_strip_mined(self, mined, last, blocks)
        else:
            done, stopped = self.write_steps(last)
        if self.inline:
            refuse_many_callouts(self.shared)
        coded = self.coded(done)
        if stopped is not None:
            ending = code.op(f"zext i1 {stopped.text} to i64", "int64")
            coded = code.op(f"or i64 {coded.text}, {ending.text}", "int64")
        code.line(f"ret i64 {coded.text}")
        code.begin("prepare")
        shared = self.shared
        for place, write in shared.prepared.values():
            write(self.operand(place))
        code.jump("ready")
        layout = CallArguments(
            tuple(shared.addresses), shared.scratch.size, tuple(self.stamped), shared.most_reported,
            shared.constants, tuple(shared.sites), tuple(shared.callouts), bool(shared.inside), tuple(shared.counted),
            mined is not None,
        )  # fmt: skip
        return shared.module(), layout

    def open(self) -> None:
        """Load the numbers that are the same in all steps."""
        super().open()
        loop = self.loop
        for kind, count in (
            ("sequence", len(loop.sequences)), ("state", len(loop.states)), ("output", len(loop.step_outputs)),
        ):  # fmt: skip
            for k in range(count):
                at = len(self.numbers)
                address = self.code.at(Value("%numbers", "address"), 8 * at)
                self.numbers[kind, k] = self.code.load(address, "int64")
        for k, slot in enumerate(loop.non_sequences):
            if is_scalar(self.body, slot.inner):
                self.values[slot.inner] = self.code.load(
                    self.address(("fixed", k, 0)), dtype_of(self.body, slot.inner)
                )

    def leave(self, done: Value, latest: Sequence[Value]) -> None:
        """Store the states that are in registers when the loop is left; no step's time includes this."""
        self.left(done)
        given = iter(latest)
        for k, slot in enumerate(self.loop.states):
            number, kind = slot.writes[0][1], self.plan.stores["state", k].kind
            if k in self.held:
                values = [next(given) for _ in range(slot.offset)]
                if kind is StoreKind.HELD and values:
                    position = self.position(k, done, -1)
                    size = np.dtype(dtype_of(self.body, number)).itemsize
                    address = self.code.at(self.start("state", k), self.code.times(position, size))
                    self.code.store(values[0], address)
            elif kind is StoreKind.SINGLE:
                self._leave_single(k, done)

    def _leave_single(self, k: int, done: Value) -> None:
        """Copy the only row of a state to the place where the last step's row is expected."""
        start, row, offset = self.start("state", k), self.row_bytes("state", k), self.loop.states[k].offset
        apart = self.bytes_apart("state", k)
        code = self.code
        size = self.numbers["state", k].text
        ends = []
        for step in (self.first, done):
            position = code.add(step, offset - 1)
            position = code.op(f"urem i64 {position.text}, {size}", "int64")
            ends.append(code.at(start, code.times(position, apart)))
        code.declared["memmove"] = "declare ptr @memmove(ptr, ptr, i64)"
        code.line(f"call ptr @memmove(ptr {ends[1].text}, ptr {ends[0].text}, i64 {row})")

    # times

    def stamp(self, group: Sequence[int]) -> None:
        """Write a time stamp, in the timed variant."""
        if self.stamps is None:
            return
        if group:
            self.stamps.operation(self.step, len(self.stamped))
        else:
            self.stamps.begin_step(self.step)
        self.stamped.append(tuple(group))

    def left(self, done: Value) -> None:
        """Write down the steps done, in the timed variant."""
        if self.stamps is not None:
            self.stamps.leave(done)

    def _stamps_a_step(self) -> int:
        groups = sum(any(not self._is_idle(index) for index in group) for group in self.plan.groups)
        return groups + 2


def text_of(loop: LoopInstruction, plan: Plan, kind: Kind, marked: bool = False) -> tuple[str, CallArguments]:
    """Return a loop's code as LLVM IR, and its arguments.

    Raises
    ------
    NotWrittenError
        If an instruction has no native code, or one of a part may fail: that is done for the whole loop.
    """
    text, arguments = FunctionWriter(loop, plan, kind, marked).write()
    if kind.share != (1, 1) and arguments.sites:
        raise NotWrittenError("an operation of a part may fail")
    if not kind.calls_out and arguments.callouts:
        raise NotWrittenError(arguments.callouts[0].why)
    return text, arguments


def code_of(loop: LoopInstruction, plan: Plan, kind: Kind) -> tuple[Machine, CallArguments]:
    """Return machine code of a loop, and its arguments.

    Raises
    ------
    NotWrittenError
        If an instruction has no native code.
    """
    verify_plan(loop.body, plan)
    text, arguments = text_of(loop, plan, kind)
    return compiled(text), arguments
