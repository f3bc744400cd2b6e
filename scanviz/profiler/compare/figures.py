"""What can be compared of a run: times of calls, steps and operations, each under a key that a further run of it has too.

A function is known by its name, a loop by the names on the way to it, an operation by its loop, the file and text of its line, and
itself as printed.  A name that was made of a line's number ("scan at rnn.py:9") is replaced by the text of that line.  Things that
all this does not tell apart are taken in their order.  What is the same in a program that was edited is found by ``matching``.

Of calls the CPU time is compared, for it does not grow while others run; of steps and operations, which are too short to be
interrupted often, the median.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.model import (
    DurationRecord,
    FunctionRecord,
    LoopRecord,
    OperationRecord,
    ProfileRecord,
    SourceRecord,
)
from scanviz.record.names import given_name
from scanviz.record.traces.sample import FIRST

LEAST = 10.0  # nanoseconds: an operation below cannot be told from none, and has no ratio to another time
FLOOR_COLD = 0.25  # never called a difference where the only call or step also paid for the first time
BATCHES = 8
OPERATION_SPREAD = 0.5  # of one timing of one operation, as a share: records keep the average alone
MANY = 1000  # degrees of freedom where the spread is assumed, not estimated
Kind = Literal["function", "loop", "operation"]
Key = tuple[str, ...]
Array = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Literal["mean", "median", "cpu time"]


class Estimate(NamedTuple):
    """What one run says of a time.

    Attributes
    ----------
    ns : float
        The average, the start left out.
    typical_ns : float
        The median, which what is slow now and then does not move, or the CPU time, which does not grow while others run.
    error : float
        Standard error of the average, as a share of it.
    freedom : int
        How many numbers the error was estimated from, less one.
    cold : bool
        Whether there was but the first one, which pays for code made on demand.
    of : str
        What ``typical_ns`` is: ``"median"`` or ``"cpu time"``.
    """

    ns: float
    typical_ns: float
    error: float = 0.0
    freedom: int = MANY
    cold: bool = False
    of: Statistic = "median"


class Figure(Struct, frozen=True):
    """A time of one run that has a meaning in another run too.

    Attributes
    ----------
    kind : str
        ``"function"`` (a call), ``"loop"`` (a step) or ``"operation"``.
    key : tuple of str
        What it is known by.
    owner : tuple of str
        What the loop or function that it is directly in is known by; empty for a function.
    name : str
        What it is called.
    path : tuple of str
        Names of what it is in, outermost first.
    source : SourceRecord or None
        Its line.
    count : int
        How often it happened: calls, or steps.
    estimate : Estimate or None
        Its time; None where it was never timed.
    resolution_ns : float
        A difference below is one of the clock.
    type : str
        Of an operation: dtype and known shape of its first result.
    a_run : float
        Of a loop: the steps of a run.
    """

    kind: Kind
    key: Key
    owner: Key
    name: str
    path: tuple[str, ...]
    source: SourceRecord | None
    count: int
    estimate: Estimate | None
    resolution_ns: float = 0.0
    type: str = ""
    a_run: float = 1.0


def figures(record: ProfileRecord) -> dict[Key, Figure]:
    """Return the times of a run by what they are known by, in order of functions and loops.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord
    >>> f = FunctionRecord(1, "f", None, "numpy", calls=3, first_ns=30, call_times=DurationRecord(3, 50, p50_ns=10))
    >>> [(figure.kind, figure.name, figure.estimate.ns) for figure in figures(ProfileRecord(functions=(f,))).values()]
    [('function', 'f', 10.0)]
    """
    found: dict[Key, Figure] = {}
    functions, loops = keys_of(record)
    for function in record.functions:
        key = functions[function.key]
        found[key] = Figure(
            "function", key, (), function.name, (), function.source, function.calls, _of_calls(function)
        )
        _add(found, _operations(record, function.operations, key, (function.name,), function.calls))
    paths: dict[int, tuple[str, ...]] = {}
    names = {function.key: function.name for function in record.functions}
    for loop in record.loops:
        outside = (names[loop.function],) if loop.parent is None else paths[loop.parent]
        paths[loop.key] = (*outside, loop.name)
        owner = functions[loop.function] if loop.parent is None else loops[loop.parent]
        key = loops[loop.key]
        found[key] = Figure(
            "loop",
            key,
            owner,
            loop.name,
            outside,
            loop.source,
            loop.steps,
            _of_loop(loop),
            a_run=loop.steps / max(1, loop.runs),
        )
        _add(found, _operations(record, loop.operations, key, paths[loop.key], loop.steps))
    return found


def keys_of(record: ProfileRecord) -> tuple[dict[int, Key], dict[int, Key]]:
    """Return what functions and loops are known by, by their keys in the record."""
    seen: Counter[Key] = Counter()
    functions = {
        function.key: _counted(("function", lasting_name(function.name, function.source)), seen)
        for function in record.functions
    }
    loops: dict[int, Key] = {}
    for loop in record.loops:
        owner = functions[loop.function] if loop.parent is None else loops[loop.parent]
        loops[loop.key] = _counted((*owner, "loop", lasting_name(loop.name, loop.source)), seen)
    return functions, loops


def lasting_name(name: str, source: SourceRecord | None) -> str:
    """Return a name with the number of a line that it was made of replaced by the line's text.

    The number that tells things of one name apart is left out: it is another one as soon as there is one more of them.

    Examples
    --------
    >>> lasting_name("scan at rnn.py:9", SourceRecord("rnn.py", 9, "h, _ = scan(step, x)"))
    'scan at rnn.py: h, _ = scan(step, x)'
    >>> lasting_name("scan at rnn.py:9", SourceRecord("faster.py", 9, "h, _ = scan(step, x)"))
    'scan at rnn.py:9'
    """
    name = given_name(name)
    if source is None:
        return name
    *_, file = re.split(r"[/\\]", source.file)
    if not name.endswith(f"{file}:{source.line}"):
        return name
    return f"{name.removesuffix(str(source.line))} {source.text}"


def _counted(key: Key, seen: Counter[Key]) -> Key:
    """Return a key that none before has."""
    seen[key] += 1
    return key if seen[key] == 1 else (*key[:-1], f"{key[-1]} ({seen[key]})")


def _add(found: dict[Key, Figure], more: Iterator[Figure]) -> None:
    seen: Counter[Key] = Counter()
    for figure in more:
        seen[figure.key] += 1
        key = (*figure.key, str(seen[figure.key]))
        found[key] = replace(figure, key=key)


def _operations(
    record: ProfileRecord,
    operations: tuple[OperationRecord, ...],
    owner: Key,
    path: tuple[str, ...],
    count: int,
) -> Iterator[Figure]:
    """Yield the operations of a function or step; a loop among them has a figure of its own."""
    for operation in operations:
        if operation.kind == "loop":
            continue
        file, text = (operation.source.file, operation.source.text) if operation.source else ("", "")
        estimate = _of_operation(operation) if operation.samples else None
        yield Figure(
            "operation",
            (*owner, "operation", file, text, operation.label),
            owner,
            operation.label,
            path,
            operation.source,
            count,
            estimate,
            record.cost.stamp_ns,
            operation.output,
        )


def _of_operation(operation: OperationRecord) -> Estimate:
    error = OPERATION_SPREAD / math.sqrt(operation.samples)
    took = max(operation.typical_ns, LEAST)
    return Estimate(took, took, error, cold=operation.samples == 1)


def _of_calls(function: FunctionRecord) -> Estimate | None:
    """Return the time of a call, the first one left out where there are more."""
    times = function.call_times
    if not times.count:
        return None
    if times.count == 1:
        return Estimate(times.mean_ns, times.mean_ns, cold=True)
    later = times.count - 1
    warm_ns = max(0, times.total_ns - min(function.first_ns, times.max_ns or function.first_ns))
    mean = warm_ns / later
    share = on_processor(function)
    typical = float(times.p50_ns) if share is None else share * mean
    of: Statistic = "median" if share is None else "cpu time"
    return Estimate(mean, typical or mean, _spread(times) / math.sqrt(later), max(1, later - 1), of=of)


def on_processor(function: FunctionRecord) -> float | None:
    """Return the share of a function's time in which its thread had the processor; None where that was not measured."""
    cpu_ns = function.measures.get("cpu_ns")
    return min(1.0, cpu_ns / max(1, function.total_ns)) if cpu_ns else None


