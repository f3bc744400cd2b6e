"""The page's data of a record, as JSON.

Everything here comes from the record; numbers that JSON cannot write (NaN, infinities) are written as text.
"""

from __future__ import annotations

import math
import shlex
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.graphs.rewrites import with_lines
from scanviz.record.loops import LoopRecord
from scanviz.record.measures import Measure, measures, shown
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.processor import off_cpu
from scanviz.record.storage.codec import encode
from scanviz.record.summary.glosses import GLOSSES
from scanviz.record.summary.roofline import known_limits, worth_showing
from scanviz.record.summary.run_breakdown import OperationTimes, RunPart, overhead_ns, parts_of, run_time_ns
from scanviz.record.summary.slow_steps import slow_in_words, slowest_share
from scanviz.record.summary.totals import gone_loops, lines, totals
from scanviz.record.summary.typical import typical_step
from scanviz.record.summary.verdict import verdict
from scanviz.record.traces.blame import chain_of_blame
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.render.buffers import called, later_uses, rows_before, why_kind
from scanviz.render.diagram.connections import ConnectionMatrix, connection_matrix

# Contents of buffer rows for the page's player: spans of steps after which a row's content is known.
#
# A step writes its rows at its end.  Between two writes a row does not change, so one value that was read or written there holds
# for the whole span.

_MEAN, _NAN, _INF = 2, 3, 4  # columns of statistics
_HAVE_NO_TAPS = ("sequence", "nitsot")
_NO_ROWS = np.zeros((0, 0))

Span = tuple[
    int, int, int | None, float
]  # row, first step, step before which it ends (None: it does not), mean of the row


def spans_of(trace: TraceRecord, variable: LoopVariableRecord, index: int) -> list[Span]:
    """Return the known content of a loop variable's buffer after each step, NaN for rows with a bad number.

    Examples
    --------
    >>> import numpy as np
    >>> read, written = np.array([[0.0, 1, 0.25, 0, 0], [0.0, 1, 0.5, 0, 0]]), np.array([[0.0, 1, 0.5, 0, 0], [0.0, 2, 1.5, 0, 0]])
    >>> variables = (
    ...     TracedVariableRecord("h[t-1]", "input", 0, -1, statistics=read),
    ...     TracedVariableRecord("h[t]", "output", 0, 0, statistics=written),
    ... )
    >>> h = LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))
    >>> spans_of(TraceRecord(1, 0, 2, (0, 1), variables=variables), h, 0)
    [(0, 0, None, 0.25), (1, 0, None, 0.5), (2, 1, None, 1.5)]
    """
    before = rows_before(variable)
    found: dict[tuple[int, int], Span] = {}
    for row, after, mean in _seen(trace, variable, index, before):
        writes = sorted(row - before - tap for tap in variable.writes)
        place = bisect_right(writes, after)
        first = max(0, writes[place - 1]) if place else 0
        end = writes[place] if place < len(writes) else None
        if end is None or end > first:
            found[row, first] = row, first, end, mean
    return [found[key] for key in sorted(found)]


def _seen(
    trace: TraceRecord, variable: LoopVariableRecord, index: int, before: int
) -> Iterator[tuple[int, int, float]]:
    """Iterate over known rows: the row, the first step after which it is known (-1: initially), and its mean."""
    for traced in trace.variables:
        if traced.variable != index or (traced.tap is None and variable.kind not in _HAVE_NO_TAPS):
            continue
        shift = 0 if variable.kind in _HAVE_NO_TAPS else (traced.tap or 0) + before
        for place, at in enumerate(trace.steps):
            yield at + shift, at if traced.role == "output" else at - 1, _mean(traced, place)


def _mean(traced: TracedVariableRecord, place: int) -> float:
    values = traced.statistics[place]
    return math.nan if values[_NAN] or values[_INF] else float(values[_MEAN])


MOST_NUMBERS = 8  # of a value that the page shows
MOST_OUTSIDE = 30  # operations outside of loops that stand in the table of the whole run
ALL_NUMBERS = 60_000  # of all values: about half a megabyte


