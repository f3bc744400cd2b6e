"""List the comparable times of a run, each under a key that is the same in another run.

A function's key is its name.  A loop's key adds the names of the outer loops.  An operation's key is its loop, the file and text
of its line, and its expression.  In a default name ("scan at rnn.py:9") the text of the line replaces its number.  Equal keys
are numbered. For edited programs see ``matching``.

Calls are compared by CPU time, which does not grow while other programs run; steps and operations by their median, since they
are rarely interrupted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct

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

LEAST = 10.0  # nanoseconds: shorter operations count as this long, since the clock cannot resolve them
FLOOR_COLD = 0.25  # noise of a single call or step, which includes the work of the first one
BATCHES = 8
OPERATION_SPREAD = 0.5  # assumed spread of one timing of an operation, as a share: records keep only averages
MANY = 1000  # degrees of freedom where the spread is assumed, not estimated
Kind = Literal["function", "loop", "operation"]
Key = tuple[str, ...]
Array = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Literal["mean", "median", "cpu time"]


class Estimate(NamedTuple):
    """The estimate of a time from one run.

    Attributes
    ----------
    ns : float
        The average without the start.
    typical_ns : float
        The median, which outliers do not move, or the CPU time, which does not grow while other programs run.
    error : float
        Standard error of the average, as a share.
    freedom : int
        Degrees of freedom of the error.
    cold : bool
        Whether it is the first call or step, which includes compilation.
    of : str
        Kind of ``typical_ns``: ``"median"`` or ``"cpu time"``.
    """

    ns: float
    typical_ns: float
    error: float = 0.0
    freedom: int = MANY
    cold: bool = False
    of: Statistic = "median"


class Figure(Struct, frozen=True):
    """A time of one run that can be compared with another run.

    Attributes
    ----------
    kind : str
        ``"function"`` (a call), ``"loop"`` (a step) or ``"operation"``.
    key : tuple of str
        Its key in both runs.
    owner : tuple of str
        Key of the loop or function around it; empty for a function.
    name : str
        Its name.
    path : tuple of str
        Names of the functions and loops around it, outermost first.
    source : SourceRecord or None
        Its line.
    count : int
        Number of calls or steps.
    estimate : Estimate or None
        Its time; None if not timed.
    resolution_ns : float
        Resolution of its clock.
    type : str
        Dtype and known shape of an operation's first result.
    a_run : float
        Steps of a run, for a loop.
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
    """Return the times of a run by key, in order of functions and loops.

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
        found |= _operations(record, function.operations, key, (function.name,), function.calls)
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
        found |= _operations(record, loop.operations, key, paths[loop.key], loop.steps)
    return found


def keys_of(record: ProfileRecord) -> tuple[dict[int, Key], dict[int, Key]]:
    """Return the keys for comparison of functions and loops, by their keys in the record."""
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
    """Return a name with the text of its line in place of the line number.

    The number that distinguishes equal names is left out, since it may differ in another run.

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
    """Return a key, numbered if it was seen before."""
    seen[key] += 1
    return key if seen[key] == 1 else (*key[:-1], f"{key[-1]} ({seen[key]})")


def _operations(
    record: ProfileRecord,
    operations: tuple[OperationRecord, ...],
    owner: Key,
    path: tuple[str, ...],
    count: int,
) -> dict[Key, Figure]:
    """Return the operations of a function or step by key, without loops, which have their own figures."""
    found: dict[Key, Figure] = {}
    seen: Counter[Key] = Counter()
    for operation in operations:
        if operation.kind == "loop":
            continue
        file, text = (operation.source.file, operation.source.text) if operation.source else ("", "")
        estimate = _of_operation(operation) if operation.samples else None
        alike = (*owner, "operation", file, text, operation.label)
        seen[alike] += 1
        key = (*alike, str(seen[alike]))
        found[key] = Figure(
            "operation",
            key,
            owner,
            operation.label,
            path,
            operation.source,
            count,
            estimate,
            record.cost.stamp_ns,
            operation.output,
        )
    return found


def _of_operation(operation: OperationRecord) -> Estimate:
    error = OPERATION_SPREAD / math.sqrt(operation.samples)
    took = max(operation.typical_ns, LEAST)
    return Estimate(took, took, error, cold=operation.samples == 1)


def _of_calls(function: FunctionRecord) -> Estimate | None:
    """Return the time of a call, without the first of several."""
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
    """Return the share of a function's time with a processor; None if not measured."""
    cpu_ns = function.measures.get("cpu_ns")
    return min(1.0, cpu_ns / max(1, function.total_ns)) if cpu_ns else None


def _spread(times: DurationRecord) -> float:
    """Return the relative spread of times, read from percentiles as of a normal distribution."""
    return (times.p95_ns - times.p50_ns) / 1.645 / times.p50_ns if times.p50_ns else FLOOR_COLD


def _of_loop(loop: LoopRecord) -> Estimate | None:
    """Return the time of a step, without the first steps, which the series keeps individually."""
    times, rows = loop.step_times, loop.series
    if not times.count:
        return (
            Estimate(loop.total_ns / loop.steps, loop.total_ns / loop.steps, cold=True)
            if loop.steps
            else None
        )
    first = loop.timed()[: min(FIRST, times.count // 4, len(rows))]
    while sum(timed_steps.covers for timed_steps in first) > times.count // 4:  # blocks cover several steps
        first.pop()
    warm, start = (
        sum(timed_steps.covers for timed_steps in first),
        sum(timed_steps.total_ns for timed_steps in first),
    )
    if times.count < 4 or start >= times.total_ns:
        return Estimate(times.mean_ns, float(times.p50_ns) or times.mean_ns, FLOOR_COLD, MANY, cold=True)
    mean = (times.total_ns - start) / (times.count - warm)
    usual = rows[len(first) :]
    usual = usual[usual[:, 3] != 3]  # without the steps that were kept for being slow
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
