"""Numbers about loops and operations, declared once: meaning, unit, aggregation and views.

The engine notifies a number by its name (:meth:`scanviz.engine.observe.Observer.measured`), the recorder aggregates it by its
declaration, and the record keeps it under that name in ``measures`` of a loop or an operation.  Files and checks know no names;
reports, the terminal application, the page, tables and comparisons read this table.  So a new number is its producer and one
line here.  Fields of records are declared too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, cast

from msgspec import Struct

from scanviz.engine.errors import InternalError
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord

Measured = LoopRecord | OperationRecord | FunctionRecord | ProfileRecord

Of = Literal["loop", "operation", "function", "run"]
Unit = Literal["ns", "bytes", "count", "bytes/s", "flops/s"]
Aggregate = Literal["sum", "max", "last"]
View = Literal["heading", "facts", "compare"]

AGGREGATES: dict[Aggregate, Callable[[float, float], float]] = {
    "sum": operator.add,
    "max": max,
    "last": lambda before, now: now,
}


class Measure(Struct, frozen=True):
    """A declared number.

    Attributes
    ----------
    of : str
        Its owner: ``"loop"``, ``"operation"``, ``"function"`` or ``"run"``.
    name : str
        By which the engine, records and tables know it.
    unit : str
        ``"ns"``, ``"bytes"``, ``"count"``, or of a rate ``"bytes/s"`` or ``"flops/s"``.
    title : str
        A few words for people: a heading, or the words before the number.
    about : str
        Its meaning.
    aggregate : str
        Aggregation of a value with the one before: ``"sum"``, ``"max"`` or ``"last"``.
    views : tuple of str
        Views that show it, beside the tables of the exports, which have all.  For a loop: its ``"heading"`` (report, terminal
        application, page), the ``"facts"`` of a loop beside its gradient, and ``"compare"`` for two runs.  For an operation,
        ``"heading"``: a column of its tables wherever one of them has it.
    field : str
        The field of the record that holds it, with dots; empty for one in ``measures``.
    whole : bool
        Whether it is a whole number.
    per : str
        Of a rate of an operation, the number that is divided by its typical time; a rate is kept nowhere.
    """

    of: Of
    name: str
    unit: Unit
    title: str
    about: str
    aggregate: Aggregate = "sum"
    views: tuple[View, ...] = ("heading", "compare")
    field: str = ""
    whole: bool = True
    per: str = ""

    def value(self, record: Measured) -> float | None:
        """Return the measured number of a record; None if it was not measured."""
        if self.per:
            done, typical_ns = record.measures.get(self.per), cast("OperationRecord", record).typical_ns
            return done * 1e9 / typical_ns if done and typical_ns > 0 else None
        if not self.field:
            found = record.measures.get(self.name)
            return int(found) if found is not None and self.whole else found
        value: float = operator.attrgetter(self.field)(record)
        return value


def _field(
    name: str, unit: Unit, title: str, about: str, *views: View, field: str = "", whole: bool = True
) -> Measure:
    return Measure("loop", name, unit, title, about, "sum", views, field or name, whole)


def _rate(name: str, unit: Unit, title: str, per: str, about: str) -> Measure:
    return Measure("operation", name, unit, title, about, "last", ("heading",), whole=False, per=per)


_SOME = "of its thread; of short ones only some are read, and the share holds for all."
_PROCESSOR: tuple[tuple[Of, str], ...] = (
    ("run", "of all threads of the process."),
    ("function", f"in its calls, {_SOME}"),
    ("loop", f"in its runs, {_SOME}"),
)
_READ: tuple[Of, ...] = ("function", "loop")
_LIMITS: tuple[tuple[str, Unit, str, str], ...] = (
    (
        "large_copy_bytes_per_s",
        "bytes/s",
        "memory",
        "Bytes read and written by copies of 32 MiB, which are in no cache.",
    ),
    ("medium_copy_bytes_per_s", "bytes/s", "middle arrays", "The same of 512 KiB."),
    ("small_copy_bytes_per_s", "bytes/s", "small arrays", "The same of 64 KiB."),
    ("product_flops_per_s", "flops/s", "products", "Of a product of float64 matrices."),
    ("product_flops_per_s_float32", "flops/s", "products, float32", "Of a product of float32 matrices."),
    ("element_flops_per_s", "flops/s", "elements", "Of an addition of float64 vectors in a near cache."),
    (
        "element_flops_per_s_float32",
        "flops/s",
        "elements, float32",
        "Of an addition of float32 vectors there.",
    ),
    ("numpy_call_ns", "ns", "a call", "Of an addition of one element by NumPy."),
)
MEASURES = [
    _field("runs", "count", "runs", "How often it was started."),
    _field("steps", "count", "steps", "Steps really done, in all runs.", "facts"),
    _field("longest_run", "count", "steps of the longest run", "The most steps of one run."),
    _field("total_ns", "ns", "time", "All runs.", "facts"),
    _field("setup_ns", "ns", "around the steps", "The part of it before the first step and after the last."),
    _field("first_run_ns", "ns", "first run", "The first run alone."),
    _field("step_min_ns", "ns", "fastest step", "The fastest step.", field="step_times.min_ns"),
    _field("step_p50_ns", "ns", "a step (median)", "Half the steps.", "facts", field="step_times.p50_ns"),
    _field("step_p95_ns", "ns", "a slow step", "95 of 100 steps are faster.", field="step_times.p95_ns"),
    _field("step_max_ns", "ns", "slowest step", "The slowest step.", field="step_times.max_ns"),
    _field("timed_steps", "count", "timed steps", "Steps estimates are made from.", field="sampled_steps"),
    _field("body_ns", "ns", "operations of a step", "Estimated.", "facts", whole=False),
    _field("copy_ns", "ns", "storing rows", "Of a step, estimated.", "facts", whole=False),
    _field("overhead_ns", "ns", "the loop itself", "The rest of a step, estimated.", "facts", whole=False),
    _field("recording_ns", "ns", "profiler overhead in its steps", "Estimated.", field="cost_ns", whole=False),
    _field("recorder_ns", "ns", "profiler overhead beside its steps", "Measured, and in no time."),
    _field(
        "buffer_bytes", "bytes", "buffers", "The most of one run: states, results and temporaries.",
        "heading", "compare",
    ),
    _field("kept_bytes", "bytes", "rows kept for the gradient", "The most of one run.", "facts", "compare"),
    Measure(
        "loop", "row_growths", "count", "rows made longer",
        "How often rows of a loop that ends by a condition were copied into larger arrays.",
    ),
    Measure(
        "loop", "slowest_hundredth_ns", "ns", "slowest 1 % of steps",
        "Together, of the steps that have a time of their own; not of few steps.", views=(),
    ),
    Measure(
        "loop", "mean_step_ns", "ns", "mean of all steps",
        "The average over all steps, the price of stamps taken off: the means of its operations, mean_copy_ns and"
        " mean_overhead_ns sum to it exactly.", "last", (), whole=False,
    ),
    Measure(
        "loop", "mean_copy_ns", "ns", "storing rows, mean", "Its part of mean_step_ns.", "last", (), whole=False,
    ),
    Measure(
        "loop", "mean_overhead_ns", "ns", "the loop itself, mean", "Its part of mean_step_ns.", "last", (), whole=False,
    ),
    Measure(
        "function", "peak_bytes", "bytes", "peak memory",
        "The most memory that arrays of a call took at once, in calls whose memory was measured: rows and buffers of loops, results"
        " of operations outside of loops, results of the call; not its arguments.", "max", ("heading",),
    ),
    Measure(
        "function", "to_device_bytes", "bytes", "moved to the GPU per call",
        "Arrays of the host that the last observed call copied to the GPU.", "last", ("heading",),
    ),
    Measure(
        "function", "to_host_bytes", "bytes", "moved from the GPU per call",
        "Arrays and numbers that the last observed call copied to the host.", "last", ("heading",),
    ),
    Measure(
        "function", "device_waits", "count", "waits for the GPU per call",
        "How often the host waited in the last observed call for what the GPU computed, the profiler's own waits left out.",
        "last", ("heading",),
    ),
    Measure(
        "operation", "mean_ns", "ns", "mean",
        "The average of its times, slow ones included; in a loop's step over all steps, each timed one standing for those around"
        " it.", "last",
        ("heading",), "mean_ns", whole=False,
    ),
    Measure(
        "operation", "held_bytes", "bytes", "held",
        "Of an operation outside of loops: the most memory that the call held during it, earlier results included.", "max",
    ),
    Measure(
        "operation", "bytes", "bytes", "bytes moved",
        "Of one application, from the shapes met last: each array that it reads, and each that it writes, once; in a step that is"
        " machine code a share of those of the operations that are done as one. Not of operations that did another amount in"
        " another call.", "last", (),
    ),
    Measure(
        "operation", "flops", "count", "floating-point operations",
        "Of one application, from the shapes met last; exp, tanh and the like count 10 an element."
        " Of the same operations as `bytes`.", "last", (),
    ),
    Measure(
        "operation", "product_flops", "count", "operations of a product",
        "Those of them that are multiplications and additions of a product of matrices.", "last", (),
    ),
    _rate("bytes_per_s", "bytes/s", "moves", "bytes", "Bytes that it moves by its typical time."),
    _rate("flops_per_s", "flops/s", "computes", "flops", "Floating-point operations by its typical time."),
    *(
        Measure("run", name, unit, title, f"A limit of the machine. {about}", "last", (), whole=False)
        for name, unit, title, about in _LIMITS
    ),
    *(Measure(of, "cpu_ns", "ns", "CPU time", f"Time of the processor {about}", views=()) for of, about in _PROCESSOR),
    *(
        Measure(
            of, "involuntary_switches", "count", "involuntary context switches",
            "How often the system took the processor away, in runs and calls with counters.", views=(),
        )
        for of, _ in _PROCESSOR
    ),
    *(
        Measure(
            of, "page_faults", "count", "page faults",
            "How often a page of memory was not there when it was touched, in runs and calls with counters.", views=(),
        )
        for of in _READ
    ),
    Measure(
        "loop", "slow_timed_steps", "count", "slow steps timed by operations",
        "Of the steps whose operations were timed, those that took more than twice the usual one, the thread running.", views=(),
    ),
    Measure("loop", "slow_timed_ns", "ns", "their excess", "Their time beyond the usual.", views=()),
    Measure(
        "loop", "other_code_steps", "count", "steps of other code",
        "Steps that other code than that of most steps has run, such as NumPy's before machine code.", views=(),
    ),
    Measure("loop", "other_code_ns", "ns", "a step of it", "The median time of such a step.", "max", views=()),
    Measure("operation", "slow_more_ns", "ns", "in slow steps", "Its additional time in these, together.", views=()),
]  # fmt: skip


def measures(of: Of, view: View | None = None) -> list[Measure]:
    """Return the declared numbers of loops, operations, functions or runs, those of one view or all, in order of declaration.

    Examples
    --------
    >>> [measure.title for measure in measures("loop", "heading")]
    ['buffers', 'rows made longer']
    """
    return [measure for measure in MEASURES if measure.of == of and (view is None or view in measure.views)]


def declared(of: Of, name: str) -> Measure:
    """Return the declaration of a number in ``measures``.

    Raises
    ------
    InternalError
        If there is none: it has to be written into :data:`MEASURES`.
    """
    found = next(
        (line for line in MEASURES if (line.of, line.name, line.field, line.per) == (of, name, "", "")), None
    )
    if found is None:
        raise InternalError(
            f"the number {name!r} of a {of} is not declared", fix="a line in record/measures.py"
        )
    return found


def aggregated(before: dict[str, float], measure: Measure, value: float) -> None:
    """Add a value to the known numbers of a loop or operation.

    Examples
    --------
    >>> known: dict[str, float] = {}
    >>> most = Measure("loop", "rows_moved", "count", "rows moved", "The most of one run.", "max")
    >>> for value in (3, 7, 5):
    ...     aggregated(known, most, value)
    >>> known
    {'rows_moved': 7.0}
    """
    old = before.get(measure.name)
    new = float(value)
    before[measure.name] = new if old is None else AGGREGATES[measure.aggregate](old, new)


def shown(record: LoopRecord | FunctionRecord, view: View) -> Iterator[tuple[Measure, float]]:
    """Iterate over the measured numbers of a loop or function that a view shows."""
    for measure in measures("loop" if isinstance(record, LoopRecord) else "function", view):
        value = measure.value(record)
        if value is not None:
            yield measure, value


def columns(operations: Iterable[OperationRecord]) -> list[Measure]:
    """Return the numbers that any of the operations has, for the columns of a table."""
    listed = list(operations)
    return [
        measure
        for measure in measures("operation", "heading")
        if any(measure.value(operation) is not None for operation in listed)
    ]
