"""Run the parts of a loop by threads: each takes its rows through all steps of a chunk."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, prod
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scanviz.engine.backends.native.cache.jit import Machine
from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.call_arguments import CallArguments, CodeVariant
from scanviz.engine.backends.native.emit.code import Kind, code_of
from scanviz.engine.backends.native.run.gathered_arguments import gathered
from scanviz.engine.backends.native.run.workers import threads_allowed
from scanviz.engine.program.instructions import LoopInstruction, dtype_of
from scanviz.engine.program.plan import Emits, Grouping, Plan
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.arena import LoopArena
from scanviz.engine.runtime.buffer_pool import lent_bytes

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.places import Base
    from scanviz.engine.backends.native.run.batch_partition import Parts
    from scanviz.engine.program.shapes import ConcreteShape

CHUNK_NS = 100_000_000  # the longest call, so that ctrl+c is heard
PAYS_NS = 1e6  # shorter runs take one thread: waking another takes about ten microseconds
SHORTEST_NS = 250.0  # shorter steps are not divided: overhead would dominate
COMPILED_NS = 60e6  # code for parts is made once a loop's steps take so long
FEWEST = 1e6  # elements of rows: loops with fewer are surely too short
LOST = 0.02  # the share of time that may be spent on trying parts again


class _CodeOfPart(NamedTuple):
    """Machine code of one part, and its arguments."""

    plan: Plan
    machine: Machine
    arguments: CallArguments


class PartedCode:
    """Code of the parts of a loop; a last part of another size has its own.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    parts : Parts
        The division into parts.

    Raises
    ------
    NotWrittenError
        If the step has callouts or may fail: such loops are not divided.
    """

    def __init__(self, loop: LoopInstruction, parts: Parts) -> None:
        self._loop, self._parts = loop, parts
        self._timed: _CodeOfPart | None = None  # the first part, which notes times for all
        self._code = self._of_part(parts.plan, "plain", parts.rows)
        self._last = self._code
        if parts.is_uneven:
            self._last = self._of_part(parts.last_plan, "plain", parts.last_rows)

    def _of_part(self, plan: Plan, variant: CodeVariant, rows: int) -> _CodeOfPart:
        return _CodeOfPart(plan, *code_of(self._loop, plan, Kind(variant, share=(self._parts.size, rows))))

    @property
    def is_timed(self) -> bool:
        """True if there is timed code."""
        return self._timed is not None

    def prepare_times(self) -> None:
        """Compile the timed code, once."""
        if self._timed is None:
            variant: CodeVariant = "strip_mined" if self._code.arguments.strip_mined else "timed"
            self._timed = self._of_part(self._parts.plan, variant, self._parts.rows)

    def run(self, arena: LoopArena, first: int, last: int, step_ns: float, times: bool) -> float:
        """Take steps in chunks, so that ctrl+c is heard; return the nanoseconds per step.

        ``step_ns`` is the expected time of a step; with ``times`` the first part notes the times of steps.
        """
        from scanviz.engine.backends.native.run.workers import WORKERS

        begun, start = perf_counter_ns(), first
        calls = self._calls(arena, times)
        while start < last:
            end = min(last, start + max(1, int(CHUNK_NS / step_ns)))
            WORKERS.run([partial(call, start, end) for call in calls])
            start = end
            step_ns = max(1.0, (perf_counter_ns() - begun) / (end - first))
        return step_ns

    def _calls(self, arena: LoopArena, times: bool) -> list[Callable[[int, int], int]]:
        """Return for each part a function of (first step, last step)."""
        codes = [self._code] * (self._parts.count - 1) + [self._last]
        if times and self._timed is not None:
            codes[0] = self._timed
        return [self._call(arena, part, code) for part, code in enumerate(codes)]

    def _call(self, arena: LoopArena, part: int, code: _CodeOfPart) -> Callable[[int, int], int]:
        """Return a function that takes steps of one part."""
        buffers = [lent_bytes(prod(shape) * np.dtype(dtype).itemsize) for shape, dtype in code.plan.buffers]
        arrays, numbers = gathered(code.arguments, arena, buffers)
        addresses = [
            address(data) + part * self._bytes(base)
            for base, data in zip(code.arguments.addresses, arrays, strict=True)
        ]
        held = arrays, array("Q", addresses), array("q", numbers)

        def call(start: int, end: int) -> int:
            where, what = (buffer.buffer_info()[0] for buffer in held[1:])
            return code.machine.function(start, end, where, what)

        return call

    def _bytes(self, base: Base) -> int:
        """Return the bytes between the rows of adjacent parts."""
        kind, k, _ = base
        loop, parts = self._loop, self._parts
        if kind == "sequence" and k in parts.sequences:
            number = loop.sequences[k].inner
        elif kind == "fixed" and k in parts.fixed:
            number = loop.non_sequences[k].inner
        elif kind == "state":
            number = loop.states[k].writes[0][1]
        elif kind == "output":
            number = loop.step_outputs[k].inner
        else:
            return 0
        return prod(parts.plan.places[number].shape or ()) * np.dtype(dtype_of(loop.body, number)).itemsize


class InParts:
    """Decides when threads take the parts of a loop: as long as they are not slower.

    Results are the same in both ways, so the choice may depend on clocks.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    plan : Plan
        The plan of the whole loop.
    how : tuple
        The grouping and what can be emitted, for plans.
    """

    def __init__(self, loop: LoopInstruction, plan: Plan, how: tuple[Grouping, Emits]) -> None:
        self._loop, self._plan, self._how = loop, plan, how
        self._made: dict[int, PartedCode | None] = {}  # by the number of threads allowed
        self._taken_ns = 0.0  # the time of all steps
        self.step_ns = 0.0  # the last time of a step on one thread; at first an estimate
        # calls between trials of parts while these are slower, and how many are left
        self._apart, self._again = 0, 0

    def note(self, steps: int, elapsed_ns: int) -> None:
        """Record the time of steps taken by one thread."""
        self.step_ns, self._taken_ns = elapsed_ns / steps, self._taken_ns + elapsed_ns

    def prepare_times(self) -> None:
        """Compile timed code of the parts before the observer's clock starts."""
        for code in list(self._made.values()):
            if code is not None:
                code.prepare_times()

    def run(self, arena: LoopArena, first: int, last: int, times: bool = False) -> bool:
        """Take steps in parts if that pays, and return whether; with ``times`` one part stamps the steps."""
        if not self.step_ns:
            self.step_ns = self._estimated(arena, last - first)
        ahead = (last - first) * self.step_ns
        if not ahead or ahead < PAYS_NS or self.step_ns < SHORTEST_NS:
            return False
        if not self._made and self._taken_ns + ahead < COMPILED_NS:
            return False
        if self._again:
            self._again -= 1
            return False
        code = self._code(arena.shapes, [state.row_shape for state in arena.states])
        if code is None or (times and not code.is_timed):
            return False
        taken = code.run(arena, first, last, self.step_ns, times)
        if times:
            arena.record.waited(first, last, round(taken * (last - first)))
        self._taken_ns += taken * (last - first)
        self._again = self._apart = self._calls_until_again(taken / self.step_ns - 1)
        return True

    def _estimated(self, arena: LoopArena, steps: int) -> float:
        """Estimate the nanoseconds of a step; 0 for a run that is surely short."""
        loop = self._loop
        rows = [state.row_shape for state in arena.states]
        sizes = [prod(shape) for shape in (*rows, *arena.shapes[: len(loop.sequences)]) if shape]
        if steps * max(sizes, default=0) < FEWEST or threads_allowed() < 2:
            return 0.0
        from scanviz.engine.cost import MACHINE_RATES
        from scanviz.engine.program.work import step_ns  # only needed for long runs

        return step_ns(loop.body, self._plan, MACHINE_RATES)

    def _calls_until_again(self, lost: float) -> int:
        """Return how many calls one thread takes before parts are tried again, after they lost a share of time.

        Parts that lose nothing are used again at once: a delay, such as by busy waiting threads of BLAS, may be over soon.  Slower
        parts are tried again after intervals that double, until trials cost :data:`LOST`.
        """
        return 0 if lost <= LOST else min(2 * self._apart + 1, ceil(lost / LOST))

    def _code(self, shapes: Sequence[ConcreteShape], rows: Sequence[ConcreteShape]) -> PartedCode | None:
        """Return the code of the parts, None if the loop has none."""
        threads = threads_allowed()
        if threads not in self._made:
            from scanviz.engine.backends.native.run.batch_partition import parts_of

            parts = parts_of(self._loop, shapes, rows, self._plan, threads, self._how)
            try:
                self._made[threads] = None if parts is None else PartedCode(self._loop, parts)
            except NotWrittenError:
                self._made[threads] = None
        return self._made[threads]
