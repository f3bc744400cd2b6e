"""The functions and loops of a recording in bounded memory: those that do not fit are reduced to totals, or dropped.

Descriptions, rewrites and Programs are written when the clock has stopped: graphs and programs are immutable.  Nothing here keeps a
function alive.  Data of deleted functions is held up to a limit, so that a program that builds and drops thousands of functions
does not fill the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from scanviz.engine.errors import MisfitError
from scanviz.engine.locks import lock
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.file import to_bytes
from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops, nested_loops
from scanviz.profiler.recording.function_aggregate import FunctionAggregate
from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.profiler.recording.overhead import Calibration
from scanviz.profiler.recording.plans_met import PlansMet
from scanviz.profiler.recording.steps import DETAIL_BYTES
from scanviz.record.graphs.rewrites_snapshot import RewritesSource, Written, rewrites_source, size_of, written
from scanviz.record.model import FunctionRecord, LoopRecord
from scanviz.record.paths import recorded_path
from scanviz.record.program_snapshot import function_record, loop_records

BARE = 2_000  # a loop or function with only totals
OPERATION = 700  # an operation's record with its labels
VARIABLE = 1_700  # a loop variable's record with its entries of mappings
CELL = 8  # an entry of a connection pattern
REWRITES = 4  # graphs of rewrites may take 1/N of the memory: loops come first
PROGRAMS = 16  # Programs may take 1/N of the memory
LARGEST_PROGRAM = 2**20  # bytes; larger Programs, which hold large constants, are not kept
MOST_GONE = 32  # deleted functions that may wait
MOST_HELD = 8 * 2**20  # bytes of arrays that these may hold


class Budget:
    """A byte budget whose last eighth is reserved for totals.

    Examples
    --------
    >>> budget = Budget(80_000)
    >>> budget.take(60_000), budget.take(60_000), budget.take(5_000, last=True)
    (True, False, True)
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._used = limit, 0

    def take(self, count: int, last: bool = False) -> bool:
        """Use bytes if available and return whether they were; ``last`` allows the last eighth."""
        limit = self._limit if last else self._limit * 7 // 8
        if self._used + count > limit:
            return False
        self._used += count
        return True


def function_size(program: Program) -> int:
    """Estimate the bytes of a program's description, beyond its totals."""
    return 2 * OPERATION * len(program.instructions)


def loop_size(loop: LoopInstruction) -> int:
    """Estimate the bytes of a loop's description, beyond its totals."""
    slots = (*loop.sequences, *loop.states, *loop.step_outputs, *loop.carries, *loop.non_sequences)
    cells = 2 * len(loop.inputs) * max(1, len(loop.outputs))
    return OPERATION * len(loop.body.instructions) + VARIABLE * len(slots) + CELL * cells


def program_content(program: Program) -> bytes:
    """Serialize a Program; return no bytes if it is too large or cannot be serialized."""
    if _constants(program) > LARGEST_PROGRAM:
        return b""  # without serializing it
    try:
        content = to_bytes(program, recorded_path)
    except MisfitError:
        return b""
    return content if len(content) <= LARGEST_PROGRAM else b""


def _constants(program: Program) -> int:

    programs = [program, *(loop.body for loop, _ in all_loops(program))]
    return sum(constant.nbytes for one in programs for constant in one.constants.values())


def _bytes(shared: object) -> int:
    value = getattr(shared, "get_value", lambda borrow: None)(borrow=True)
    return int(getattr(value, "nbytes", 0))


class _Waiting(NamedTuple):
    """A function whose data is not written yet."""

    event: CompiledFunction
    source: RewritesSource | None
    held: int  # bytes of arrays that only this entry may keep alive


