"""What a profiled run is, as data: functions, loops, operations and times.

All times are nanoseconds.  ``docs/profile-format.md`` documents every field; a test holds it to these classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Samples = np.ndarray[Any, np.dtype[np.int64]]
SCHEMA = 1


@dataclass(slots=True)
class SourceRecord:
    """A line of the user's code.

    Attributes
    ----------
    file : str
        Relative to the working folder of the run where it lies inside it.
    line : int
        Counted from 1.
    text : str
        The line itself, stripped; empty where it could not be read.
    """

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class DurationRecord:
    """How long something took, over all its occurrences.

    Percentiles come from a histogram with buckets 2 % wide.
    """

    count: int = 0
    total_ns: int = 0
    min_ns: int = 0
    p50_ns: int = 0
    p95_ns: int = 0
    p99_ns: int = 0
    max_ns: int = 0

    @property
    def mean_ns(self) -> float:
        """Average, 0 where there was none."""
        return self.total_ns / self.count if self.count else 0.0


@dataclass(slots=True)
class OperationRecord:
    """One operation of a program or of a loop's step.

    Attributes
    ----------
    index : int
        Its place in the program.
    label : str
        The operation as printed.
    kind : str
        ``"operation"``, ``"loop"`` or ``"branch"``.
    output : str
        dtype and known shape of its first result.
    source : SourceRecord or None
        The user's line that built it.
    samples : int
        How many times it was timed.
    mean_ns : float
        Average of these times.
    loop : int or None
        Key of the loop, for an operation that is one.
    """

    index: int
    label: str
    kind: str
    output: str
    source: SourceRecord | None
    samples: int = 0
    mean_ns: float = 0.0
    loop: int | None = None


@dataclass(slots=True)
class LoopVariableRecord:
    """A loop variable: what the loop reads, carries or gives.

    Attributes
    ----------
    kind : str
        ``sequence``, ``mitmot``, ``mitsot``, ``sitsot``, ``nitsot``, ``carry`` or ``non_sequence``.
    name : str
        The user's name for it.
    reads, writes : list of int
        Taps of a state; for a sequence, the tap it was cut for.
    inner_inputs, inner_outputs : list of str
        Names of the step's variables.
    outer_input, outer_output : str or None
        Names around the loop.
    type : str
        dtype and known shape of the step's variable.
    """

    kind: str
    name: str
    reads: list[int]
    writes: list[int]
    inner_inputs: list[str]
    inner_outputs: list[str]
    outer_input: str | None
    outer_output: str | None
    type: str


@dataclass(slots=True)
class TierRecord:
    """Code made for a loop: by which tier, why, how often, and how long making it took."""

    tier: str
    why: str
    count: int
    total_ns: int


@dataclass(slots=True)
class LoopRecord:
    """One loop of one function, over all its runs.

    Attributes
    ----------
    key, function : int
        Its key and that of the function it belongs to.
    parent : int or None
        Key of the loop around it.
    name : str
        The user's name, or ``scan at file:line``.
    source : SourceRecord or None
        The line of the ``scan`` call.
    runs, steps : int
        How often it ran, and the steps really done in all.
    total_ns, setup_ns, first_run_ns : int
        All runs; the part of them outside of steps; the first run alone.
    longest_run : int
        The largest number of steps of one run.
    step_times : DurationRecord
        Of single steps.
    sampled_steps : int
        Steps in which every operation was timed.
    body_ns, copy_ns, overhead_ns : float
        Averages a step, from those: operations, copies of rows, the rest.
    buffer_bytes : int
        The most that states, results and temporaries took in one run.
    tiers : list of TierRecord
        Code made for it.
    operations : list of OperationRecord
        Its step.
    variables : list of LoopVariableRecord
        Its loop variables.
    var_mappings : dict
        The documents' twelve maps.
    connection_pattern, inner_connection_pattern : list of list of bool
        ``[input][output]``.
    has_until : bool
        Whether it has a stop condition.
    series : numpy.ndarray
        int64, shape (n, 4): run, step, nanoseconds and why it was kept (see ``SAMPLE_REASONS``), by run and step.
    """

    key: int
    function: int
    parent: int | None
    name: str
    source: SourceRecord | None
    has_until: bool = False
    runs: int = 0
    steps: int = 0
    total_ns: int = 0
    setup_ns: int = 0
    first_run_ns: int = 0
    longest_run: int = 0
    step_times: DurationRecord = field(default_factory=DurationRecord)
    sampled_steps: int = 0
    body_ns: float = 0.0
    copy_ns: float = 0.0
    overhead_ns: float = 0.0
    buffer_bytes: int = 0
    tiers: list[TierRecord] = field(default_factory=list)
    operations: list[OperationRecord] = field(default_factory=list)
    variables: list[LoopVariableRecord] = field(default_factory=list)
    var_mappings: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    connection_pattern: list[list[bool]] = field(default_factory=list)
    inner_connection_pattern: list[list[bool]] = field(default_factory=list)
    series: Samples = field(default_factory=lambda: np.zeros((0, 4), np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LoopRecord):
            return NotImplemented
        same = all(getattr(self, name) == getattr(other, name) for name in self.__slots__ if name != "series")
        return same and np.array_equal(self.series, other.series)


SAMPLE_REASONS = {0: "every k-th", 1: "first", 2: "last", 3: "slowest"}


@dataclass(slots=True)
class FunctionRecord:
    """One compiled function, over all its calls.

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
    calls, errors : int
        Calls begun, and those that raised.
    first_ns : int
        The first call, which pays for code made on demand.
    call_times : DurationRecord
        Of calls, the first included.
    operations : list of OperationRecord
        Its program outside of loops.
    """

    key: int
    name: str
    source: SourceRecord | None
    backend: str
    build_ns: dict[str, int]
    calls: int = 0
    errors: int = 0
    first_ns: int = 0
    call_times: DurationRecord = field(default_factory=DurationRecord)
    operations: list[OperationRecord] = field(default_factory=list)

    @property
    def total_ns(self) -> int:
        """All calls together."""
        return self.call_times.total_ns


@dataclass(slots=True)
class OutcomeRecord:
    """How the run ended.

    Attributes
    ----------
    status : str
        ``"ok"``, ``"exit"`` (with another code than 0), ``"error"``, ``"interrupted"`` or ``"running"``.
    code : int or None
        Exit code.
    message : str
        The error's text.
    """

    status: str = "running"
    code: int | None = None
    message: str = ""


@dataclass(slots=True)
class CostRecord:
    """What recording itself cost.

    Attributes
    ----------
    stamps : int
        Time stamps taken in loops.
    stamp_ns : float
        Calibrated cost of one.
    recorder_ns : int
        Measured time spent in the recorder.
    """

    stamps: int = 0
    stamp_ns: float = 0.0
    recorder_ns: int = 0

    @property
    def total_ns(self) -> float:
        """All of it."""
        return self.stamps * self.stamp_ns + self.recorder_ns


@dataclass(slots=True)
class ProfileRecord:
    """A profiled run.

    Attributes
    ----------
    schema : int
        Version of this data model.
    scanviz, python, numpy : str
        Versions.
    machine : str
        Processor and system in words.
    started : str
        UTC, ISO 8601.
    script : str
        What was run.
    arguments : list of str
        Its arguments.
    detail : str
        How closely loops were looked at: ``"steps"`` or ``"ops"``.
    wall_ns : int
        From the start of the recording to its end.
    outcome : OutcomeRecord
        How the run ended.
    cost : CostRecord
        What recording cost.
    functions : list of FunctionRecord
        In order of their making.
    loops : list of LoopRecord
        Outer before inner.
    left_out : int
        Loops beyond the size limit, of which totals were kept but no series.
    """

    schema: int = SCHEMA
    scanviz: str = ""
    python: str = ""
    numpy: str = ""
    machine: str = ""
    started: str = ""
    script: str = ""
    arguments: list[str] = field(default_factory=list)
    detail: str = "steps"
    wall_ns: int = 0
    outcome: OutcomeRecord = field(default_factory=OutcomeRecord)
    cost: CostRecord = field(default_factory=CostRecord)
    functions: list[FunctionRecord] = field(default_factory=list)
    loops: list[LoopRecord] = field(default_factory=list)
    left_out: int = 0

    def loops_of(self, function: int, parent: int | None = None) -> list[LoopRecord]:
        """Return the loops of a function directly inside ``parent`` (None: outermost), slowest first."""
        found = [each for each in self.loops if each.function == function and each.parent == parent]
        return sorted(found, key=lambda each: -each.total_ns)

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON data, series included."""
        from scanviz.record.codec import encode

        data: dict[str, Any] = encode(self)
        return data
