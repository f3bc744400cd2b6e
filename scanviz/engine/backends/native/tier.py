"""A loop in the native tier: code for the shapes met, called with addresses; NumPy's code where there is none."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from scanviz.engine.backends.native.arrays import address, aligned_bytes
from scanviz.engine.backends.native.errors import NotWrittenError
from scanviz.engine.backends.native.instructions import formula_of
from scanviz.engine.backends.native.jit import Machine, compiled, target
from scanviz.engine.backends.native.loop import LoopEmitter
from scanviz.engine.errors import InternalError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observe import StepSeries
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program, dtype_of
from scanviz.engine.program.plan import Emits, Plan, chains, plan_loop
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.program.verify import verify_plan
from scanviz.engine.runtime.arena import LoopArena
from scanviz.engine.runtime.calling import FAILED, Outcome
from scanviz.engine.runtime.events import OwnTime
from scanviz.engine.runtime.schedule import Variant
from scanviz.engine.runtime.specialised import Specialised, SpecialisedLoop, Tier, Write
from scanviz.engine.runtime.stamps import RESOLUTION, Clock, Stamps, stamps_a_step

CHUNK_NS = 100_000_000  # a call takes about so long at most, so that ctrl+c is heard
STAMP_BYTES = 16  # of a time: seconds and nanoseconds
FIRST_CHUNK = 256  # steps of the first call, which says how long steps are
EMITS = Emits(
    lambda instruction, program: instruction.op.declaration.views is None,
    lambda instruction, program: range(min(instruction.op.facts.overwrites, len(instruction.inputs))),
)


class NativeCode:
    """Machine code of one variant of a loop, called as every loop's code is.

    Attributes
    ----------
    text : str
        The code in LLVM's language, with the user's lines.
    handed : CallArguments
        What it is handed.
    machine : Machine
        What it was compiled to.
    """

    def __init__(self, loop: LoopInstruction, plan: Plan, variant: Variant) -> None:
        self.text, self.handed = LoopEmitter(loop, plan, variant, target().vector_bytes).write()
        self.machine: Machine = compiled(self.text)
        constants = [base[1] for base in self.handed.addresses if base[0] == "constant"]
        self._constants = {k: np.ascontiguousarray(loop.body.constants[k]) for k in constants}
        self._chunk = FIRST_CHUNK
        self.loop, self.plan = loop, plan

    @property
    def function(self) -> NativeCode:
        """What is called."""
        return self

    def __call__(self, arena: LoopArena, first: int, last: int) -> Outcome:
        """Take steps, in chunks between which ctrl+c is heard; see :mod:`scanviz.engine.runtime.calling`."""
        arrays, numbers = self._gathered(arena)
        addresses, told = array("Q", map(address, arrays)), array("q", numbers)
        where, what = addresses.buffer_info()[0], told.buffer_info()[0]
        function = self.machine.function
        if last - first <= self._chunk:
            found = function(first, last, where, what)
        else:
            found = self._in_chunks(addresses, where, what, first, last)
        done, outcome = found >> 2, found & 3
        return done, outcome, self._failed(arena, arrays, done) if outcome == FAILED else -1

    def _in_chunks(self, addresses: array[int], where: int, what: int, first: int, last: int) -> int:
        """Take steps in calls of about a tenth of a second; return what the last call did."""
        stamps, start = self._stamps_place(), first
        begin = addresses[stamps] if stamps is not None else 0
        while True:
            end = min(last, first + self._chunk)
            if stamps is not None:
                addresses[stamps] = begin + (first - start) * len(self.handed.stamped) * STAMP_BYTES
            begun = perf_counter_ns()
            found = self.machine.function(first, end, where, what)
            if found & 3 or found >> 2 >= last:
                return found
            self._chunk = max(1, (end - first) * CHUNK_NS // max(1, perf_counter_ns() - begun))
            first = end

    def _failed(self, arena: LoopArena, arrays: Sequence[Array], step: int) -> int:
        """Put the error that code has reported into the arena, and return its instruction: NumPy's, for a stand-in of the array."""
        places = [base[0] for base in self.handed.addresses]
        told: list[int] = arrays[places.index("report")].tolist()
        index, numbers = told[0], told[1:]
        instruction = self.loop.body.instructions[index]
        assert isinstance(instruction, Instruction)
        shape = self.plan.places[instruction.inputs[0]].shape or ()
        stand_in = np.broadcast_to(np.zeros((), dtype_of(self.loop.body, instruction.inputs[0])), shape)
        values = (stand_in, *map(np.int64, numbers[: len(instruction.inputs) - 1]))
        try:
            instruction.op.perform(values)
        except Exception as error:
            arena.error, arena.error_values = error, values
        else:
            arena.error = InternalError(f"native code refused `{instruction.op.name}`, which NumPy does")
        return index

    def _stamps_place(self) -> int | None:
        return next((k for k, base in enumerate(self.handed.addresses) if base[0] == "stamps"), None)

    def _gathered(self, arena: LoopArena) -> tuple[list[Array], list[int]]:
        """Return the arrays whose addresses the code is handed, and the numbers."""
        sequences = [_rows_in_order(sequence) for sequence in arena.sequences]
        numbers = [sequence.strides[0] for sequence in sequences]
        for state in arena.states:
            if not state.array.flags.c_contiguous:  # a buffer that a mitmot takes over
                state.array = np.ascontiguousarray(state.array)
            numbers.append(state.size)
        numbers += [max(output.size, 1) for output in arena.outputs]
        arrays: list[Array] = []
        for kind, k, _ in self.handed.addresses:
            match kind:
                case "sequence":
                    arrays.append(sequences[k])
                case "state":
                    arrays.append(arena.states[k].array)
                case "output":
                    arrays.append(arena.outputs[k].array)
                case "fixed":
                    arrays.append(np.ascontiguousarray(arena.fixed[k]))
                case "buffer":
                    arrays.append(arena.buffers[k])
                case "constant":
                    arrays.append(self._constants[k])
                case "report":
                    arrays.append(np.zeros(self.handed.reported, np.int64))
                case "stamps":
                    arrays.append(arena.record)
                case _:
                    arrays.append(aligned_bytes(self.handed.scratch))
        return arrays, numbers


