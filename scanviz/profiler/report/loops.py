"""Tables of loops: a function with the tree of its loops, and one loop with its operations."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.profiler.report.run_tables import OF_RUN
from scanviz.profiler.report.tails import tail_lines
from scanviz.profiler.report.text import (
    QUIET,
    TITLE,
    WARNING,
    ReportLine,
    clipped,
    table_lines,
    wrapped,
)
from scanviz.profiler.report.units import amount, counted, duration, quantity, share, sparkline
from scanviz.record.measures import Measure, columns, shown
from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord, ProfileRecord, SourceRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.processor import off_cpu
from scanviz.record.summary.glosses import glosses
from scanviz.record.summary.run_breakdown import OperationTimes, PartKind, RunPart
from scanviz.record.summary.slow_steps import other_code_ns
from scanviz.record.summary.typical import BELOW, typical_step, why_untimed

WIDE, MIDDLE = 96, 78
_COLUMNS = ("loop", "time", OF_RUN, "steps", "p50", "p95", "max", "operations", "runs")
_OUTSIDE: tuple[tuple[str, tuple[PartKind, ...]], ...] = (
    ("outside of loops", ("operation",)),
    ("call overhead", ("checks", "copies", "entry")),
    ("loop overhead", ("around",)),
    ("slow calls", ("slow",)),
    ("unattributed", ("function",)),
)
FULL_BAR = 2.5  # medians that fill a bar of the sparkline, so that a usual step's is of a third
MUCH_SLOWER = (
    3.0  # times: from here on the report also gives the total, since in short runs one-off work dominates
)
_COSTLY = 0.05  # share of a loop's time above which profiler overhead is reported


def place(name: str, source: SourceRecord | None) -> str:
    """Return the source line in brackets, unless the name contains it."""
    return f" ({source})" if source is not None and str(source) not in name else ""


def function_lines(
    record: ProfileRecord,
    function: FunctionRecord,
    parts: Sequence[RunPart],
    times: OperationTimes,
    width: int,
    top: int,
) -> list[ReportLine]:
    """Return a function with a table of its loops and of its time outside of loops; rows add up to its time."""
    outside, whole = _outside(function, parts), times.whole(function)
    head = f"{function.name}{place(function.name, function.source)}: {counted(function.calls, 'call')}, "
    whole += dict(outside).get("compilation", 0)
    head += f"{duration(whole)} ({share(whole, times.run_ns)})"
    origin = [f"from {function.origin}"] if function.origin else []
    facts = [head, *origin, *([busy] if (busy := off_cpu(function)) else [])]
    if function.calls > 1:
        later = (function.call_times.total_ns - function.first_ns) / (function.calls - 1)
        facts.append(f"first {duration(function.first_ns)}, then {duration(later)} per call")
    facts += headings(function)
    if function.tier_reason:
        facts.append(f"on {tier(function)}")
    if function.errors:
        facts.append(f"{amount(function.errors)} failed")
    if function.running:
        facts.append(f"{amount(function.running)} running")
    rows = _tree(record, function, None, 1, width, top, times)
    for title, took in outside:
        rows.append(_row([f"  {title}", duration(took), share(took, times.run_ns)], width))
    lines = [ReportLine(""), wrapped(" · ".join(facts), TITLE)]
    if rows:
        lines += table_lines([_row(list(_COLUMNS), width), *rows], 1, width)
    return lines


def _outside(function: FunctionRecord, parts: Sequence[RunPart]) -> list[tuple[str, int]]:
    """Return the time of a function outside of its loops, by kind."""
    places = [k for k, part in enumerate(parts) if part.kind == "function" and part.function == function.key]
    mine = [part for k, part in enumerate(parts) if k in places or part.parent in places]
    found = [(title, sum(part.own_ns for part in mine if part.kind in kinds)) for title, kinds in _OUTSIDE]
    code = sum(part.own_ns for part in parts if part.kind == "code" and part.function == function.key)
    found.append(("compilation", code))
    return [(title, took) for title, took in found if took]


def _row(cells: list[str], width: int) -> list[str]:
    """Return the cells that fit a terminal of this width."""
    count = 9 if width >= WIDE else 8 if width >= MIDDLE else 5
    return (cells + [""] * count)[:count]


def _tree(
    record: ProfileRecord,
    function: FunctionRecord,
    parent: int | None,
    depth: int,
    width: int,
    top: int,
    times: OperationTimes,
) -> list[list[str]]:
    rows: list[list[str]] = []
    loops = [loop for loop in record.loops_of(function.key, parent) if loop.runs]
    for loop in loops[:top]:
        percentiles = [duration(number) for number in loop.step_quantiles_ns]
        body = share(loop.body_ns, loop.typical_ns) if loop.sampled_steps else "–"
        name = "  " * min(depth, 8) + loop.name
        whole = times.whole(loop)
        time = [duration(whole), share(whole, times.run_ns)] if whole else ["–", "–"]
        cells = [name, *time, amount(loop.steps)]
        steps = percentiles if loop.step_times.count else ["–"] * 3
        rows.append(_row([*cells, *steps, body, amount(loop.runs)], width))
        if depth < 30:
            rows.extend(_tree(record, function, loop.key, depth + 1, width, top, times))
    if len(loops) > top:
        rest = sum(times.whole(loop) for loop in loops[top:])
        name = "  " * depth + f"{len(loops) - top} more"
        rows.append(_row([name, duration(rest), share(rest, times.run_ns)], width))
    return rows


def other_loop_lines(
    loops: Sequence[tuple[str, LoopRecord]], times: OperationTimes, width: int, top: int
) -> list[ReportLine]:
    """Return one line for each loop: the time per step and its most expensive operation."""
    if not loops:
        return []
    rows = [["other loops", "per step", OF_RUN]]
    ends = ["most of it, line (--scan NAME shows all of one)"]
    for title, loop in loops[:top]:
        hottest = times.most_of(loop)
        part = share(times.of(loop, hottest), times.run_ns) if hottest else "–"
        rows.append([f"  {title}", duration(loop.median_step_ns), part])
        named = "" if hottest is None else clipped(sanitize(hottest.label), width // 4)
        ends.append(str(loop.source or "") if hottest is None else f"{named}  {_line_of(hottest)}")
    lines = [ReportLine(""), *table_lines(rows, 1, width // 2, ends)]
    if len(loops) > top:
        lines.append(ReportLine(f"  {counted(len(loops) - top, 'more loop')}", QUIET))
    return lines


def loop_lines(
    loop: LoopRecord, title: str, times: OperationTimes, width: int, top: int, whole: bool = False
) -> list[ReportLine]:
    """Return one loop: heading, parts of its time, operations, and with ``whole`` its variables."""
    parts = [
        f"{title}{place(loop.name, loop.source)}",
        f"{counted(loop.runs, 'run')}, {counted(loop.steps, 'step')}"
        + (", ends by until" if loop.has_until else ""),
        duration(times.whole(loop)) if times.whole(loop) else "",
        *headings(loop),
    ]
    lines = [
        wrapped(" · ".join(filter(None, parts)), TITLE),
        *_notes(loop),
        *_division(loop),
        *_series_line(loop, width),
    ]
    lines.extend(_operation_table(loop, times, width, top, whole))
    if whole:
        lines.extend(_variables(loop, width))
        lines.extend(
            wrapped(
                f"  code: {tier.tier}, {tier.why} (×{tier.count}, {duration(tier.total_ns)})",
                QUIET,
            )
            for tier in loop.tiers
        )
    return lines


def tier(function: FunctionRecord) -> str:
    """Return the tier of a function, with the reason if it was chosen for the arguments of a call."""
    reason = f", as {function.tier_reason}" if function.tier_reason else ""
    return function.backend + reason


def headings(record: LoopRecord | FunctionRecord) -> list[str]:
    """Return the measures shown in the heading of a loop or function, each with its title."""
    return [f"{measure.title} {quantity(value, measure.unit)}" for measure, value in shown(record, "heading")]


def _notes(loop: LoopRecord) -> list[ReportLine]:
    """Return the limits of the numbers: failures, samples, profiler overhead."""
    found = [busy] if (busy := off_cpu(loop)) else []
    if loop.failed_runs:
        found.append(f"{counted(loop.failed_runs, 'run')} ended by an error")
    if loop.running:
        found.append(f"{counted(loop.running, 'run')} had not ended")
    times = loop.step_times
    are_few = 2 * times.count < loop.steps  # of very short steps most run as without a profile
    if times.count and (are_few or times.count + loop.control_steps < loop.steps):
        found.append(f"{amount(times.count)} of {counted(loop.steps, 'step')} have a time")
    if loop.blocks:
        found.append(
            f"{counted(loop.block_steps, 'step')} were timed in {counted(loop.blocks, 'block')}:"
            " the time of one is its block's average"
        )
    if loop.slowdown > 1 + _COSTLY:
        more = f", by {duration(loop.recording_ns)} in all" if loop.slowdown >= MUCH_SLOWER else ""
        found.append(f"profiling made it about {loop.slowdown:.2g} times slower{more}")
    return [wrapped("  " + " · ".join(found), WARNING)] if found else []


def _division(loop: LoopRecord) -> list[ReportLine]:
    times = loop.step_times
    if not times.count:
        return []
    typical = typical_step(loop)
    lines = [wrapped(f"  {typical}")] if typical else []
    parts = [] if typical and loop.typical_ns else [f"median {duration(times.p50_ns)}"]
    _, p95, longest = map(duration, loop.step_quantiles_ns)
    parts += [f"mean {duration(times.mean_ns)}", f"p95 {p95}", f"max {longest}"]
    # of few steps, most of another code, an average is none of all
    steps = "steps that have a time" if other_code_ns(loop) and 2 * times.count < loop.steps else "steps"
    lines.append(wrapped(f"  {steps}: " + ", ".join(parts) + _slowest(loop)))
    lines += tail_lines(loop)
    if loop.setup_ns:
        code_ns = min(loop.code_ns, loop.setup_ns)
        around = {"before and after the steps": loop.setup_ns - code_ns, "compilation": code_ns}
        around |= {"first run": loop.first_run_ns} if loop.runs > 1 else {}
        texts = (f"{title} {duration(time)}" for title, time in around.items() if time)
        lines.append(wrapped("  " + ", ".join(texts), QUIET))
    return lines


def _slowest(loop: LoopRecord) -> str:
    if not len(loop.series):
        return ""
    slowest = loop.timed()[int(loop.series[:, 2].argmax())]
    named = f"step {amount(slowest.step)}" if slowest.covers == 1 else f"{slowest.words} on average"
    return f" ({named}" + (f" of run {amount(slowest.run)})" if loop.runs > 1 else ")")


def _series_line(loop: LoopRecord, width: int) -> list[ReportLine]:
    """Return a sparkline of the run with most recorded steps; each bar is the slowest step of its part."""
    series = loop.drawn()
    if len(series) < 4:
        return []
    numbers = series[:, 0].tolist()
    run = max(sorted(set(numbers)), key=numbers.count)
    rows = [(step, time) for number, step, time, _ in series.tolist() if number == run]
    last = max(step for step, _ in rows)
    count = min(max(8, min(60, width - 40)), last + 1)
    bins = [0.0] * count
    for step, time in rows:
        bins[step * count // (last + 1)] = max(bins[step * count // (last + 1)], float(time))
    full = FULL_BAR * loop.step_times.p50_ns or max(bins)
    line = sparkline(_filled(bins), full)
    where = f" of run {amount(run)}" if loop.runs > 1 else ""
    return [ReportLine(f"  steps 0–{amount(last)}{where} {line} █ ≥ {duration(full)}", QUIET)] if line else []


def _filled(bins: list[float]) -> list[float]:
    """Fill empty bins with the value before them."""
    found, before = [], next((number for number in bins if number), 0.0)
    for number in bins:
        before = number or before
        found.append(before)
    return found


def _operation_table(
    loop: LoopRecord, times: OperationTimes, width: int, top: int, whole: bool
) -> list[ReportLine]:
    timed = [operation for operation in loop.operations if operation.samples]
    if not timed:
        return [ReportLine(f"  {why_untimed(loop)}", QUIET)] if loop.operations else []
    timed.sort(key=lambda operation: -times.of(loop, operation))
    room = max(16, width // 2 - 14)
    more = _numbers(timed[:top], width, whole)
    rows = [["  operation", "per step", OF_RUN, *(measure.title for measure in more)]]
    for operation in timed[:top]:
        time_ns, took_ns = operation.typical_ns, times.of(loop, operation)
        cells = [
            duration(time_ns) if time_ns else BELOW,
            share(took_ns, times.run_ns) if took_ns else "–",
        ]
        numbers = [(one.value(operation), one.unit) for one in more]
        cells += ["" if value is None else quantity(value, unit) for value, unit in numbers]
        rows.append([clipped(f"  {operation.label}", room), *cells])
    places = [len(str(operation.source)) + len("    …") for operation in timed[:top] if operation.source]
    ends = ["line", *map(_line_of, timed[:top])]
    lines = table_lines(rows, 1, width - max(places, default=0), ends, hot=len(timed) > 1)
    if len(timed) > top:
        rest = sum(operation.typical_ns for operation in timed[top:])
        took = f"{duration(rest)} per step" if rest else BELOW
        lines.append(ReportLine(f"  {counted(len(timed) - top, 'more operation')}, {took}", QUIET))
    return lines


def _numbers(operations: list[OperationRecord], width: int, whole: bool) -> list[Measure]:
    """Return the measures that have a column: rates need width, averages are for the report of one loop."""
    return [
        measure
        for measure in columns(operations)
        if (whole or not measure.field) and (not measure.per or (whole and width >= WIDE))
    ]


def _line_of(operation: OperationRecord) -> str:
    source = operation.source
    return "" if source is None else f"{source}  {source.text}".rstrip()


def _variables(loop: LoopRecord, width: int) -> list[ReportLine]:
    if not loop.variables:
        return []
    rows = [["  variable", "kind", "taps", "type", "outer input", "outer output", "keeps"]]
    for variable in loop.variables:
        taps = ",".join(map(str, variable.reads))
        if variable.kind == "mitmot":
            taps += " → " + ",".join(map(str, variable.writes))
        keeps = (
            ""
            if variable.outer_output is None
            else f"last {variable.keep_last}"
            if variable.keep_last
            else "all"
        )
        outer = [variable.outer_input or "–", variable.outer_output or "–"]
        rows.append([f"  {variable.name}", variable.kind, taps, variable.type, *outer, keeps])
    meanings = glosses(variable.kind for variable in loop.variables)
    return [*table_lines(rows, 7, width), *(wrapped(f"  {meaning}", QUIET) for meaning in meanings)]
