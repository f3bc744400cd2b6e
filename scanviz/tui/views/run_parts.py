"""Rows for the Profile tab: the parts of a function's time and of the whole run's, with shares of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from scanviz.profiler.report.units import duration, quantity, share
from scanviz.record.loops import LoopRecord
from scanviz.record.measures import Measure
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.roofline import bound_of
from scanviz.record.summary.run_breakdown import RunPart, run_time_ns
from scanviz.record.summary.totals import UNATTRIBUTED, gone_loops, totals
from scanviz.record.values import SourceRecord
from scanviz.tui.text.colours import CYAN, share_style
from scanviz.tui.views.tables import Cell, Row, place_cell, text_cell

MOST_GONE = 4  # loops that rewrites removed, listed below the table


def function_rows(
    function: FunctionRecord,
    parts: Sequence[RunPart],
    more: Sequence[Measure],
    limits: Mapping[str, float] | None = None,
) -> list[tuple[int, Row]]:
    """Return a row for each part of a function's time, by operation index; other parts have negative keys."""
    place = next((k for k, part in enumerate(parts) if _is_of(part, function)), None)
    if place is None:
        return []
    indices = {
        operation.loop: operation.index for operation in function.operations if operation.kind == "loop"
    }
    known = {operation.index: operation for operation in function.operations}
    rows: list[tuple[int, Row]] = []
    whole = run_time_ns(parts)
    for part in parts:
        if part.parent == place:
            index = part.operation if part.operation is not None else indices.get(part.loop)
            if index is None or part.kind not in ("operation", "loop"):
                index = -1 - len(rows)
            rows.append((index, _row(part, whole, known.get(index), more, limits)))
    rest = RunPart("function", UNATTRIBUTED, parts[place].own_ns, function=function.key)
    return [*rows, (-1 - len(rows), _row(rest, whole, None, more, limits))]


def _is_of(part: RunPart, function: FunctionRecord) -> bool:
    return part.kind == "function" and part.function == function.key


def bound_cells(
    operation: OperationRecord | None, limits: Mapping[str, float] | None, native: bool = False
) -> list[Cell]:
    """Return how near an operation is to the machine's limit, and which limit; empty if limits were not measured."""
    if limits is None:
        return []
    found = None if operation is None else bound_of(limits, operation, native)
    if found is None:
        return [Cell("–", -1.0)]
    return [Cell(f"{share(found.reached, 1.0)} {found.kind}", found.reached)]


def _row(
    part: RunPart,
    whole: int,
    operation: OperationRecord | None,
    more: Sequence[Measure],
    limits: Mapping[str, float] | None,
) -> Row:
    name = sanitize(f"loop {part.label}" if part.kind == "loop" else part.label)
    by = f" by {part.rule}" if part.rule and part.rule != "gradient" else ""
    moved = sanitize(f"  (out of {part.moved_from}{by})") if part.moved_from else ""
    source = part.source if part.kind in ("operation", "loop") else None
    return (
        Cell(duration(part.total_ns), part.total_ns),
        Cell(share(part.total_ns, whole), part.total_ns, share_style(part.total_ns, whole)),
        Cell(name + moved, name.casefold(), "" if part.kind in ("operation", "loop") else "dim"),
        *details(source, operation, more, bound_cells(operation, limits)),
    )


def details(
    source: SourceRecord | None,
    operation: OperationRecord | None,
    more: Sequence[Measure],
    limit: Sequence[Cell],
) -> Row:
    """Return the last cells of a row: the line, the limit of the machine, the result, the number, and measures."""
    return (
        place_cell(sanitize(str(source or ""))),
        *limit,
        text_cell(sanitize(operation.output) if operation is not None else ""),
        Cell(str(operation.index), operation.index) if operation is not None else Cell("–", -1.0),
        *(number_cell(measure, operation) for measure in more),
    )


def number_cell(measure: Measure, record: LoopRecord | OperationRecord | None) -> Cell:
    """Return the cell of a measure."""
    value = measure.value(record) if record is not None else None
    return Cell("–", -1.0) if value is None else Cell(quantity(value, measure.unit), value)


def run_summary(record: ProfileRecord, parts: Sequence[RunPart], width: int) -> Text:
    """Return the parts of the whole run, a line with a bar each, and the loops that rewrites removed."""
    whole = run_time_ns(parts)
    room = max(6, min(20, width - 52))
    text = Text(f"the whole run: {duration(whole)}", style="bold")
    for row in totals(parts):
        filled = round(room * row.total_ns / max(1, whole))
        text.append(f"\n{row.title:>28} ", style="not bold")
        text.append("█" * filled + "░" * (room - filled), style=f"not bold {CYAN}")
        text.append(f" {share(row.total_ns, whole):>6}  {duration(row.total_ns)}", style="not bold")
    gone = gone_loops(record, parts)
    for loop in gone[:MOST_GONE]:
        text.append(f"\n{sanitize(loop.words())}, {duration(loop.total_ns)}", style="not bold")
    if len(gone) > MOST_GONE:
        text.append(f"\n{len(gone) - MOST_GONE} more loops gone", style="not bold dim")
    return text
