"""A profiled run as data: functions, loops, operations and times.

All times are nanoseconds.  Records are frozen; the recorder makes them, the file keeps them, and every view reads them
and nothing else.  The docstrings document every field; ``python tools/profile_format.py`` prints them as tables.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from scanviz.engine.display import Shown
from scanviz.engine.strict import Strict
from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.loops import SAMPLE_REASONS, LoopRecord, Samples, TierRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.traces.finding import FirstNanRecord
from scanviz.record.traces.held_calls import HeldCallRecord
from scanviz.record.traces.model import TraceRecord
from scanviz.record.values import DurationRecord, OutcomeRecord, SourceRecord

SCHEMA = 6  # version of the data model: raised when a field's meaning changes or one is taken away


class CallPartsRecord(Strict, frozen=True):
    """Parts of all calls of a function, beside its program.

    Attributes
    ----------
    checks_ns : int
        Checking arguments and reading shared variables, waiting for their locks included; before the time of a call.
    copies_ns : int
        Copying results and committing updates; after it.
    recording_ns : int
        Recording between these and a call.
    timed : int
        Calls in which every operation outside of loops was timed.
    around_ns : float
        Entering the program before its first operation, and leaving it after the last: the average, or the median where some
        calls alone were timed.
    inside_ns : int
        Other calls and building that calls of this function made; part of their time.
    running_ns : int
        Calls that had not ended, up to the time of the record; without calls inside them.
    """

    checks_ns: int = 0
    copies_ns: int = 0
    recording_ns: int = 0
    timed: int = 0
    around_ns: float = 0.0
    inside_ns: int = 0
    running_ns: int = 0


class BuildRecord(Strict, frozen=True):
    """Loops, gradients or functions that one line built during the recording.

    Attributes
    ----------
    kind : str
        ``"scan"``, ``"gradient"`` or ``"function"``.
    source : SourceRecord or None
        The line; None for several, or where it is not known.
    count : int
        Number of occurrences.
    total_ns : int
        All of them, without calls that were made meanwhile.
    """

    kind: Literal["scan", "gradient", "function"]
    source: SourceRecord | None
    count: int = 0
    total_ns: int = 0


class ThreadTimesRecord(Strict, frozen=True):
    """Times inside scanviz by thread: calls, building and recording, each counted once even if nested.

    Attributes
    ----------
    inside_ns : int
        Times of the thread that the recording began in; the rest of its wall time went to the script, or to waiting.
    beside_ns : int
        Times of all other threads.
    others : int
        Number of those threads.
    recording_ns : int
        Recording outside of calls; part of the two.
    """

    inside_ns: int = 0
    beside_ns: int = 0
    others: int = 0
    recording_ns: int = 0


class FunctionRecord(Strict, frozen=True):
    """One compiled function.

    Attributes
    ----------
    key : int
        Identifies it in this record.
    name : str
        The user's name, or where it was made.
    source : SourceRecord or None
        The line of the ``function`` call.
    backend : str
        The tier that ran it.
    build_ns : dict of str to int
        Building, by stage.
    operations : tuple of OperationRecord
        Its program outside of loops; a loop is one operation here.
    calls : int
        Calls that ended.
    errors : int
        Those of them that raised.
    running : int
        Calls that had not ended when the record was taken.
    first_ns : int
        The first call, which pays for code made on demand.
    call_times : DurationRecord
        Times of calls, the first included.
    rewrites : RewritesRecord or None
        The rewrites of its graph, and the graph; None where they were not recorded.
    program : bytes
        The Program that it runs, as ``scanviz program -o`` writes one; empty where that was not recorded, or was too large.
    measures : dict of str to float
        Further numbers, as :mod:`scanviz.record.measures` declares them; unmeasured ones are missing.
    call_parts : CallPartsRecord
        Parts of its calls beside its Program.
    origin : str
        In a profile merged from several, the name of that which it comes from; else empty.
    tier_reason : str
        The reason for the tier if it was chosen for the arguments of a call; else empty.
    """

    key: int
    name: str
    source: SourceRecord | None
    backend: str
    build_ns: dict[str, int] = field(default_factory=dict)
    operations: tuple[OperationRecord, ...] = ()
    calls: int = 0
    errors: int = 0
    running: int = 0
    first_ns: int = 0
    call_times: DurationRecord = field(default_factory=DurationRecord)
    rewrites: RewritesRecord | None = None
    program: bytes = b""
    measures: dict[str, float] = field(default_factory=dict)
    call_parts: CallPartsRecord = field(default_factory=CallPartsRecord)
    origin: str = ""
    tier_reason: str = ""

    @property
    def graph(self) -> GraphSnapshot | None:
        """The graph as it runs, after all rewrites; None if it was not recorded."""
        rewrites = self.rewrites
        return rewrites.snapshot(len(rewrites.applications)) if rewrites is not None else None

    def ran_ns(self, operation: OperationRecord) -> float:
        """Return the time of an operation outside of loops in all calls, estimated from the timed ones."""
        timed = self.call_parts.timed
        if 0 < timed < self.calls:
            return operation.typical_ns * operation.samples * (self.calls / timed)
        known = operation.typical_ns if operation.mean_ns is None else operation.mean_ns
        return known * operation.samples

    @property
    def total_ns(self) -> int:
        """Time of all calls together."""
        return self.call_times.total_ns


class CostRecord(Strict, frozen=True):
    """Profiler overhead: counted events, the price of each on this machine, and time measured in the recorder.

    Attributes
    ----------
    stamps : int
        Time stamps taken in loops.
    stamp_ns : float
        Calibrated cost of taking one.
    chunks : int
        Batches of steps sent to the recorder.
    chunk_ns : float
        Calibrated cost of sending one; 0 where that is measured, as part of ``recorder_ns``.
    recorder_ns : int
        Measured observer overhead: notifying, aggregating, compiling instrumented code.
    values_ns : int
        Time of the runs that computed and kept values one by one; other times are of runs without.

    Examples
    --------
    >>> CostRecord(stamps=1000, stamp_ns=50.0, chunks=2, chunk_ns=5000.0, recorder_ns=7000).total_ns
    67000.0
    """

    stamps: int = 0
    stamp_ns: float = 0.0
    chunks: int = 0
    chunk_ns: float = 0.0
    recorder_ns: int = 0
    values_ns: int = 0

    @property
    def total_ns(self) -> float:
        """Total profiler overhead."""
        in_times = self.stamps * self.stamp_ns + self.chunks * self.chunk_ns
        return in_times + self.recorder_ns + self.values_ns


class MergedRecord(Strict, frozen=True):
    """One source of a merged profile.

    Attributes
    ----------
    name : str
        The origin of its functions: its file, or the process.
    script : str
        The script.
    arguments : tuple of str
        Its arguments.
    started : str
        UTC, ISO 8601.
    wall_ns : int
        From the start of its recording to the end.
    outcome : OutcomeRecord
        The outcome.
    """

    name: str
    script: str = ""
    arguments: tuple[str, ...] = ()
    started: str = ""
    wall_ns: int = 0
    outcome: OutcomeRecord = field(default_factory=OutcomeRecord)


class ProfileRecord(Strict, Shown, frozen=True):
    """A profiled run.

    Attributes
    ----------
    schema : int
        Version of this data model.
    scanviz : str
        Version of scanviz.
    python : str
        Version of Python.
    numpy : str
        Version of NumPy.
    machine : str
        Processor and system in words.
    started : str
        UTC, ISO 8601.
    script : str
        The script.
    arguments : tuple of str
        Its arguments.
    detail : str
        The level of detail.  ``"steps"``: each step, and each operation in a sample of them.  ``"ops"``: each operation of
        every step.  ``"values"``: each value, from a second computation of every call on the reference tier; times are those
        of the first.
    wall_ns : int
        From the start of the recording to its end.
    outcome : OutcomeRecord
        The outcome of the run.
    cost : CostRecord
        Profiler overhead.
    functions : tuple of FunctionRecord
        In order of their making.
    loops : tuple of LoopRecord
        In order of their making, outer before inner.
    left_out : int
        Number of functions and loops beyond the size limit, kept as totals or not at all.
    traces : tuple of TraceRecord
        Values of loops over time, with ``detail`` ``"values"``; by loop and run.
    calls : tuple of HeldCallRecord
        Inputs of calls, with ``detail`` ``"values"``: steps that ``traces`` lacks are computed again from them.
    repeats : tuple of ProfileRecord
        Further runs of the same program (``--repeat``), in their order: their times, without
        graphs, rewrites, values, mappings and repeats of their own, and of single
        steps with the first ones alone.
    measures : dict of str to float
        Further numbers of the whole run, as :mod:`scanviz.record.measures` declares them.
    building : tuple of BuildRecord
        Building during the recording, by line.
    threads : ThreadTimesRecord
        Times inside scanviz by thread.
    origins : tuple of MergedRecord
        The profiles that this one was merged from, in their order; empty for the profile of one process.
    first_nan : FirstNanRecord or None
        Origin of the first NaN that a call returned; None if none was seen.
    """

    schema: int = SCHEMA
    scanviz: str = ""
    python: str = ""
    numpy: str = ""
    machine: str = ""
    started: str = ""
    script: str = ""
    arguments: tuple[str, ...] = ()
    detail: Literal["steps", "ops", "values"] = "steps"
    wall_ns: int = 0
    outcome: OutcomeRecord = field(default_factory=OutcomeRecord)
    cost: CostRecord = field(default_factory=CostRecord)
    functions: tuple[FunctionRecord, ...] = ()
    loops: tuple[LoopRecord, ...] = ()
    left_out: int = 0
    traces: tuple[TraceRecord, ...] = ()
    calls: tuple[HeldCallRecord, ...] = ()
    repeats: tuple[ProfileRecord, ...] = ()
    measures: dict[str, float] = field(default_factory=dict)
    building: tuple[BuildRecord, ...] = ()
    threads: ThreadTimesRecord = field(default_factory=ThreadTimesRecord)
    origins: tuple[MergedRecord, ...] = ()
    first_nan: FirstNanRecord | None = None

    def loops_of(self, function: int, parent: int | None = None) -> list[LoopRecord]:
        """Return the loops of a function directly inside ``parent`` (None: outermost), slowest first."""
        found = [loop for loop in self.loops if loop.function == function and loop.parent == parent]
        return sorted(found, key=lambda loop: -loop.total_ns)

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON data (dicts, lists, numbers, strings), series included.

        Examples
        --------
        >>> ProfileRecord(script="rnn.py").to_json()["outcome"]
        {'status': 'running', 'code': None, 'message': ''}
        """
        from scanviz.record.storage.codec import encode

        data: dict[str, Any] = encode(self)
        return data


__all__ = [
    "SAMPLE_REASONS",
    "SCHEMA",
    "BuildRecord",
    "CallPartsRecord",
    "CostRecord",
    "DurationRecord",
    "FunctionRecord",
    "LoopRecord",
    "LoopVariableRecord",
    "MergedRecord",
    "OperationRecord",
    "OutcomeRecord",
    "ProfileRecord",
    "Samples",
    "SourceRecord",
    "ThreadTimesRecord",
    "TierRecord",
]
