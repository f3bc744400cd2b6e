"""The page's data of a record, as JSON.

Everything here comes from the record; numbers that JSON cannot write (NaN, infinities) are written as text.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
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
from scanviz.render.row_values import row_spans

_NO_ROWS = np.zeros((0, 0))

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
    """Return the known means of rows in the first kept run of each loop, by loop and loop variable.

    A mean stands with its row, the first step after which the row has it, and the step after which it has it no more.
    """
    loops = {loop.key: loop for loop in record.loops}
    found: dict[str, list[list[list[Any]]]] = {}
    for trace in record.traces:
        if trace.loop in loops and str(trace.loop) not in found:
            found[str(trace.loop)] = [
                [
                    [span.row, max(0, span.first), span.end, *_numbers([span.value.mean], 5)]
                    for span in row_spans([trace], variable, index)
                    if span.end is None or span.end > 0
                ]
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