def _spread(times: DurationRecord) -> float:
    """Return how far single times are from the usual one, as a share, read from percentiles as of a normal distribution."""
    return (times.p95_ns - times.p50_ns) / 1.645 / times.p50_ns if times.p50_ns else FLOOR_COLD


def _of_loop(loop: LoopRecord) -> Estimate | None:
    """Return the time of a step, the first steps left out: they are the ones that the series holds in full."""
    times, rows = loop.step_times, loop.series
    if not times.count:
        return (
            Estimate(loop.total_ns / loop.steps, loop.total_ns / loop.steps, cold=True)
            if loop.steps
            else None
        )
    first = loop.timed()[: min(FIRST, times.count // 4, len(rows))]
    while sum(timed_steps.covers for timed_steps in first) > times.count // 4:  # of blocks fewer are left out
        first.pop()
    warm, start = (
        sum(timed_steps.covers for timed_steps in first),
        sum(timed_steps.total_ns for timed_steps in first),
    )
    if times.count < 4 or start >= times.total_ns:
        return Estimate(times.mean_ns, float(times.p50_ns) or times.mean_ns, FLOOR_COLD, MANY, cold=True)
    mean = (times.total_ns - start) / (times.count - warm)
    usual = rows[len(first) :]
    usual = usual[usual[:, 3] != 3]  # the slowest were chosen for being slow
    spread = usual[usual[:, 3] == 0]
    sample = (spread if len(spread) >= 16 else usual)[:, 2]
    error, freedom = of_steps(sample)
    return Estimate(mean, float(times.p50_ns) or mean, error, freedom)


def of_steps(times: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[float, int]:
    """Return the standard error of the average of consecutive times, as a share of it, and its degrees of freedom.

    Examples
    --------
    >>> of_steps(np.array([10, 10, 10, 10]))
    (0.0, 3)
    """
    count = min(BATCHES, len(times))
    means = np.array([batch.mean() for batch in np.array_split(times, count)]) if count else np.zeros(0)
    if count < 2 or means.mean() <= 0:
        return FLOOR_COLD, 1
    return float(means.std(ddof=1) / math.sqrt(count) / means.mean()), count - 1
