"""What is known so far of one function, in bounded memory.

Calls are kept apart by number, with the thread each runs in.  The callers hold a lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.profiler.recording.operations import RECENT_CALLS, OperationTally
from scanviz.profiler.recording.processor import ProcessorTally
from scanviz.record.measures import aggregated, declared
from scanviz.record.statistics import Histogram, median_of

if TYPE_CHECKING:
    from scanviz.record.model import (
        CallPartsRecord,
        FunctionRecord,
    )

MOST_WAITING = 4096  # calls gathered before they are counted
CALLS_WAITING = 256  # calls whose operations are gathered before they are added up


WAITING = 4096  # times gathered before they are counted


class GatheredTimes:
    """Times that come as arrays of some hundreds, counted some thousands at once, which takes a quarter as long.

    Parameters
    ----------
    histogram : Histogram
        Where they are counted.

    Attributes
    ----------
    waiting : int
        How many wait.

    Examples
    --------
    >>> times = GatheredTimes(Histogram())
    >>> times.add(np.array([10, 20, 30]))
    >>> times.waiting, times.histogram.count
    (3, 0)
    >>> times.count()
    >>> times.waiting, times.histogram.count
    (0, 3)
    """

    __slots__ = ("_pieces", "histogram", "waiting")

    def __init__(self, histogram: Histogram) -> None:
        self.histogram, self.waiting = histogram, 0
        self._pieces: list[np.ndarray[Any, Any]] = []

    def add(self, times: np.ndarray[Any, Any]) -> None:
        """Take times, int64, shape (n,)."""
        self._pieces.append(times)
        self.waiting += len(times)
        if self.waiting >= WAITING:
            self.count()

    def count(self) -> None:
        """Count what waits."""
        if self._pieces:
            self.histogram.add(np.concatenate(self._pieces))
            self._pieces.clear()
            self.waiting = 0


class _Call(NamedTuple):
    thread: int
    runs: list[int]  # of each loop, how many its thread had open before; empty where it had none of any loop


class KnownFunction(NamedTuple):
    """What is known of a function until it is described."""

    key: int
    name: str
    backend: str

    def record(self) -> FunctionRecord:
        """Return the record of a function of which nothing else is known."""
        from scanviz.record.model import FunctionRecord

        return FunctionRecord(self.key, self.name, None, self.backend)


class FunctionAggregate:
    """Totals of one function.

    Attributes
    ----------
    loops : list of LoopAggregate
        Its loops.
    """

    __slots__ = (
        "_elapsed", "_errors", "_first_ns", "_histogram", "_measures", "_open", "_operations", "_parts", "_processor", "_timed",
        "_unobserved", "_what", "loops", "operations",
    )  # fmt: skip

    def __init__(self, what: KnownFunction | FunctionRecord, operations: int | None = None) -> None:
        self._what = what
        self.loops: list[LoopAggregate] = []
        self._histogram = Histogram()
        self._elapsed: list[int] = []  # times of calls that wait to be counted
        self._unobserved = GatheredTimes(self._histogram)  # of those that were passed over
        self._timed: list[Sequence[int]] = []  # times of operations, call by call, that wait to be added up
        self.operations = len(self.record.operations) if operations is None else operations
        self._operations = OperationTally(self.operations)
        self._errors, self._first_ns = 0, 0
        self._measures: dict[str, float] = {}
        self._processor = ProcessorTally()
        self._open: dict[int, _Call] = {}
        self._parts = _CallParts()

    @property
    def record(self) -> FunctionRecord:
        """What the function is."""
        return self._what.record() if isinstance(self._what, KnownFunction) else self._what

    @record.setter
    def record(self, record: FunctionRecord) -> None:
        self._what = record

    @property
    def calls(self) -> int:
        """Calls that ended."""
        return self._histogram.count + len(self._elapsed) + self._unobserved.waiting

    def describe(self, whole: FunctionRecord) -> None:
        """Take what the function is, as much of it as there is memory for; what rules did stays."""
        operations = whole.operations if self.operations else ()
        rewrites, program = self.record.rewrites, self.record.program
        self.record = replace(whole, operations=operations, rewrites=rewrites, program=program)

    def begin(self, call: int, thread: int) -> None:
        """Open a call."""
        within = bool(self._open) and any(
            call.thread == thread for call in self._open.values()
        )  # in another call
        runs = [loop.open_runs(thread) for loop in self.loops] if within else []
        self._processor.begin(call)
        self._open[call] = _Call(thread, runs)  # last: no end is told where ctrl+c comes before

    def end(
        self, call: int, thread: int, now: int, elapsed_ns: int, failed: bool, inside_ns: int = 0
    ) -> None:
        """Close a call; runs of loops that an error left open inside it are closed with it.

        ``inside_ns`` of it were calls and building of their own.
        """
        self._processor.end(call)
        self._parts.inside_ns += inside_ns
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

    def count_unobserved(self, elapsed_ns: np.ndarray[Any, Any]) -> None:
        """Count calls that were told as wholes."""
        self._unobserved.add(elapsed_ns)

    def _count(self) -> None:
        """Count the calls gathered."""
        self._unobserved.count()
        if self._elapsed:
            self._histogram.add(np.array(self._elapsed, np.int64))
            self._elapsed.clear()

    def timed(self, index: int, elapsed_ns: int) -> None:
        """Take the time of one operation outside of loops."""
        self._operations.add_one(index, elapsed_ns)

    def timed_call(self, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """Take the times of all operations outside of loops in one call, and what of the call is around them."""
        self._timed.append(elapsed_ns)
        if len(self._timed) >= CALLS_WAITING:
            self._add_up()
        self._parts.timed_call(around_ns)

    def _add_up(self) -> None:
        """Add up the times of operations gathered."""
        if self._timed:
            self._operations.add_table(np.array(self._timed, np.int64))
            self._timed.clear()

    def returned(self, checks_ns: int, copies_ns: int, recording_ns: int, entered: int) -> None:
        """Take the parts of calls around their program; so many of them the script made."""
        parts = self._parts
        parts.entered += entered
        parts.checks_ns += checks_ns
        parts.copies_ns += copies_ns
        parts.recording_ns += recording_ns

    @property
    def recorder_ns(self) -> int:
        """What watching its calls took: of those that returned all, else what is known of their loops."""
        return max(self._parts.recording_ns, sum(loop.recorder_ns for loop in self.loops))

    def measured(self, index: int | None, name: str, value: float) -> None:
        """Take a number of the function, or of an operation outside of loops."""
        if index is None:
            aggregated(self._measures, declared("function", name), value)
        else:
            self._operations.measured(index, name, value)

    def snapshot(self, call_ns: float = 0.0, running_ns: int = 0) -> FunctionRecord:
        """Return the record so far.

        Parameters
        ----------
        call_ns : float
            What entering and leaving a call takes, which is in no time of it.
        running_ns : int
            How long calls ran that have not ended.
        """
        self._count()
        self._add_up()
        return replace(
            self.record,
            operations=self._operations.records(self.record.operations),
            calls=self._histogram.count,
            errors=self._errors,
            running=len(self._open),
            first_ns=self._first_ns,
            call_times=self._histogram.record(),
            measures=self._measures | self._processor.measures(self._histogram.total),
            call_parts=self._parts.record(call_ns, running_ns, self._histogram.count),
        )


class _CallParts:
    """Sums over the calls of a function; of what is around operations, the last times too."""

    __slots__ = (
        "_around",
        "_around_ns",
        "checks_ns",
        "copies_ns",
        "entered",
        "inside_ns",
        "recording_ns",
        "timed",
    )

    def __init__(self) -> None:
        self.checks_ns = self.copies_ns = self.recording_ns = self.inside_ns = 0
        self.timed = self._around_ns = self.entered = 0
        self._around: deque[int] = deque(maxlen=RECENT_CALLS)

    def timed_call(self, around_ns: int) -> None:
        self.timed += 1
        self._around_ns += around_ns
        self._around.append(around_ns)

    def record(self, call_ns: float, running_ns: int, calls: int) -> CallPartsRecord:
        """Return the record; of so many calls those that were timed are all, or stand for others and then by their median."""
        from scanviz.record.model import CallPartsRecord

        around = self._around_ns / self.timed if self.timed else 0.0
        return CallPartsRecord(
            self.checks_ns + round(self.entered * call_ns),
            self.copies_ns,
            self.recording_ns,
            self.timed,
            float(median_of(self._around)) if 0 < self.timed < calls else around,
            self.inside_ns,
            running_ns,
        )
