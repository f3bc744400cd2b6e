"""A record as tables: the run, and rows of functions, loops, operations, loop variables and recorded steps.

Keys join them: ``function`` and ``loop`` are keys of rows in the tables of functions and loops.  Times are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from scanviz.profiler.export.frames import clear
from scanviz.record.model import SAMPLE_REASONS, OperationRecord, ProfileRecord, SourceRecord

LARGEST = 2**63 - 1  # of an integer column
Cell = int | float | str | bool | None


class Table(NamedTuple):
    """A table.

    Attributes
    ----------
    columns : dict of str to type
        Names and types, in order; any cell may be None.
    rows : callable
        Yields the rows of a record.
    """

    columns: dict[str, type]
    rows: Callable[[ProfileRecord], Iterator[tuple[Cell, ...]]]


def _line(source: SourceRecord | None) -> tuple[str | None, int | None, str | None]:
    return (None, None, None) if source is None else (clear(source.file), source.line, clear(source.text))


_LINE: dict[str, type] = {"file": str, "line": int, "text": str}
_STEP: dict[str, type] = {"step_min_ns": int, "step_p50_ns": int, "step_p95_ns": int, "step_max_ns": int}


def _run(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    ended = (record.outcome.status, record.outcome.code, clear(record.outcome.message))
    made = (clear(record.scanviz), clear(record.python), clear(record.numpy), clear(record.machine))
    cost = record.cost.total_ns
    yield (clear(record.script), clear(record.started), record.detail, record.wall_ns, cost, *ended, *made)


def _functions(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for each in record.functions:
        built = min(sum(each.build_ns.values()), LARGEST)
        times = (each.calls, each.errors, each.total_ns, each.first_ns, built)
        yield (each.key, clear(each.name), clear(each.backend), *times, *_line(each.source))


def _loops(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for each in record.loops:
        steps = each.step_times
        yield (
            *(each.key, each.function, each.parent, each.gradient_of, clear(each.name)),
            *(each.runs, each.steps, each.longest_run, each.total_ns, each.setup_ns, each.first_run_ns),
            *(steps.min_ns, steps.p50_ns, steps.p95_ns, steps.max_ns),
            *(each.sampled_steps, each.body_ns, each.copy_ns, each.overhead_ns, each.cost_ns),
            *(each.buffer_bytes, min(each.kept_bytes, LARGEST), *_line(each.source)),
        )


def _operations(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for function in record.functions:
        yield from (_operation(function.key, None, each, each.samples) for each in function.operations)
    for loop in record.loops:
        yield from (_operation(loop.function, loop.key, each, loop.steps) for each in loop.operations)


def _operation(function: int, loop: int | None, each: OperationRecord, count: int) -> tuple[Cell, ...]:
    timed = each.samples > 0
    mean, total = (each.mean_ns, each.mean_ns * count) if timed else (None, None)
    label, output = clear(each.label), clear(each.output)
    line = _line(each.source)
    return (function, loop, each.index, each.kind, label, output, each.samples, mean, total, *line)


def _variables(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for loop in record.loops:
        for each in loop.variables:
            taps = [" ".join(map(str, taps)) for taps in (each.reads, each.writes)]
            outer = [None if name is None else clear(name) for name in (each.outer_input, each.outer_output)]
            names = (loop.key, each.kind, clear(each.name), *taps, clear(each.type), *outer)
            yield (*names, each.keep_last, each.read_backwards, each.row_bytes)


def _steps(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for loop in record.loops:
        for run, step, time, reason in loop.series.tolist():
            yield loop.key, clear(loop.name), run, step, time, SAMPLE_REASONS.get(reason, "?")


TABLES = {
    "run": Table(
        {"script": str, "started": str, "detail": str, "wall_ns": int, "recording_ns": float}
        | {"outcome": str, "exit_code": int, "message": str}
        | {"scanviz": str, "python": str, "numpy": str, "machine": str},
        _run,
    ),
    "functions": Table(
        {"function": int, "name": str, "backend": str}
        | {"calls": int, "errors": int, "total_ns": int, "first_ns": int, "build_ns": int}
        | _LINE,
        _functions,
    ),
    "loops": Table(
        {"loop": int, "function": int, "parent": int, "gradient_of": int, "name": str}
        | {
            "runs": int,
            "steps": int,
            "longest_run": int,
            "total_ns": int,
            "setup_ns": int,
            "first_run_ns": int,
        }
        | _STEP
        | {
            "timed_steps": int,
            "body_ns": float,
            "copy_ns": float,
            "overhead_ns": float,
            "recording_ns": float,
        }
        | {"buffer_bytes": int, "kept_bytes": int}
        | _LINE,
        _loops,
    ),
    "operations": Table(
        {"function": int, "loop": int, "index": int, "kind": str, "operation": str, "output": str}
        | {"timed": int, "mean_ns": float, "total_ns": float}
        | _LINE,
        _operations,
    ),
    "variables": Table(
        {"loop": int, "kind": str, "name": str, "reads": str, "writes": str, "type": str}
        | {
            "outer_input": str,
            "outer_output": str,
            "keep_last": int,
            "read_backwards": bool,
            "row_bytes": int,
        },
        _variables,
    ),
    "steps": Table(
        {"loop": int, "name": str, "run": int, "step": int, "time_ns": int, "kept_as": str},
        _steps,
    ),
}


__all__ = ["TABLES", "Cell", "Table"]