def _rows_in_order(sequence: Array) -> Array:
    """Return a sequence with each row in C order; rows may be any distance apart."""
    if sequence.flags.c_contiguous or (len(sequence) and sequence[0].flags.c_contiguous):
        return sequence
    return np.ascontiguousarray(sequence)


class NativeStamps:
    """Times that native code wrote down itself: pairs of seconds and nanoseconds."""

    def __init__(self, code: NativeCode, variant: Variant, first: int, last: int, clock: Clock) -> None:
        self._code, self._variant, self._clock = code, variant, clock
        self._steps, self._end = last - first, 0
        self.record = np.zeros((self._steps * len(code.handed.stamped), 2), np.int64)
        self._begun = clock()

    def end(self) -> None:
        """Note the time at which the last step was done."""
        self._end = self._clock()

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the whole steps, in the variant for it of their operations too."""
        width = len(self._code.handed.stamped)
        times = self.record[:, 0] * 1_000_000_000 + self.record[:, 1]
        done = int(np.count_nonzero(times)) // width
        table = times[: done * width].reshape(done, width)
        if self._variant == "steps":
            ends = np.append(table[:, 0], self._end) if self._end else table[:, 0]
            span = int(ends[-1]) - self._begun if len(ends) else 0
            return StepSeries(loop.key, first, np.diff(ends), span_ns=span, resolution_ns=RESOLUTION)
        spans = np.diff(np.append(table[:, 0], table[-1:, -1])) if done else np.empty(0, np.int64)
        between = np.diff(table, axis=1)
        operations = np.zeros((stamps_a_step(loop) - 2, done), np.int64)
        for k, group in enumerate(self._code.handed.stamped[1:-1]):
            for index, share in _shares(loop.body, group):
                operations[index] = (between[:, k] * share).astype(np.int64)
        return StepSeries(loop.key, first, spans, operations, between[:, -1].copy(), resolution_ns=RESOLUTION)


def _shares(program: Program, group: Sequence[int]) -> list[tuple[int, float]]:
    """Return how the time of instructions that are done as one is shared out: by the lines of their formulas."""
    weights = []
    for index in group:
        instruction = program.instructions[index]
        assert isinstance(instruction, Instruction)
        block = formula_of(instruction, program) if len(group) > 1 else None
        weights.append(1 if block is None else sum(line.op != "constant" for line in block.lines) or 1)
    total = sum(weights)
    return [(index, weight / total) for index, weight in zip(group, weights, strict=True)]


class NativeSpecialised(Specialised):
    """Native code for one set of shapes; times are taken by the code itself."""

    __slots__ = ()

    def stamps(self, name: Variant, first: int, last: int, own: OwnTime | None) -> Stamps:
        """Return what takes the times of a chunk; nothing is watched within native steps."""
        code = self.written(name)
        assert isinstance(code, NativeCode)
        return NativeStamps(code, name, first, last, self.clock)


class NativeLoop(SpecialisedLoop):
    """The code of one loop by shapes: native where it can be written, NumPy's elsewhere."""

    def __init__(self, loop: LoopInstruction, runners: Mapping[int, Any], tier: Tier, write: Write) -> None:
        super().__init__(loop, runners, tier._replace(name="numpy"), write)
        self._native = tier._replace(name="native", emits=EMITS, groups=chains)

    def _for_shapes(self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]]) -> Specialised:
        try:
            return self._native_for(shapes, rows)
        except NotWrittenError as refused:
            made = super()._for_shapes(shapes, rows)
            made.why = f"no native code: {refused}"
            return made

    def _native_for(self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]]) -> Specialised:
        plan = plan_loop(self.loop, shapes, self._native.groups, EMITS, rows)
        verify_plan(self.loop.body, plan)

        def write(plan: Plan, variant: Variant) -> NativeCode:
            return NativeCode(self.loop, plan, variant)

        made = NativeSpecialised(plan, self._native, write, "machine code for the shapes met")
        code = made.written("plain")
        assert isinstance(code, NativeCode)
        if code.machine.was_kept:
            made.why += ", kept on disk from an earlier run"
        return made


__all__ = ["NativeCode", "NativeLoop"]