def page_data(record: ProfileRecord) -> dict[str, Any]:
    """Return a record in the form that the page's scripts read.

    Examples
    --------
    >>> page_data(ProfileRecord(script="rnn.py"))["run"]["script"]
    'rnn.py'
    """
    numbers, parts = _shared_out(record.traces), parts_of(record)
    times = OperationTimes(parts)
    run = encode(replace(record, functions=(), loops=(), traces=(), calls=(), repeats=()))
    for name in ("functions", "loops", "traces", "calls", "repeats"):
        run.pop(name, None)
    run["off_cpu"] = off_cpu(record)
    return {
        "run": run,
        "functions": [_function(function, times) for function in record.functions],
        "loops": [_loop(loop, times) for loop in record.loops],
        "measures": [_measure(measure) for measure in measures("operation", "heading")],
        "traces": [_trace(trace, numbers) for trace in record.traces],
        "rows_held": _rows_held(record),
        "blame": _blame(record),
        "command": "scanviz report FILE --values --scan NAME --run RUN --step STEP"
        + (" --recompute" if record.calls else ""),
        "record_values": shlex.join(
            ["scanviz", "profile", "--values", *map(sanitize, (record.script or "SCRIPT", *record.arguments))]
        ),
        "parts": _parts(record, parts),
        "roofline": _roofline(record),
        "glosses": GLOSSES,
        "verdict": [encode(sentence) for sentence in verdict(record, parts)],
    }


def _blame(record: ProfileRecord) -> dict[str, Any]:
    """Return the chain of blame of each loop with a kept NaN or infinity."""
    keys = dict.fromkeys(trace.loop for trace in record.traces)
    chains = {str(key): [encode(link) for link in chain_of_blame(record, key)] for key in keys}
    return {key: chain for key, chain in chains.items() if chain}


def _roofline(record: ProfileRecord) -> dict[str, Any]:
    """Return the machine's limits, and the most expensive operations relative to them; empty if not measured."""
    return {
        "limits": [{**_measure(measure), "value": value} for measure, value in known_limits(record)],
        "operations": [
            {
                "label": entry.operation.label,
                "loop": None if entry.loop is None else entry.loop.key,
                "source": encode(entry.operation.source),
                "typical_ns": entry.operation.typical_ns,
                "least_ns": entry.bound.least_ns,
                "reached": entry.bound.reached,
                "kind": entry.bound.kind,
            }
            for entry in worth_showing(record)[:MOST_OUTSIDE]
        ],
    }


def _parts(record: ProfileRecord, parts: Sequence[RunPart]) -> dict[str, Any]:
    """Return the parts of the whole run: by kind, by line, and the loops that rewrites removed."""
    outside = [part for part in parts if part.kind == "operation" and part.loop is None and part.own_ns]
    numbers: dict[tuple[int | None, int | None], dict[str, float]] = {
        (function.key, operation.index): _numbers_of(operation)
        for function in record.functions
        for operation in function.operations
    }
    return {
        "whole_ns": run_time_ns(parts),
        "overhead_ns": overhead_ns(parts),
        "totals": [encode(row) for row in totals(parts)],
        "lines": [encode(row) for row in lines(parts)],
        "outside": [
            {
                **encode(part),
                "total_ns": part.own_ns,
                "measures": numbers.get((part.function, part.operation), {}),
            }
            for part in sorted(outside, key=lambda part: -part.own_ns)[:MOST_OUTSIDE]
        ],
        "gone": [{"words": loop.words(), "total_ns": loop.total_ns} for loop in gone_loops(record, parts)],
    }


def _function(function: FunctionRecord, times: OperationTimes) -> dict[str, Any]:
    found: dict[str, Any] = encode(replace(function, rewrites=None, program=b""))
    found["off_cpu"] = off_cpu(function)
    found["total_ns"] = times.whole(function)
    found["heading"] = _heading(function)
    for data, operation in zip(found["operations"], function.operations, strict=True):
        data["total_ns"], data["measures"] = times.of(function, operation), _numbers_of(operation)
    found["rewrites"] = with_lines(function.rewrites) if function.rewrites is not None else None
    return found


