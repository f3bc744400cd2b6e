"""Checks of a record as a whole, beyond the types of its fields: keys, links and signs.

Views rely on it, so a record from a file is checked before anyone sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, get_args

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.graphs.reading import snapshot_of
from scanviz.record.graphs.versions import VersionsRecord
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.storage.codec import field_types
from scanviz.record.traces.held_calls import check_held_calls
from scanviz.record.traces.model import STATISTICS, TracedVariableRecord, TraceRecord

_LONGEST_BLOCK = 2**31  # steps
_LIMIT = 2**63
_SIGNED = ("code", "reads", "writes", "var_mappings", "key", "function", "parent", "loop", "index", "tap")

Keyed = TypeVar("Keyed", FunctionRecord, LoopRecord)


def check(record: ProfileRecord) -> None:
    """Refuse an inconsistent record.

    Raises
    ------
    ScanvizValueError
        If a key or the name of an origin is used twice; a function is of none of the origins; or a loop belongs to no
        function or to a loop that does not come before it.  If a count or time is negative, series rows are not in order,
        values are of no loop or step, or a repeat is inconsistent itself.

    Examples
    --------
    >>> check(ProfileRecord())
    """
    functions = _by_key(record.functions, "function")
    origins = [origin.name for origin in record.origins]
    if len(set(origins)) < len(origins):
        raise _refused("two of the profiles that it was merged from have one name")
    for function in record.functions:
        if function.origin not in (origins or [""]):
            raise _refused(f"function {function.key} names an origin that is not in the record")
    for function in record.functions:
        if function.rewrites is not None and function.rewrites.graphs is not None:
            _check_versions(function.rewrites.graphs)
    loops: dict[int, LoopRecord] = {}
    for loop in record.loops:
        if loop.function not in functions:
            raise _refused(f"loop {loop.key} belongs to function {loop.function}, which is not in the record")
        parent = loops.get(loop.parent) if loop.parent is not None else None
        if loop.parent is not None and (parent is None or parent.function != loop.function):
            raise _refused(
                f"loop {loop.key} lies in loop {loop.parent}, which does not come before it in its function"
            )
        if loop.key in loops:
            raise _refused(f"two loops have the key {loop.key}")
        loops[loop.key] = loop
        _check_series(loop)
    check_traces(record.traces, loops)
    check_held_calls(record.calls, functions, loops)
    for repeat in record.repeats:
        if repeat.repeats or repeat.traces or repeat.calls:
            raise _refused("a repeat has repeats or values of its own")
        check(repeat)
    _check_numbers(record, "record")


def _by_key(items: tuple[Keyed, ...], what: str) -> dict[int, Keyed]:
    found: dict[int, Keyed] = {}
    for item in items:
        if item.key in found:
            raise _refused(f"two {what}s have the key {item.key}")
        found[item.key] = item
    return found


def _check_versions(graphs: VersionsRecord) -> None:
    """Refuse versions of a graph without a valid last one, or with nodes removed before they were added."""
    if not 0 <= graphs.first <= graphs.last:
        raise _refused("a graph is after a negative number of rewrites")
    for node in graphs.nodes:
        if not node.versions or node.versions[0] < 0 or any(a >= b for a, b in pairwise(node.versions)):
            raise _refused("a graph has a node that goes before it comes")
        if node.operation is not None and node.operation < 0:
            raise _refused("a graph names an operation that does not exist")
        kept = [variable.keep_last or 0 for variable in node.loop.variables] if node.loop is not None else []
        if min(kept, default=0) < 0:
            raise _refused("a graph keeps a negative number of rows")
    snapshot_of(graphs, graphs.last)  # which refuses anything but a graph


def _check_series(loop: LoopRecord) -> None:
    series = loop.series
    if series.dtype != np.int64 or series.ndim != 2 or series.shape[1] != 4:
        raise _refused(f"the series of loop {loop.key} has the wrong form")
    if len(series) and (series.min() < 0 or series[:, 3].max() > 3):
        raise _refused(f"the series of loop {loop.key} has impossible values")
    runs, steps = series[:, 0], series[:, 1]
    later = (runs[1:] > runs[:-1]) | ((runs[1:] == runs[:-1]) & (steps[1:] > steps[:-1]))
    if not later.all():
        raise _refused(f"the series of loop {loop.key} is not in order of runs and steps")
    covers = loop.series_covers
    if covers and (len(covers) != len(series) or min(covers) < 1 or max(covers) > _LONGEST_BLOCK):
        raise _refused(f"the series of loop {loop.key} covers impossible numbers of steps")
    ends = steps + np.array(covers or 1, np.int64)
    if ((runs[1:] == runs[:-1]) & (steps[1:] < ends[:-1])).any():
        raise _refused(f"blocks of steps in the series of loop {loop.key} lie over one another")


def _check_numbers(value: Any, place: str, signed: bool = False) -> None:
    """Refuse numbers beyond 64 bits, and negative sizes, counts and times."""
    if isinstance(value, Struct):
        signed = (
            isinstance(value, VersionsRecord) or signed
        )  # numbers of a graph are looked at by _check_versions
        for name in _with_numbers(type(value)):
            _check_numbers(getattr(value, name), f"{place}.{name}", signed or name in _SIGNED)
    elif isinstance(value, tuple):
        for item in value:
            _check_numbers(item, place, signed)
    elif isinstance(value, dict):
        for item in value.values():
            _check_numbers(item, place, signed)
    elif isinstance(value, int | float):
        if not -_LIMIT < value < _LIMIT:
            raise _refused(f"{place} is too large", found=value)
        if value < 0 and not signed:
            raise _refused(f"{place} is negative", found=value)


@cache
def _with_numbers(kind: type) -> tuple[str, ...]:
    """Return the fields of a record class that may hold numbers."""
    return tuple(name for name, hint in field_types(kind).items() if _has_numbers(hint, (kind,)))


def _has_numbers(hint: Any, around: tuple[Any, ...]) -> bool:
    if hint in (int, float):
        return True
    if hint in around:
        return True
    if isinstance(hint, type) and issubclass(hint, Struct):
        fields = field_types(hint).values()
        return any(_has_numbers(field, (*around, hint)) for field in fields)
    return any(_has_numbers(arg, around) for arg in get_args(hint))


def _refused(what: str, found: object = None) -> ScanvizValueError:
    return ScanvizValueError(f"the profile is inconsistent: {what}", found=found)


_REASONS = ("first", "last", "every", "event", "asked")


def check_traces(traces: tuple[TraceRecord, ...], loops: Mapping[int, LoopRecord]) -> None:
    """Refuse values of unknown loops, and arrays without a row for each step.

    Raises
    ------
    ScanvizValueError
        Naming the loop, and the variable where it is one.

    Examples
    --------
    >>> check_traces((), {})
    """
    seen: set[tuple[int, int]] = set()
    for trace in traces:
        loop = loops.get(trace.loop)
        if loop is None:
            raise _refused(f"values belong to loop {trace.loop}, which is not in the record")
        if (trace.loop, trace.run) in seen:
            raise _refused(f"values of run {trace.run} of loop {trace.loop} appear twice")
        seen.add((trace.loop, trace.run))
        _check_steps(trace)
        for variable in trace.variables:
            _check_variable(variable, trace, loop)


def _check_steps(trace: TraceRecord) -> None:
    steps = trace.steps
    if any(later <= earlier for earlier, later in pairwise(steps)):
        raise _refused(f"the steps kept of loop {trace.loop} are not in order")
    if steps and (steps[0] < 0 or steps[-1] >= trace.total_steps):
        raise _refused(f"steps kept of loop {trace.loop} are beyond its {trace.total_steps}")
    if len(trace.reasons) != len(steps) or not set(trace.reasons) <= set(_REASONS):
        raise _refused(f"the steps kept of loop {trace.loop} lack reasons, or have unknown ones")


def _check_variable(variable: TracedVariableRecord, trace: TraceRecord, loop: LoopRecord) -> None:
    values, statistics = variable.values, variable.statistics
    of = f"{variable.name[:60]!r} in loop {trace.loop}"
    if values.dtype != np.float64 or values.ndim != 2 or len(values) != len(trace.steps):
        raise _refused(f"the values of {of} do not have a row for each of its {len(trace.steps)} steps")
    if statistics.dtype != np.float64 or statistics.shape != (len(trace.steps), len(STATISTICS)):
        raise _refused(f"the statistics of {of} do not have a row for each of its {len(trace.steps)} steps")
    counts = statistics[:, 3:]
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise _refused(f"the statistics of {of} have impossible counts")
    if not _is_place(variable.variable, len(loop.variables)):
        raise _refused(f"{of} belongs to loop variable {variable.variable}, which is not there")
    if not _is_place(variable.operation, len(loop.operations)):
        raise _refused(f"{of} belongs to operation {variable.operation}, which is not there")


def _is_place(index: int | None, count: int) -> bool:
    """Return whether an index is valid; a loop beyond the size limit has lost its lists."""
    return index is None or 0 <= index < count or (index >= 0 and not count)
