"""Defer descriptions, rewrites and Programs of functions until the clock has stopped.

Graphs and programs are immutable, so they can be written later.  Nothing here keeps a function alive.  Data of deleted functions is
held up to a limit, so that a program that builds and drops thousands of functions does not fill the memory.  The writers are
imported late, so that scripts start without them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from scanviz.engine.locks import lock
from scanviz.record.graphs.rewrites_source import RewritesSource, rewrites_source
from scanviz.record.paths import recorded_path

if TYPE_CHECKING:
    from scanviz.engine.cost import Work
    from scanviz.engine.function import Function
    from scanviz.engine.observation.events import CompiledFunction
    from scanviz.engine.program.instructions import Program
    from scanviz.engine.program.known_numbers import CallMet
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.program.planned import Plans
    from scanviz.record.costs import CostNumbersRecord
    from scanviz.record.graphs.rewrites import RewritesRecord
    from scanviz.record.graphs.rewrites_snapshot import SymbolicCosts, Written
    from scanviz.record.model import FunctionRecord, LoopRecord
    from scanviz.record.operations import OperationRecord

    Numbers = tuple[list[CostNumbersRecord], dict[str, int]]
    # by function and loop; None outside of loops
    AllWork = dict[tuple[int, int | None], list[Work | None]]

LARGEST_PROGRAM = 2**20  # bytes; larger Programs, which hold large constants, are not kept
MOST_GONE = 32  # deleted functions that may wait
MOST_HELD = 8 * 2**20  # bytes of arrays that these may hold

Source = TypeVar("Source")


def program_content(program: Program) -> bytes:
    """Serialize a Program; return no bytes if it is too large or cannot be serialized."""
    from scanviz.engine.errors import MisfitError
    from scanviz.engine.program.file import to_bytes

    if _constants(program) > LARGEST_PROGRAM:
        return b""  # without serializing it
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
    """Sources by function, each written once; a write that a signal interrupts is repeated by the next request."""

    def __init__(self, write: Callable[[int, Source], None]) -> None:
        self._write = write
        self._sources: dict[int, Source] = {}
        self._writing = lock()  # a signal's handler may ask for the record while its thread writes

    def add(self, key: int, source: Source) -> None:
        self._sources[key] = source

    def __iter__(self) -> Iterator[tuple[int, Source]]:
        return iter(list(self._sources.items()))

    def write(self, wait: bool, wanted: Callable[[Source], bool] | None = None) -> None:
        """Write the waiting sources; with ``wait``, wait for another thread's writing, else leave it to that thread."""
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
    held: int  # bytes of arrays that only this entry may keep alive

    def is_gone(self) -> bool:
        return self.function() is None


class Deferred:
    """Deferred descriptions of functions and their loops, and deferred rewrites and Programs, in order of compilation.

    Parameters
    ----------
    describe : callable
        ``describe(function, loops)`` receives the records of a function and its loops.
    keep : callable
        ``keep(function, written, program)`` receives the written data of a function, identified by its key.
    """

    def __init__(
        self,
        describe: Callable[[FunctionRecord, list[LoopRecord]], None],
        keep: Callable[[int, Written, bytes], None],
    ) -> None:
        def write_description(key: int, event: CompiledFunction) -> None:
            from scanviz.record.program_snapshot import function_record, loop_records

            describe(function_record(event), loop_records(key, event.program))

        def write_rewrites(key: int, history: _History) -> None:
            from scanviz.record.graphs.rewrites_snapshot import written

            keep(key, written(history.source), program_content(history.program))

        self._descriptions: _Waiting[CompiledFunction] = _Waiting(write_description)
        self._rewrites: _Waiting[_History] = _Waiting(write_rewrites)

    def add(self, event: CompiledFunction) -> None:
        """Defer the data of a function, without keeping the function alive."""
        from scanviz.engine.observation.events import CompiledFunction  # imported late

        alone = CompiledFunction(
            event.key, event.name, None, event.program, event.backend, event.build_ns, event.where
        )
        self._descriptions.add(event.key, alone)
        if event.function is not None:
            source, shared = rewrites_source(event.function, event.program), event.function.spec.shared
            held = sum(_bytes(array) for array in shared) + _constants(event.program)
            self._rewrites.add(event.key, _History(source, weakref.ref(event.function), event.program, held))

    def write_gone(self) -> None:
        """Write the rewrites of deleted functions, if they are too large to hold until the clock has stopped."""
        gone = [history for _, history in self._rewrites if history.is_gone()]
        if len(gone) > MOST_GONE or sum(history.held for history in gone) > MOST_HELD:
            self._rewrites.write(wait=False, wanted=_History.is_gone)

    def write(self, *, wait: bool) -> None:
        """Write all data; with ``wait``, wait for another thread's writing of rewrites, else leave it to that thread."""
        self._descriptions.write(wait=True)
        self._rewrites.write(wait)


def _bytes(shared: object) -> int:
    value = getattr(shared, "get_value", lambda borrow: None)(borrow=True)
    return int(getattr(value, "nbytes", 0))