def _loop(loop: LoopRecord, times: OperationTimes) -> dict[str, Any]:
    found: dict[str, Any] = encode(loop)
    for data, variable in zip(found["variables"], loop.variables, strict=True):
        data.update(_buffer(variable))
    for data, operation in zip(found["operations"], loop.operations, strict=True):
        data["total_ns"], data["measures"] = times.of(loop, operation), _numbers_of(operation)
    found["off_cpu"] = off_cpu(loop)
    found["total_ns"] = times.whole(loop)
    found["typical_step"] = typical_step(loop)
    slow = loop.measures.get("slowest_hundredth_ns", 0.0)
    found["slow_steps"] = slow_in_words(loop, slow) if slowest_share(loop) else ""
    found["heading"] = _heading(loop)
    matrix = connection_matrix(loop) if loop.variables else ConnectionMatrix(loop.name, (), (), ())
    found["connections"] = {
        "rows": [[entry.label, entry.variable, entry.kind] for entry in matrix.rows],
        "columns": [[entry.label, entry.variable, entry.kind] for entry in matrix.columns],
        "cells": [list(cell) for cell in matrix.cells],
    }
    for name in ("connection_pattern", "inner_connection_pattern"):
        found.pop(name)
    return found


def _heading(record: LoopRecord | FunctionRecord) -> list[dict[str, Any]]:
    return [{**_measure(measure), "value": value} for measure, value in shown(record, "heading")]


def _numbers_of(operation: OperationRecord) -> dict[str, float]:
    """Return the numbers in the columns of operation tables, rates among them."""
    listed = ((measure.name, measure.value(operation)) for measure in measures("operation", "heading"))
    return {name: value for name, value in listed if value is not None}


def _measure(measure: Measure) -> dict[str, Any]:
    return {"name": measure.name, "title": measure.title, "about": measure.about, "unit": measure.unit}


def _buffer(variable: LoopVariableRecord) -> dict[str, Any]:
    return {
        "rows_before": rows_before(variable),
        "why": why_kind(variable),
        "read_names": [called(variable, tap) for tap in variable.reads],
        "write_names": [called(variable, tap) for tap in variable.writes],
        "later": later_uses(variable),
    }


def _rows_held(record: ProfileRecord) -> dict[str, list[list[list[Any]]]]:
    """Return the known content of buffers in the first kept run of each loop, by loop and loop variable."""
    loops = {loop.key: loop for loop in record.loops}
    found: dict[str, list[list[list[Any]]]] = {}
    for trace in record.traces:
        if trace.loop in loops and str(trace.loop) not in found:
            found[str(trace.loop)] = [
                [[*span[:3], *_numbers(span[3:], 5)] for span in spans_of(trace, variable, index)]
                for index, variable in enumerate(loops[trace.loop].variables)
            ]
    return found


def _shared_out(traces: Sequence[TraceRecord]) -> int:
    """Return the number of elements of each value that the page has room for."""
    rows = sum(len(trace.steps) * len(trace.variables) for trace in traces)
    return max(1, min(MOST_NUMBERS, ALL_NUMBERS // max(1, rows)))


def _trace(trace: TraceRecord, numbers: int) -> dict[str, Any]:
    return {
        **encode(replace(trace, variables=())),
        "variables": [_traced(variable, numbers) for variable in trace.variables],
    }


def _traced(variable: TracedVariableRecord, numbers: int) -> dict[str, Any]:
    return {
        **encode(replace(variable, statistics=_NO_ROWS, values=_NO_ROWS)),
        "statistics": _rows(variable.statistics, 7),
        "values": _rows(variable.values[:, :numbers], 5),
    }


def _rows(numbers: np.ndarray[Any, np.dtype[np.float64]], digits: int) -> list[list[float | int | str]]:
    return [list(_numbers(row, digits)) for row in numbers.tolist()]


def _numbers(row: Iterable[float], digits: int) -> Iterable[float | int | str]:
    """Iterate over numbers as JSON, rounded to the digits that a person compares."""
    for number in row:
        if not math.isfinite(number):
            yield str(number)
        elif number == int(number) and abs(number) < 1e15:
            yield int(number)
        else:
            yield float(f"{number:.{digits}g}")
