"""Tables of the whole run: its parts, operations outside of loops, removed loops, and totals by line."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.profiler.report.text import QUIET, TITLE, ReportLine, clipped, table, table_lines, wrapped
from scanviz.profiler.report.units import counted, duration, quantity, share
from scanviz.record.measures import columns
from scanviz.record.model import ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import RunPart, overhead_ns, run_time_ns
from scanviz.record.summary.totals import (
    PROFILER_OVERHEAD,
    LineTotal,
    RemovedScan,
    gone_loops,
    lines,
    totals,
)

OF_RUN = "of run"  # the column of shares: all are of the whole run, in every table
MOST_GONE = 8
_WORTH = 0.02  # of all calls: operations outside of loops that take less are not listed
WIDE = 96  # columns from which on rates have room
MIDDLE = 78  # columns that all of a line's numbers have room in, beside its code
_FEW = 5  # default rows of a table of the whole run


def whole_lines(record: ProfileRecord, parts: Sequence[RunPart]) -> list[ReportLine]:
    """Return a table of the parts of run time, with profiler overhead beside them."""
    whole = run_time_ns(parts)
    rows = [[f"  {row.title}", duration(row.total_ns), share(row.total_ns, whole)] for row in totals(parts)]
    rows.append([f"  {PROFILER_OVERHEAD} (excluded)", duration(overhead_ns(parts)), "–"])
    head = f"where the time goes: {duration(whole)}"
    if record.threads.others:
        beside = duration(record.threads.beside_ns)
        if overhead_ns(parts):
            head += f"; {duration(parts[0].total_ns)} with profiler overhead"
        head += f", {beside} of it in {counted(record.threads.others, 'other thread')}"
    return [
        ReportLine(""),
        wrapped(head, TITLE),
        *map(ReportLine, table(rows, 1, 100)),
    ]


def outside_lines(record: ProfileRecord, parts: Sequence[RunPart], width: int, top: int) -> list[ReportLine]:
    """Return the most expensive operations outside of loops, with rates, lines and the loops they left."""
    found = [part for part in parts if part.kind == "operation" and part.loop is None and part.own_ns]
    found.sort(key=lambda part: -part.own_ns)
    whole, took = run_time_ns(parts), sum(part.own_ns for part in found)
    calls = sum(part.total_ns for part in parts if part.kind == "function")
    if not found or took < _WORTH * calls:
        return []
    shown = found[: min(top, _FEW) if top <= 8 else top]
    room = max(16, width // 2 - 14)
    known = _operations(record)
    done = [known.get((part.function, part.operation)) for part in shown]
    rates = (
        [one for one in columns(one for one in done if one is not None) if one.per] if width >= WIDE else []
    )
    rows = [["  operation outside of loops", "time", OF_RUN, *(one.title for one in rates)]]
    for part, operation in zip(shown, done, strict=True):
        cells = [duration(part.own_ns), share(part.own_ns, whole)]
        values = [(one.value(operation) if operation is not None else None, one.unit) for one in rates]
        cells += ["–" if value is None else quantity(value, unit) for value, unit in values]
        rows.append([clipped(f"  {part.label}", room), *cells])
    listed = [ReportLine(""), *table_lines(rows, 1, width, ["line", *map(_origin, shown)])]
    if len(found) > len(shown):
        rest = took - sum(part.own_ns for part in shown)
        listed.append(
            ReportLine(f"  {counted(len(found) - len(shown), 'more operation')}, {duration(rest)}", QUIET)
        )
    return listed


def _operations(record: ProfileRecord) -> dict[tuple[int | None, int | None], OperationRecord]:
    """Return the operations outside of loops by function and index."""
    return {
        (function.key, operation.index): operation
        for function in record.functions
        for operation in function.operations
    }


def _origin(part: RunPart) -> str:
    """Return the line of an operation with its text, or with the loop that it was moved out of."""
    place = str(part.source or "")
    text = part.source.text if part.source is not None else ""
    if part.moved_from:
        by = f" by {part.rule}" if part.rule and part.rule != "gradient" else ""
        text = f"out of {part.moved_from}{by}"
    return f"{place}  {text}".strip()


def gone_lines(record: ProfileRecord, parts: Sequence[RunPart]) -> list[ReportLine]:
    """Return one line for each loop that rewrites removed."""
    found = gone_loops(record, parts)
    listed = [wrapped(f"  {_gone(loop)}") for loop in found[:MOST_GONE]]
    if len(found) > MOST_GONE:
        listed.append(ReportLine(f"  {counted(len(found) - MOST_GONE, 'more loop')} gone", QUIET))
    return [ReportLine(""), ReportLine("loops that rewrites removed", TITLE), *listed] if listed else []


def _gone(loop: RemovedScan) -> str:
    took = f", {duration(loop.total_ns)}" if loop.total_ns else ""
    return f"{loop.words()}{took}"


def by_line_lines(parts: Sequence[RunPart], width: int, top: int) -> list[ReportLine]:
    """Return the slowest lines of the script, in loops and outside; time without a line is last."""
    *found, rest = lines(parts)
    whole = run_time_ns(parts)
    if not found:
        return []
    count = min(top, _FEW) if top <= 8 else top
    shown, more = found[:count], sum(row.total_ns for row in found[count:])
    several = any(row.gradient_ns for row in shown) and width >= MIDDLE
    heads = ["  by line", "time", OF_RUN, "in loops", "outside", *(["gradient"] if several else [])]
    rows = [heads]
    for row in shown:
        rows.append([f"  {row.source}", *_cells(row, whole)][: len(heads)])
    if more:
        rows.append([f"  {counted(len(found) - count, 'more line')}", duration(more), share(more, whole)])
    rows.append(["  no line", duration(rest.total_ns), share(rest.total_ns, whole)])
    filled = [[*row, *[""] * (len(heads) - len(row))] for row in rows]
    codes = ["" if row.source is None else row.source.text for row in shown]
    return [ReportLine(""), *table_lines(filled, 1, width, ["", *codes])]


def _cells(row: LineTotal, whole: int) -> list[str]:
    parts = (row.loops_ns, row.outside_ns, row.gradient_ns)
    return [
        duration(row.total_ns),
        share(row.total_ns, whole),
        *(duration(part) if part else "–" for part in parts),
    ]
