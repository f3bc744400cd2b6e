"""What functions are, what rules did to them and what they run: kept as the engine has it while the clock runs, written later.

Graphs and programs are immutable, so they can be written down when the clock has stopped.  Nothing here keeps a function alive.
What functions that are gone leave is held up to a limit, so that a program that makes and drops thousands of them does not fill the
memory.  What writes it down is imported when that is done: a script starts without waiting for it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from scanviz.engine.locks import lock
from scanviz.record.graphs.rewrites_source import RewritesSource, rewrites_source
from scanviz.record.paths import recorded_path

if TYPE_CHECKING:
    from scanviz.engine.function import Function
    from scanviz.engine.observation.events import CompiledFunction
    from scanviz.engine.program.call_met import CallMet
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.program.planned import Plans
    from scanviz.profiler.recording.work import AllWork
    from scanviz.record.costs import CostNumbersRecord
    from scanviz.record.graphs.rewrites import RewritesRecord
    from scanviz.record.graphs.rewrites_snapshot import SymbolicCosts, Written
    from scanviz.record.model import FunctionRecord, LoopRecord

    Numbers = tuple[list[CostNumbersRecord], dict[str, int]]

LARGEST_PROGRAM = 2**20  # bytes: of larger ones, which hold large constants, nothing is kept
MOST_GONE = 32  # functions that are gone and wait
MOST_HELD = 8 * 2**20  # bytes of arrays that these may hold

Source = TypeVar("Source")


def program_content(program: Program) -> bytes:
    """Return a Program as the content of a file, nothing of one that is too large or has no form as data."""
    from scanviz.engine.errors import MisfitError
    from scanviz.engine.program.file import to_bytes

    if _constants(program) > LARGEST_PROGRAM:
        return b""  # without having written it
    try:
        content = to_bytes(program, recorded_path)
    except MisfitError:
        return b""
    return content if len(content) <= LARGEST_PROGRAM else b""


def _constants(program: Program) -> int:
    from scanviz.engine.program.instructions import all_loops

    programs = [program, *(loop.body for loop, _ in all_loops(program))]
    return sum(constant.nbytes for one in programs for constant in one.constants.values())


class _Waiting(Generic[Source]):
    """Sources by function, each written once: one that a signal interrupts is written again by who asks then."""

    def __init__(self, write: Callable[[int, Source], None]) -> None:
        self._write = write
        self._sources: dict[int, Source] = {}
        self._writing = lock()  # a signal's handler may ask for the record while its thread writes

    def add(self, key: int, source: Source) -> None:
        self._sources[key] = source

    def __iter__(self) -> Iterator[tuple[int, Source]]:
        return iter(list(self._sources.items()))

    def write(self, wait: bool, wanted: Callable[[Source], bool] | None = None) -> None:
        """Write what waits; with ``wait`` all of it is written when this returns, else what another thread writes is left to it."""
        if not self._writing.acquire(blocking=wait):
            return
        try:
            for key, source in self:
                if key in self._sources and (wanted is None or wanted(source)):
                    self._write(key, source)
                    self._sources.pop(key, None)
        finally:
            self._writing.release()


class _History(NamedTuple):
    source: RewritesSource
    function: weakref.ref[Function]
    program: Program
    held: int  # bytes of the arrays that only this may keep alive

    def is_gone(self) -> bool:
        return self.function() is None


class Descriptions:
    """What functions and their loops are, waiting to be written down.

    Parameters
    ----------
    keep : callable
        ``keep(function, loops)`` takes the records.
    """

    def __init__(self, keep: Callable[[FunctionRecord, list[LoopRecord]], None]) -> None:
        def write(key: int, event: CompiledFunction) -> None:
            from scanviz.record.program_snapshot import function_record, loop_records

            keep(function_record(event), loop_records(key, event.program))

        self._waiting: _Waiting[CompiledFunction] = _Waiting(write)

    def add(self, event: CompiledFunction) -> None:
        """Keep what a function is for later."""
        from scanviz.engine.observation.events import CompiledFunction  # when there is one

        alone = CompiledFunction(
            event.key, event.name, None, event.program, event.backend, event.build_ns, event.where
        )
        self._waiting.add(event.key, alone)

    def write(self) -> None:
        """Write all of them down."""
        self._waiting.write(wait=True)


class DeferredRewrites:
    """Rewrites and Programs of functions that wait to be written down, in the order in which the functions were compiled.

    Parameters
    ----------
    keep : callable
        ``keep(function, written, program)`` takes what was written of a function, known by its key.
    """

    def __init__(self, keep: Callable[[int, Written, bytes], None]) -> None:
        def write(key: int, history: _History) -> None:
            from scanviz.record.graphs.rewrites_snapshot import written

            keep(key, written(history.source), program_content(history.program))

        self._waiting: _Waiting[_History] = _Waiting(write)

    def add(self, event: CompiledFunction) -> None:
        """Keep a function's rewrites for later."""
        if event.function is not None:
            source, shared = rewrites_source(event.function, event.program), event.function.spec.shared
            held = sum(_bytes(array) for array in shared) + _constants(event.program)
            self._waiting.add(event.key, _History(source, weakref.ref(event.function), event.program, held))

    def write_gone(self) -> None:
        """Write what functions that are gone left, where that is too much to hold until the clock has stopped."""
        gone = [history for _, history in self._waiting if history.is_gone()]
        if len(gone) > MOST_GONE or sum(history.held for history in gone) > MOST_HELD:
            self._waiting.write(wait=False, wanted=_History.is_gone)

    def write(self, *, wait: bool) -> None:
        """Write down what waits.

        With ``wait``, all of it is written when this returns; else what another thread writes now is left to it.
        """
        self._waiting.write(wait)


