"""The functions and loops of a recording in bounded memory: those that do not fit are reduced to totals, or dropped."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from scanviz.profiler.recording.deferred import Deferred, PlansMet
from scanviz.profiler.recording.function_aggregate import FunctionAggregate
from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.profiler.recording.overhead import OverheadCalibration
from scanviz.profiler.recording.steps import DETAIL_BYTES

if TYPE_CHECKING:  # a script starts without the classes of its record
    from scanviz.engine.observation.events import CompiledFunction
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.record.graphs.rewrites_snapshot import Written
    from scanviz.record.model import FunctionRecord, LoopRecord

BARE = 2_000  # a loop or function with only totals
OPERATION = 700  # an operation's record with its labels
VARIABLE = 800  # a loop variable's record
ENTRY = 150  # an entry of a mapping
CELL = 8  # an entry of a connection pattern
MAPPINGS = 6  # entries of mappings per loop variable
REWRITES = 4  # at most one part in so many of the memory holds graphs of rewrites: loops come first
PROGRAMS = 16  # at most one part in so many holds Programs


class Budget:
    """A byte budget whose last eighth is reserved for totals.

    Examples
    --------
    >>> budget = Budget(80_000)
    >>> budget.take(60_000), budget.take(60_000), budget.take(5_000, last=True)
    (True, False, True)
    """

    __slots__ = ("_limit", "_used")

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
    entries = MAPPINGS * len(slots)
    return OPERATION * len(loop.body.instructions) + VARIABLE * len(slots) + CELL * cells + ENTRY * entries


def totals_alone(record: LoopRecord) -> LoopRecord:
    """Return a loop's record without the description of its step."""
    return replace(
        record,
        operations=(),
        variables=(),
        var_mappings={},
        connection_pattern=(),
        inner_connection_pattern=(),
    )


class FunctionsMet:
    """The functions and loops of a recording.

    Parameters
    ----------
    max_bytes : int
        Approximate memory limit.
    calibration : OverheadCalibration
        The cost of stamps.
    lock : context manager
        Guards the object; callers hold it, except in :meth:`write` and :meth:`write_gone`.

    Attributes
    ----------
    functions, loops : dict
        Aggregates by key.
    plans : PlansMet
        The latest plans of the functions.
    left_out : int
        Number of functions, loops and rewrites that were reduced or dropped.
    """

    __slots__ = (
        "_budget", "_calibration", "_deferred", "_dropped", "_lock", "_programs_budget", "_rewrites_budget", "functions",
        "left_out", "loops", "plans",
    )  # fmt: skip

    def __init__(
        self, max_bytes: int, calibration: OverheadCalibration, lock: AbstractContextManager[Any]
    ) -> None:
        self._calibration, self._lock = calibration, lock
        self._budget = Budget(max_bytes)
        self._rewrites_budget = Budget(max_bytes // REWRITES)
        self._programs_budget = Budget(max_bytes // PROGRAMS)
        self.functions: dict[int, FunctionAggregate] = {}
        self.loops: dict[int, LoopAggregate] = {}
        self._dropped: set[int] = set()
        self._deferred = Deferred(self._keep_descriptions, self._keep_rewrites)
        self.plans = PlansMet()
        self.left_out = 0

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
        named = (event.key, event.name, event.backend)
        function = FunctionAggregate(named, count if is_whole else 0)
        self.functions[event.key] = function
        self._meet_loops(event, function)
        self._deferred.add(event)
        self.plans.add(event)

    def _meet_loops(self, event: CompiledFunction, function: FunctionAggregate) -> None:
        from scanviz.engine.program.instructions import nested_loops  # imported by the engine already

        for loop, around, _ in nested_loops(event.program):
            parent = None if around is None else around.key
            is_known = parent is None or parent in self.loops
            is_whole = is_known and self._budget.take(BARE + loop_size(loop))
            self.left_out += not is_whole
            if is_whole or (is_known and self._budget.take(BARE, last=True)):
                placed = (loop.key, event.key, parent, loop.name)
                count = len(loop.body.instructions) if is_whole else 0
                around_it = None if parent is None else self.loops[parent]
                self.loops[loop.key] = LoopAggregate(placed, self._calibration, count, around_it)
                function.loops.append(self.loops[loop.key])

    def looks_at_steps(self, loop: LoopAggregate) -> None:
        """Decide whether single steps of a loop are kept, unless that is decided."""
        if loop.detailed is None:
            loop.detailed = self._budget.take(DETAIL_BYTES)
            self.left_out += not loop.detailed and loop.operations > 0

    def write(self, wait: bool) -> None:
        """Write descriptions and rewrites; with ``wait``, wait for another thread's writing."""
        self._deferred.write(wait=wait)

    def write_gone(self) -> None:
        """Write the rewrites of deleted functions."""
        self._deferred.write_gone()

    def _keep_descriptions(self, function: FunctionRecord, loops: list[LoopRecord]) -> None:
        """Store the descriptions of a function and its loops, as far as memory allows."""
        with self._lock:
            self.functions[function.key].describe(function)
            for loop in loops:
                if loop.key in self.loops:
                    self.loops[loop.key].describe(loop, totals_alone(loop))

    def _keep_rewrites(self, key: int, written: Written, program: bytes) -> None:
        """Store a function's Program and rewrites: with graphs, as a bare list, or not at all."""
        whole = written.record
        listed = whole.list_alone()
        bare = replace(listed, graphs=None)
        from scanviz.record.graphs.rewrites_snapshot import size_of

        with self._lock:
            function = self.functions[key]
            if self._programs_budget.take(len(program)) and self._budget.take(len(program)):
                function.record = replace(function.record, program=program)
            for found in (whole, listed, bare):
                size = size_of(found)
                if self._rewrites_budget.take(size, last=found is bare) and self._budget.take(size):
                    function.record = replace(function.record, rewrites=found)
                    if found is whole and written.costs is not None:
                        self.plans.costs(key, written.costs)
                    return
            self.left_out += 1


__all__ = ["FunctionsMet"]