class FunctionsMet:
    """The functions and loops of a recording.

    Parameters
    ----------
    max_bytes : int
        Approximate memory limit.
    calibration : callable
        Returns the cost of a stamp.
    guard : lock
        Guards the object; callers hold it, except in :meth:`write` and :meth:`write_gone`.

    Attributes
    ----------
    functions, loops : dict
        Aggregates by key.
    left_out : int
        Number of functions, loops and rewrites that were reduced or dropped.
    """

    def __init__(self, max_bytes: int, calibration: Calibration, guard: Any) -> None:
        self._calibration, self._lock = calibration, guard
        self._budget = Budget(max_bytes)
        self._rewrites_budget = Budget(max_bytes // REWRITES)
        self._programs_budget = Budget(max_bytes // PROGRAMS)
        self.functions: dict[int, FunctionAggregate] = {}
        self.loops: dict[int, LoopAggregate] = {}
        # of what was dropped: no record shows them
        self._no_function = FunctionAggregate(FunctionRecord(0, "", None, ""), 0)
        self._no_loop = LoopAggregate(LoopRecord(0, 0, None, "", None), calibration, 0)
        self._no_loop.detailed = False
        self._dropped: set[int] = set()
        self._waiting: dict[int, _Waiting] = {}
        self._writing = lock()  # a signal's handler may ask for the record while its thread writes
        self.left_out = 0

    def function(self, key: int) -> FunctionAggregate:
        """Return the aggregate of a function."""
        return self.functions.get(key, self._no_function)

    def loop(self, key: int) -> LoopAggregate:
        """Return the aggregate of a loop."""
        return self.loops.get(key, self._no_loop)

    def meet(self, event: CompiledFunction) -> None:
        """Add a function and its loops; their description is written after the clock has stopped."""
        if event.key in self.functions or event.key in self._dropped:
            return
        program, count = event.program, len(event.program.instructions)
        is_whole = self._budget.take(BARE + function_size(program))
        self.left_out += not is_whole
        if not is_whole and not self._budget.take(BARE, last=True):
            self._dropped.add(event.key)
            return
        known = FunctionRecord(event.key, event.name, None, event.backend)
        function = FunctionAggregate(known, count if is_whole else 0)
        self.functions[event.key] = function
        self._meet_loops(event, function)
        source, held = None, 0
        if event.function is not None:
            function.plans = PlansMet(event)
            source = rewrites_source(event.function, program)
            held = sum(map(_bytes, event.function.spec.shared)) + _constants(program)
        self._waiting[event.key] = _Waiting(event._replace(function=None), source, held)

    def _meet_loops(self, event: CompiledFunction, function: FunctionAggregate) -> None:
        for loop, around, _ in nested_loops(event.program):
            parent = None if around is None else around.key
            is_known = parent is None or parent in self.loops
            is_whole = is_known and self._budget.take(BARE + loop_size(loop))
            self.left_out += not is_whole
            if is_whole or (is_known and self._budget.take(BARE, last=True)):
                placed = LoopRecord(loop.key, event.key, parent, loop.name, None)
                count = len(loop.body.instructions) if is_whole else 0
                around_it = None if parent is None else self.loops[parent]
                self.loops[loop.key] = LoopAggregate(placed, self._calibration, count, around_it)
                function.loops.append(self.loops[loop.key])

    def looks_at_steps(self, loop: LoopAggregate) -> None:
        """Decide whether single steps of a loop are kept, unless that is decided."""
        if loop.detailed is None:
            loop.detailed = self._budget.take(DETAIL_BYTES)
            self.left_out += not loop.detailed and loop.operations > 0

    def write_gone(self) -> None:
        """Write the data of deleted functions, if it is too large to hold until the clock has stopped."""
        gone = [key for key in list(self._waiting) if self.functions[key].is_gone]
        if len(gone) > MOST_GONE or sum(self._waiting[key].held for key in gone) > MOST_HELD:
            self.write(wait=False, keys=gone)

    def write(self, wait: bool, keys: Sequence[int] | None = None) -> None:
        """Write the data of the waiting functions; with ``wait``, wait for another thread's writing, else leave it to that thread.

        A write that a signal interrupts is repeated by the next request.
        """
        if not self._writing.acquire(blocking=wait):
            return
        try:
            for key in list(self._waiting) if keys is None else keys:
                if key in self._waiting:
                    self._write(key, *self._waiting[key])
                    self._waiting.pop(key, None)
        finally:
            self._writing.release()

    def _write(self, key: int, event: CompiledFunction, source: RewritesSource | None, held: int) -> None:
        described, loops = function_record(event), loop_records(key, event.program)
        with self._lock:
            self.functions[key].describe(described)
            for loop in loops:
                if loop.key in self.loops:
                    self.loops[loop.key].describe(loop)
        if source is not None:
            self._keep_rewrites(key, written(source), program_content(event.program))

    def _keep_rewrites(self, key: int, written: Written, program: bytes) -> None:
        """Store a function's Program and rewrites: with graphs, as a bare list, or not at all."""
        whole = written.record
        listed = whole.list_only()
        bare = replace(listed, graphs=None)
        with self._lock:
            function = self.functions[key]
            if self._programs_budget.take(len(program)) and self._budget.take(len(program)):
                function.record = replace(function.record, program=program)
            for found in (whole, listed, bare):
                size = size_of(found)
                if self._rewrites_budget.take(size, last=found is bare) and self._budget.take(size):
                    function.record = replace(function.record, rewrites=found)
                    if found is whole and function.plans is not None:
                        function.plans.costs = written.costs
                    return
            self.left_out += 1