def _bytes(shared: object) -> int:
    value = getattr(shared, "get_value", lambda borrow: None)(borrow=True)
    return int(getattr(value, "nbytes", 0))


class PlansMet:
    """What functions met last: plans, of which the record tells what memory rules did, and shapes, of which costs have numbers."""

    def __init__(self) -> None:
        self._functions: dict[int, weakref.ref[Function]] = {}
        self._plans: dict[int, tuple[Program, Plans]] = {}
        self._others: dict[int, list[Plans]] = {}  # those before, of calls that were watched
        self._called: set[int] = set()  # functions whose plans are of such a call
        self._calls: dict[int, CallMet] = {}
        self._work: dict[int, tuple[object, AllWork]] = {}  # with what it was found of
        self._costs: dict[int, SymbolicCosts] = {}
        self._numbers: dict[int, tuple[object, Numbers]] = {}  # with the shapes they were found of
        self._made: set[int] = set()  # functions that made code in a call which has not ended

    def add(self, event: CompiledFunction) -> None:
        """Know of a function, which may have been called before anybody watched."""
        if event.function is not None:
            self._functions[event.key] = weakref.ref(event.function)
            self._plans[event.key] = event.program, event.function.memory_plans()
            met = event.function.call_met()
            if met is not None:
                met.begin()
                self._calls[event.key] = met

    def work(self) -> AllWork:
        """Return what each instruction of each function does, for the shapes met last."""
        from scanviz.profiler.recording.work import work_of_function  # when a record is asked for

        found: AllWork = {}
        for key, (program, plans) in self._plans.items():
            met = self._calls.get(key)
            others = self._others.get(key, [])
            of = plans, len(others), None if met is None else (met.shapes, met.values, len(met.others))
            known = self._work.get(key)
            if known is None or known[0] != of:
                known = self._work[key] = of, work_of_function(key, program, plans, met, others)
            found |= known[1]
        return found

    def programs(self) -> list[Program]:
        """Return the Programs of the functions that are known."""
        return [program for program, _ in self._plans.values()]

    def code_made(self, key: int) -> None:
        """Note that a function made code: its plans are others than before."""
        self._made.add(key)

    def call_ended(self, key: int) -> None:
        """Take the plans of a function at the end of a call in which it made code."""
        if key in self._made:
            self._made.discard(key)
            function = self._functions[key]() if key in self._functions else None
            if function is not None:
                from scanviz.engine.program.call_met import MOST_OTHERS  # it made code: this is there

                others = self._others.setdefault(key, [])
                if key in self._called and len(others) < MOST_OTHERS:
                    others.append(self._plans[key][1])
                self._plans[key] = function.program, function.memory_plans()
        self._called.add(key)

    def costs(self, key: int, costs: SymbolicCosts) -> None:
        """Know what the versions of a function's graph cost in named sizes."""
        self._costs[key] = costs

    def completed(self, record: FunctionRecord) -> FunctionRecord:
        """Return the record of a function with what rules did for the shapes met, if its rewrites are recorded."""
        if record.rewrites is None:
            return record
        rewrites = self._with_planned(record.key, self._with_numbers(record.key, record.rewrites))
        return record if rewrites is record.rewrites else replace(record, rewrites=rewrites)

    def _with_planned(self, key: int, rewrites: RewritesRecord) -> RewritesRecord:
        met = self._plans.get(key)
        if met is None or not met[1]:
            return rewrites
        from scanviz.record.graphs.rewrites_snapshot import with_planned

        return with_planned(rewrites, *met)

    def _with_numbers(self, key: int, rewrites: RewritesRecord) -> RewritesRecord:
        costs, met = self._costs.get(key), self._calls.get(key)
        if costs is None or met is None or met.shapes is None:
            return rewrites
        from scanviz.record.graphs.rewrites_snapshot import with_numbers

        of = met.shapes, {number: int(value) for number, value in met.values.items()}
        known = self._numbers.get(key)
        if known is None or known[0] != of:
            known = self._numbers[key] = of, costs.numbers(met)
        return with_numbers(rewrites, *known[1])


__all__ = ["DeferredRewrites", "Descriptions", "PlansMet"]
