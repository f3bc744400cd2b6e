"""A record as tables: the run, its parts, the profiles it was merged from, functions, loops, operations, variables and steps.

Keys join them: ``function`` and ``loop`` are keys of rows in the tables of functions and loops.  Times are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from scanviz.profiler.export.frames import clear
from scanviz.record.loops import LoopRecord
from scanviz.record.measures import Measured, Of, measures
from scanviz.record.model import SAMPLE_REASONS, FunctionRecord, ProfileRecord, SourceRecord
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of

LARGEST = 2**63 - 1  # of an integer column
Cell = int | float | str | bool | None


class Table(NamedTuple):
    """A table.

    Attributes
    ----------
    first : dict of str to type
        Names and types of its columns, in order; any cell may be None.
    rows : callable
        Yields its rows for a record.
    of : str or None
        Kind of its rows, such as ``"loop"``, whose declared numbers follow as columns.
    lined : bool
        Whether the last columns are the user's line.
    """

    first: dict[str, type]
    rows: Callable[[ProfileRecord], Iterator[tuple[Cell, ...]]]
    of: Of | None = None
    lined: bool = False

    @property
    def columns(self) -> dict[str, type]:
        """Names and types of all columns."""
        declared = [] if self.of is None else measures(self.of)
        numbers: dict[str, type] = {measure.name: int if measure.whole else float for measure in declared}
        return self.first | numbers | (_LINE if self.lined else {})


def _line(source: SourceRecord | None) -> tuple[str | None, int | None, str | None]:
    return (None, None, None) if source is None else (clear(source.file), source.line, clear(source.text))


_LINE: dict[str, type] = {"file": str, "line": int, "text": str}


def _run(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    ended = (record.outcome.status, record.outcome.code, clear(record.outcome.message))
    made = map(clear, (record.scanviz, record.python, record.numpy, record.machine))
    run = (clear(record.script), clear(record.started), record.detail, record.wall_ns, record.cost.total_ns)
    yield (*run, *ended, *made, *_measured(record, "run"))


def _origins(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for origin in record.origins:
        ended = (origin.outcome.status, origin.outcome.code)
        yield clear(origin.name), clear(origin.script), clear(origin.started), origin.wall_ns, *ended


def _functions(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for function in record.functions:
        built = min(sum(function.build_ns.values()), LARGEST)
        times = (function.calls, function.errors, function.total_ns, function.first_ns, built)
        known = (function.key, clear(function.name), clear(function.backend), _origin(function))
        yield (*known, *times, *_measured(function, "function"), *_line(function.source))


def _origin(function: FunctionRecord | None) -> str | None:
    """Return the origin of a merged function; None for an unmerged profile."""
    return clear(function.origin) if function is not None and function.origin else None


def _loops(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    functions = {function.key: function for function in record.functions}
    for loop in record.loops:
        origin = _origin(functions.get(loop.function))
        known = (loop.key, loop.function, loop.parent, loop.gradient_of, clear(loop.name), origin)
        yield (*known, *_measured(loop, "loop"), *_line(loop.source))


def _measured(record: Measured, of: Of) -> Iterator[Cell]:
    """Yield the declared numbers of a loop, an operation, a function or the run."""
    for measure in measures(of):
        value = measure.value(record)
        yield value if value is None else min(value, LARGEST)


def _operations(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    times = OperationTimes(parts_of(record))
    owners: list[tuple[int, int | None, FunctionRecord | LoopRecord]] = [
        *((function.key, None, function) for function in record.functions),
        *((loop.function, loop.key, loop) for loop in record.loops),
    ]
    for function, loop, owner in owners:
        for done in owner.operations:
            took = (done.typical_ns, float(times.of(owner, done))) if done.samples else (None, None)
            known = (function, loop, done.index, done.kind, clear(done.label), clear(done.output))
            yield (*known, done.samples, *took, *_measured(done, "operation"), *_line(done.source))


def _variables(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for loop in record.loops:
        for variable in loop.variables:
            taps = [" ".join(map(str, taps)) for taps in (variable.reads, variable.writes)]
            outer = [name and clear(name) for name in (variable.outer_input, variable.outer_output)]
            names = (loop.key, variable.kind, clear(variable.name), *taps, clear(variable.type), *outer)
            yield (*names, variable.keep_last, variable.read_backwards, variable.row_bytes)


def _steps(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for loop in record.loops:
        for run, step, time, reason, count in loop.timed():
            yield loop.key, clear(loop.name), run, step, time, SAMPLE_REASONS.get(reason, "?"), count


def _parts(record: ProfileRecord) -> Iterator[tuple[Cell, ...]]:
    for place, part in enumerate(parts_of(record)):
        times = (min(part.total_ns, LARGEST), min(part.own_ns, LARGEST), part.estimated)
        belongs = (part.function, part.loop, part.operation)
        made = (clear(part.moved_from) or None, clear(part.rule) or None)
        yield (place, part.parent, part.kind, clear(part.label), *times, *belongs, *made, *_line(part.source))


TABLES = {
    "run": Table(
        {"script": str, "started": str, "detail": str, "wall_ns": int, "recording_ns": float}
        | {"outcome": str, "exit_code": int, "message": str}
        | {"scanviz": str, "python": str, "numpy": str, "machine": str},
        _run,
        "run",
    ),
    "origins": Table(
        {"origin": str, "script": str, "started": str, "wall_ns": int, "outcome": str, "exit_code": int},
        _origins,
    ),
    "parts": Table(
        {"part": int, "parent": int, "kind": str, "label": str, "total_ns": int, "own_ns": int}
        | {"estimated": bool}
        | {"function": int, "loop": int, "operation": int, "moved_from": str, "rule": str},
        _parts,
        lined=True,
    ),
    "functions": Table(
        {"function": int, "name": str, "backend": str, "origin": str}
        | {"calls": int, "errors": int, "total_ns": int, "first_ns": int, "build_ns": int},
        _functions,
        "function",
        lined=True,
    ),
    "loops": Table(
        {"loop": int, "function": int, "parent": int, "gradient_of": int, "name": str, "origin": str},
        _loops,
        "loop",
        lined=True,
    ),
    "operations": Table(
        {"function": int, "loop": int, "index": int, "kind": str, "operation": str, "output": str}
        | {"timed": int, "typical_ns": float, "total_ns": float},
        _operations,
        "operation",
        lined=True,
    ),
    "variables": Table(
        {"loop": int, "kind": str, "name": str, "reads": str, "writes": str, "type": str}
        | {"outer_input": str, "outer_output": str}
        | {"keep_last": int, "read_backwards": bool, "row_bytes": int},
        _variables,
    ),
    "steps": Table(
        {"loop": int, "name": str, "run": int, "step": int, "time_ns": int, "kept_as": str, "steps": int},
        _steps,
    ),
}
