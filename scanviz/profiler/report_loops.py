"""The report's parts: a function with the tree of its loops, and one loop with its operations."""

from __future__ import annotations

from scanviz.profiler.report_text import HOT, QUIET, TITLE, Line, table
from scanviz.profiler.units import amount, clipped, duration, plain, share, size, sparkline
from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord, ProfileRecord

NARROW = 80


def function_lines(record: ProfileRecord, function: FunctionRecord, width: int, top: int) -> list[Line]:
    """Return a function's line and a table of its loops."""
    times = function.call_times
    later = (times.total_ns - function.first_ns) / (function.calls - 1) if function.calls > 1 else 0
    parts = [f"{plain(function.name)}: {amount(function.calls)} calls, {duration(times.total_ns)}"]
    parts.append(
        f"first {duration(function.first_ns)}" + (f", then {duration(later)} a call" if later else "")
    )
    if function.errors:
        parts.append(f"{function.errors} failed")
    where = (
        f" ({plain(str(function.source))})"
        if function.source and str(function.source) not in function.name
        else ""
    )
    lines = [Line(""), Line(parts[0] + where + " · " + " · ".join(parts[1:]), TITLE)]
    rows = _tree(record, function, None, 1, width)
    outside = [each for each in function.operations if each.kind != "loop" and each.samples]
    outside_ns = sum(each.mean_ns * each.samples for each in outside)
    if outside_ns:
        rows.append(
            _row(f"  {len(outside)} operations outside of loops", outside_ns, times.total_ns, [""] * 5, width)
        )
    if rows:
        lines.extend(_tabled([_heading(width), *rows], width))
    return lines


def _heading(width: int) -> list[str]:
    titles = ["loop", "time", "share", "steps", "p50", "p95", "max", "overhead"]
    return titles if width >= NARROW else titles[:5]


def _row(name: str, total: float, whole: float, rest: list[str], width: int) -> list[str]:
    cells = [name, duration(total), share(total, whole), *rest]
    return cells if width >= NARROW else cells[:5]


def _tabled(rows: list[list[str]], width: int) -> list[Line]:
    found = table(rows, 1, width)
    return [Line(found[0], QUIET), *(Line(each) for each in found[1:])]


def _tree(
    record: ProfileRecord, function: FunctionRecord, parent: int | None, depth: int, width: int
) -> list[list[str]]:
    rows: list[list[str]] = []
    for loop in record.loops_of(function.key, parent):
        if not loop.runs:
            continue
        times = loop.step_times
        cells = [
            amount(loop.steps),
            duration(times.p50_ns),
            duration(times.p95_ns),
            duration(times.max_ns),
            _overhead(loop),
        ]
        rows.append(_row("  " * depth + plain(loop.name), loop.total_ns, function.total_ns, cells, width))
        rows.extend(_tree(record, function, loop.key, depth + 1, width))
    return rows


def _overhead(loop: LoopRecord) -> str:
    """Return the share of a step that is not its operations."""
    if not loop.sampled_steps:
        return "–"
    whole = loop.body_ns + loop.copy_ns + loop.overhead_ns
    return share(loop.copy_ns + loop.overhead_ns, whole)


def loop_lines(
    record: ProfileRecord, loop: LoopRecord, width: int, top: int, whole: bool = False
) -> list[Line]:
    """Return one loop: a heading, how its time divides, its operations, and with ``whole`` its variables too."""
    where = f" ({plain(str(loop.source))})" if loop.source and str(loop.source) not in loop.name else ""
    counts = f"{amount(loop.runs)} runs, {amount(loop.steps)} steps" + (
        ", ends by until" if loop.has_until else ""
    )
    lines = [Line(f"loop {plain(loop.name)}{where} · {counts} · buffers {size(loop.buffer_bytes)}", TITLE)]
    lines.extend(_division(loop, width))
    lines.extend(_operation_table(loop, width, top))
    if whole:
        lines.extend(_variables(loop, width))
        lines.extend(
            Line(f"  code: {each.tier}, {each.why} (×{each.count}, {duration(each.total_ns)})", QUIET)
            for each in loop.tiers
        )
    return lines


def _division(loop: LoopRecord, width: int) -> list[Line]:
    times = loop.step_times
    step = f"  a step: mean {duration(times.mean_ns)}, p50 {duration(times.p50_ns)}, p95 {duration(times.p95_ns)}, max {duration(times.max_ns)}"
    if len(loop.series):
        slowest = max(loop.series.tolist(), key=lambda row: row[2])
        step += f" (step {amount(slowest[1])}" + (f" of run {amount(slowest[0])})" if loop.runs > 1 else ")")
    lines = [Line(step)]
    if loop.sampled_steps:
        parts = f"operations {duration(loop.body_ns)}, copies {duration(loop.copy_ns)}, loop overhead {duration(loop.overhead_ns)}"
        lines.append(Line(f"  of it: {parts} (from {amount(loop.sampled_steps)} timed steps)"))
    line = series_line(loop, min(60, width - 12))
    if line:
        lines.append(Line(f"  steps {line}", QUIET))
    return lines


def series_line(loop: LoopRecord, columns: int) -> str:
    """Return a sparkline of the longest-sampled run: the slowest kept step in each of ``columns`` parts of it."""
    if len(loop.series) < 2:
        return ""
    run = loop.series[0, 0]
    rows = [(step, time) for number, step, time, _ in loop.series.tolist() if number == run]
    last = max(step for step, _ in rows)
    columns = min(columns, last + 1)
    bins = [0.0] * columns
    for step, time in rows:
        place = step * columns // (last + 1)
        bins[place] = max(bins[place], float(time))
    filled, before = [], next((each for each in bins if each), 0.0)
    for each in bins:
        before = each or before
        filled.append(before)
    return sparkline(filled) if len(filled) > 1 else ""


def _operation_table(loop: LoopRecord, width: int, top: int) -> list[Line]:
    timed = [each for each in loop.operations if each.samples]
    if not timed:
        return []
    whole = loop.body_ns or 1.0
    timed.sort(key=lambda each: -each.mean_ns)
    rows = [
        [f"  {plain(each.label)}", duration(each.mean_ns), share(each.mean_ns, whole)] for each in timed[:top]
    ]
    places = [_place(each) for each in timed[:top]]
    room = max(16, width // 2 - 12)
    found = table(
        [["  operation", "a step", "of body"], *([clipped(r[0], room), *r[1:]] for r in rows)], 1, width
    )
    lines = [Line(f"{found[0]}  line", QUIET)]
    for index, (text, place) in enumerate(zip(found[1:], places, strict=True)):
        lines.append(Line(f"{text}  {place}", HOT if index == 0 and len(timed) > 1 else ""))
    if len(timed) > top:
        lines.append(Line(f"  {len(timed) - top} more operations", QUIET))
    return lines


def _place(operation: OperationRecord) -> str:
    source = operation.source
    return "" if source is None else f"{plain(str(source))}  {plain(source.text)}"


def _variables(loop: LoopRecord, width: int) -> list[Line]:
    rows = [["  variable", "kind", "taps", "type", "outer input", "outer output"]]
    for each in loop.variables:
        taps = ",".join(map(str, each.reads)) + (
            f" → {','.join(map(str, each.writes))}" if each.kind == "mitmot" else ""
        )
        rows.append(
            [
                f"  {plain(each.name)}",
                each.kind,
                taps,
                each.type,
                plain(each.outer_input or "–"),
                plain(each.outer_output or "–"),
            ]
        )
    found = table(rows, 6, width)
    return [Line(found[0], QUIET), *(Line(each) for each in found[1:])]