class PlansMet:
    """The latest plans and shapes of functions: plans show the memory rules' effects, shapes give numbers to costs."""

    def __init__(self) -> None:
        self._functions: dict[int, weakref.ref[Function]] = {}
        self._plans: dict[int, tuple[Program, Plans]] = {}
        self._others: dict[int, list[Plans]] = {}  # earlier plans of observed calls
        self._called: set[int] = set()  # functions whose plans are of an observed call
        self._calls: dict[int, CallMet] = {}
        self._work: dict[int, tuple[object, AllWork]] = {}  # with the inputs of the computation
        self._costs: dict[int, SymbolicCosts] = {}
        self._numbers: dict[int, tuple[object, Numbers]] = {}  # with the shapes they belong to
        self._made: set[int] = set()  # functions compiled for new shapes in a call that has not ended

    def add(self, event: CompiledFunction) -> None:
        """Add a function, which may have been called before the recording."""
        if event.function is not None:
            self._functions[event.key] = weakref.ref(event.function)
            self._plans[event.key] = event.program, event.function.memory_plans()
            met = event.function.call_met()
            if met is not None:
                met.begin()
                self._calls[event.key] = met

    def work(self) -> AllWork:
        """Return the work of each instruction of each function for the latest shapes."""
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
        """Return the Programs of all functions."""
        return [program for program, _ in self._plans.values()]

    def code_made(self, key: int) -> None:
        """Note a compilation of a function, which changes its plans."""
        self._made.add(key)

    def call_ended(self, key: int) -> None:
        """Update the plans of a function at the end of a call that compiled code."""
        if key in self._made:
            self._made.discard(key)
            function = self._functions[key]() if key in self._functions else None
            if function is not None:
                from scanviz.engine.program.known_numbers import MOST_OTHERS  # it made code: this is there

                others = self._others.setdefault(key, [])
                if key in self._called and len(others) < MOST_OTHERS:
                    others.append(self._plans[key][1])
                self._plans[key] = function.program, function.memory_plans()
        self._called.add(key)

    def costs(self, key: int, costs: SymbolicCosts) -> None:
        """Set the symbolic costs of the versions of a function's graph."""
        self._costs[key] = costs

    def completed(self, record: FunctionRecord) -> FunctionRecord:
        """Return a function's record with planned rewrites and costs for the latest shapes, if its rewrites are recorded."""
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


def work_of_function(
    key: int, program: Program, plans: Plans, met: CallMet | None, others: Sequence[Plans] = ()
) -> AllWork:
    """Return the work of each instruction of a function for the latest shapes, by the loop whose step contains it.

    The work is None if it is unknown, or differs for the earlier shapes of ``others``: times are not kept per shape.
    """
    from scanviz.engine.program.instructions import all_loops

    found: AllWork = {
        (key, loop.key): _alike(
            loop.body, [known[loop.key] for known in (plans, *others) if loop.key in known]
        )
        for loop, _ in all_loops(program)
        if loop.key in plans
    }
    return found if met is None else found | {(key, None): met.work()}


def _alike(step: Program, plans: Sequence[Plan]) -> list[Work | None]:
    """Return the work of each instruction of a step under the first plan; None if it differs under other plans."""
    from scanviz.engine.cost import same_work
    from scanviz.engine.program.work import work_of

    first, *others = plans
    distinct = [first, *(other for other in others if _shapes(other) != _shapes(first))]
    return same_work(*(_shared_out(work_of(step, plan), plan.groups) for plan in distinct))


def _shared_out(work: list[Work | None], groups: Sequence[Sequence[int]]) -> list[Work | None]:
    """Distribute the bytes of fused operations like their time, by floating-point operations.

    The operation that reads or writes memory would otherwise get all bytes in a few nanoseconds: an impossible bandwidth.
    """
    from scanviz.engine.cost import Work, weights_in

    found = list(work)
    for group in groups:
        known = [(index, done) for index in group if (done := work[index]) is not None]
        if len(known) < 2:
            continue
        weights = weights_in([index for index, _ in known], work)
        left, weighing = sum(done.bytes for _, done in known), sum(weights.values())
        for index, done in known:
            part = left * weights[index] // weighing
            found[index] = Work(done.flops, done.product_flops, part)
            left, weighing = left - part, weighing - weights[index]
    return found


def _shapes(plan: Plan) -> list[tuple[int, ...] | None]:
    return [place.shape for place in plan.places]


def with_work(
    operations: tuple[OperationRecord, ...], work: Sequence[Work | None] | None
) -> tuple[OperationRecord, ...]:
    """Return the operations with their work as declared measures, if known."""
    if work is None or len(work) != len(operations):
        return operations
    return tuple(
        operation if done is None else replace(operation, measures=operation.measures | _numbers(done))
        for operation, done in zip(operations, work, strict=True)
    )


def _numbers(work: Work) -> dict[str, float]:
    numbers = {
        "bytes": float(work.bytes),
        "flops": float(work.flops),
        "product_flops": float(work.product_flops),
    }
    return {name: number for name, number in numbers.items() if number}


__all__ = ["Deferred", "PlansMet", "with_work", "work_of_function"]
