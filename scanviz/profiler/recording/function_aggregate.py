"""Aggregate the events of one function in bounded memory.

Open calls are identified by number, each with its thread.  The callers hold a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.profiler.recording.operations import OperationTally
from scanviz.profiler.recording.plans_met import AllWork, PlansMet, with_work
from scanviz.profiler.recording.processor import ProcessorTally
from scanviz.record.measures import aggregated, declared
from scanviz.record.model import CallPartsRecord, FunctionRecord
from scanviz.record.statistics import Histogram

MOST_WAITING = 4096  # calls gathered before they are counted


class _Call(NamedTuple):
    thread: int
    runs: list[int]  # number of runs of each loop that its thread had open before; empty if there was none


class FunctionAggregate:
    """Totals of one function.

    Parameters
    ----------
    record : FunctionRecord
        The description of the function; until it is described, only its key, name and tier.
    operations : int, optional
        Number of operations with times; by default those described.

    Attributes
    ----------
    loops : list of LoopAggregate
        Its loops.
    plans : PlansMet or None
        Its latest plans.
    tally : OperationTally
        Times of its operations outside of loops.
    """

    def __init__(self, record: FunctionRecord, operations: int | None = None) -> None:
        self.record = record
        self.loops: list[LoopAggregate] = []
        self.plans: PlansMet | None = None
        self._histogram = Histogram()
        self._elapsed: list[int] = []  # gathered times of calls
        self.operations = len(record.operations) if operations is None else operations
        self.tally = OperationTally(self.operations)
        self._errors, self._first_ns = 0, 0
        self._measures: dict[str, float] = {}
        self._processor = ProcessorTally()
        self._open: dict[int, _Call] = {}
        self._checks_ns = self._copies_ns = self._recording_ns = self._inside_ns = 0

    @property
    def calls(self) -> int:
        """Number of calls that ended."""
        return self._histogram.count + len(self._elapsed)

    @property
    def is_gone(self) -> bool:
        """True if the function was deleted."""
        return self.plans is not None and self.plans.function() is None

    def code_made(self) -> None:
        """Note a compilation, which changes the plans."""
        if self.plans is not None:
            self.plans.code_made = True

    def describe(self, whole: FunctionRecord) -> None:
        """Set the description, as far as memory allows."""
        self.record = whole if self.operations else replace(whole, operations=())

    def begin(self, call: int, thread: int) -> None:
        """Open a call."""
        # whether it is nested in another call
        within = bool(self._open) and any(call.thread == thread for call in self._open.values())
        runs = [loop.open_runs(thread) for loop in self.loops] if within else []
        self._processor.begin(call)
        self._open[call] = _Call(thread, runs)  # last: a begin interrupted earlier has no end event

    def end(
        self, call: int, thread: int, now: int, elapsed_ns: int, failed: bool, inside_ns: int = 0
    ) -> None:
        """Close a call, and with it the runs of loops that an error left open inside it.

        Nested calls and builds took ``inside_ns`` of it.
        """
        self._processor.end(call)
        self._inside_ns += inside_ns
        if self.plans is not None:
            self.plans.call_ended()
        before = self._open.pop(call, None)
        if not self.calls:
            self._first_ns = elapsed_ns
        self._elapsed.append(elapsed_ns)
        if len(self._elapsed) >= MOST_WAITING:
            self._count()
        if failed:
            self._errors += 1
            kept = before.runs if before is not None and before.runs else [0] * len(self.loops)
            for loop, count in zip(self.loops, kept, strict=True):
                loop.abandon(thread, count, now)

    def count_unobserved(self, elapsed_ns: Sequence[int]) -> None:
        """Count unobserved calls."""
        self._elapsed.extend(elapsed_ns)
        if len(self._elapsed) >= MOST_WAITING:
            self._count()

    def _count(self) -> None:
        """Count the calls gathered."""
        if self._elapsed:
            self._histogram.add(np.array(self._elapsed, np.int64))
            self._elapsed.clear()

    def returned(self, checks_ns: int, copies_ns: int, recording_ns: int) -> None:
        """Add the overhead of calls around their program."""
        self._checks_ns += checks_ns
        self._copies_ns += copies_ns
        self._recording_ns += recording_ns

    @property
    def recorder_ns(self) -> int:
        """Observer overhead of the calls: the total of returned calls, or at least that of the loops."""
        return max(self._recording_ns, sum(loop.recorder_ns for loop in self.loops))

    def measured(self, index: int | None, name: str, value: float) -> None:
        """Add a measure of the function, or of an operation outside of loops."""
        if index is None:
            aggregated(self._measures, declared("function", name), value)
        else:
            self.tally.measured(index, name, value)

    def work(self) -> AllWork:
        """Return the work of each instruction for the latest shapes, by the loop whose step contains it."""
        return {} if self.plans is None else self.plans.work()

    def snapshot(self, work: AllWork, running_ns: int) -> FunctionRecord:
        """Return the record so far.

        Parameters
        ----------
        work : dict
            The result of :meth:`work`.
        running_ns : int
            Time so far of the calls that have not ended.
        """
        self._count()
        timed, around_ns = self.tally.around(self._histogram.count)
        rewrites, operations = self.record.rewrites, self.tally.records(self.record.operations)
        return replace(
            self.record,
            rewrites=rewrites if self.plans is None else self.plans.rewrites(rewrites),
            operations=with_work(operations, work.get(None)),
            calls=self._histogram.count,
            errors=self._errors,
            running=len(self._open),
            first_ns=self._first_ns,
            call_times=self._histogram.record(),
            measures=self._measures | self._processor.measures(self._histogram.total),
            call_parts=CallPartsRecord(
                self._checks_ns,
                self._copies_ns,
                self._recording_ns,
                timed,
                around_ns,
                self._inside_ns,
                running_ns,
            ),
        )
