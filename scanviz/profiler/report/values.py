"""Values over time as text: the variables of a step, the first NaN, and the rows that a state reads and writes.

It reads the record and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scanviz.profiler.report.text import (
    HOT,
    NARROWEST,
    QUIET,
    TITLE,
    WARNING,
    ReportLine,
    clipped,
    rendered,
    table,
    wrapped,
)
from scanviz.profiler.report.units import amount, counted
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.names import loop_titles, loops_called, not_one_loop
from scanviz.record.plain_text import sanitize
from scanviz.record.traces.blame import BlameLink, chain_of_blame
from scanviz.record.traces.model import FirstBad, TracedVariableRecord, TraceRecord, first_bad, first_bad_of

Look = Callable[[int, int, int, int], TraceRecord]  # of a loop's key, a run, the first and the last step
LONGEST = 24  # columns of a variable's name
TWICE = "values are of a second computation of every call, on the reference tier; times are of the first"
_STATES = ("mitmot", "mitsot", "sitsot")
_REASONS = {
    "first": "one of the first",
    "last": "one of the last",
    "every": "every k-th",
    "event": "around a NaN or infinity",
}
_WORDS = {"nan": "NaN", "inf": "infinity"}


def render_values(
    record: ProfileRecord,
    *,
    width: int = 100,
    step: int | None = None,
    scan_name: str | None = None,
    color: bool = False,
    run: int | None = None,
    look: Look | None = None,
) -> str:
    """Return the values of a record as text.

    Parameters
    ----------
    record : ProfileRecord
        The profile to show.
    width : int
        Columns; less than 40 counts as 40.
    step : int, optional
        At which step; by default that of the first NaN or infinity, else the last one kept.
    scan_name : str, optional
        Show this loop alone.
    color : bool
        Whether to add terminal colours.
    run : int, optional
        Show this run alone.
    look : callable, optional
        ``look(loop, run, first, last)`` computes steps that were not kept.

    Raises
    ------
    ScanvizError
        The exception of ``look``.

    Examples
    --------
    >>> print(render_values(ProfileRecord()), end="")
    no values were recorded: scanviz profile --values SCRIPT records them
    """
    width = max(NARROWEST, width)
    return rendered(_lines(record, width, step, scan_name, run, look), width, color)


def _lines(
    record: ProfileRecord,
    width: int,
    step: int | None,
    scan_name: str | None,
    run: int | None,
    look: Look | None,
) -> list[ReportLine]:
    if not record.traces:
        return [wrapped("no values were recorded: scanviz profile --values SCRIPT records them", WARNING)]
    loops, titles = {loop.key: loop for loop in record.loops}, loop_titles(record)
    shown = list(record.traces)
    if scan_name is not None:
        traced = [loops[key] for key in dict.fromkeys(trace.loop for trace in record.traces)]
        problem = not_one_loop(record, scan_name, traced)
        if problem:
            return [wrapped(f"no values are shown: {problem}", WARNING)]
        meant = {loop.key for loop in loops_called(record, scan_name)}
        shown = [trace for trace in shown if trace.loop in meant]
    if run is not None:
        known = [trace for trace in shown if trace.run == run]
        others = dict.fromkeys(trace.loop for trace in shown) if look is not None and not known else ()
        shown = known or [TraceRecord(key, run) for key in others]
        if not shown:
            return [wrapped(f"no values of run {run} were kept; --recompute computes them", WARNING)]
    if look is not None and step is not None:
        shown = [trace if step in trace.steps else look(trace.loop, trace.run, step, step) for trace in shown]
    lines = [wrapped(TWICE, QUIET)]
    for trace in shown:
        lines += [ReportLine(""), *_trace_lines(record, trace, loops[trace.loop], titles, width, step)]
    return lines


def _forward(
    record: ProfileRecord, trace: TraceRecord, loop: LoopRecord, titles: dict[int, str], step: int
) -> str:
    """Return the step of the forward loop that a backward step belongs to."""
    for other in record.traces:
        if other.loop == loop.gradient_of and other.run == trace.run and step < other.total_steps:
            name = titles[other.loop]
            return f", back over step {amount(other.total_steps - 1 - step)} of {name}"
    return ""


def _trace_lines(
    record: ProfileRecord,
    trace: TraceRecord,
    loop: LoopRecord,
    titles: dict[int, str],
    width: int,
    step: int | None,
) -> list[ReportLine]:
    kept = counted(trace.total_steps, "step")
    asked = "asked" in trace.reasons
    shown = "computed again" if asked else f"values kept of {amount(len(trace.steps))}"
    head = f"{titles[loop.key]} · run {trace.run} · {kept}, {shown}"
    lines = [wrapped(head, TITLE)]
    bad = {what: first_bad(trace, what) for what in _WORDS}
    lines += [_bad_line(what, found) for what, found in bad.items() if found is not None]
    found = first_bad_of(other for other in record.traces if other.loop == trace.loop)
    if found is not None and found[0] is trace:
        lines += [_blame_line(link) for link in chain_of_blame(record, trace.loop)[1:]]
    if trace.left_out:
        lines.append(wrapped(f"  the budget had no room for {counted(trace.left_out, 'variable')}", QUIET))
    if not trace.steps or not trace.variables:
        return lines
    place, note = _place_of(trace, step, [value.step for value in bad.values() if value is not None])
    if note and any(call.has_run(trace.loop, trace.run) for call in record.calls):
        note += ", which --recompute computes"
    forward = _forward(record, trace, loop, titles, trace.steps[place])
    why = _REASONS.get(trace.reasons[place], "")
    message = "" if asked else f" ({why})"
    lines.append(wrapped(f"  at step {amount(trace.steps[place])}{message}{forward}{note}", QUIET))
    lines += _variables(trace, place, width)
    for variable in loop.variables:
        if variable.kind in _STATES:
            lines += [ReportLine(text, QUIET) for text in ruler(variable, trace.steps[place], width)]
    return lines


def _bad_line(what: str, found: FirstBad) -> ReportLine:
    source = found.variable.source
    where = f" ({source}: {source.text})" if source is not None else ""
    came = "came in" if found.given else "in"
    return wrapped(
        f"  first {_WORDS[what]}: step {amount(found.step)}, {came} {found.variable.name}{where}",
        HOT,
    )


def _blame_line(link: BlameLink) -> ReportLine:
    source = f" ({link.source})" if link.source is not None else ""
    return wrapped(f"    ← {link.words}{source}")


def _place_of(trace: TraceRecord, step: int | None, events: list[int]) -> tuple[int, str]:
    """Return the recorded step to show, and a note about it."""
    if step is None:
        return (trace.steps.index(min(events)), "") if events else (len(trace.steps) - 1, "")
    nearest = min(range(len(trace.steps)), key=lambda k: (abs(trace.steps[k] - step), k))
    return nearest, "" if trace.steps[nearest] == step else f", the nearest kept to step {amount(step)}"


def _variables(trace: TraceRecord, place: int, width: int) -> list[ReportLine]:
    rows = [["variable", "type", "min", "max", "mean", "NaN", "inf"]]
    for variable in trace.variables:
        low, high, mean, nan, infinite = variable.statistics[place].tolist()
        kind = f"{variable.dtype}[{','.join(map(str, variable.shape))}]"
        cells = [number(low), number(high), number(mean), _count(nan), _count(infinite)]
        rows.append([_called(variable), kind, *cells])
    heading, *lines = table(rows, 2, width - 2)
    found = [ReportLine(f"  {heading}", QUIET)]
    for text, variable in zip(lines, trace.variables, strict=True):
        bad = variable.statistics[place, 3] > 0 or variable.statistics[place, 4] > 0
        room = width - len(text) - 6
        numbers = _numbers(variable, place, room) if room >= 12 else ""
        found.append(ReportLine(f"  {text}    {numbers}".rstrip(), HOT if bad else ""))
    return found


def _called(variable: TracedVariableRecord) -> str:
    sign = {"input": "in ", "operation": "   ", "output": "out"}[variable.role]
    return f"{sign} {clipped(sanitize(variable.name), LONGEST)}"


def _count(value: float) -> str:
    return amount(int(value)) if value else "·"


def _numbers(variable: TracedVariableRecord, place: int, room: int) -> str:
    row = variable.values[place].tolist()
    size = math.prod(variable.shape)
    text = " ".join(number(value, missing="nan") for value in row)
    return clipped(text + (" …" if size > len(row) else ""), room)


def number(value: float, missing: str = "–") -> str:
    """Return a number in few digits.

    Examples
    --------
    >>> number(0.123456), number(1e10), number(float("nan")), number(3.0)
    ('0.1235', '1e+10', '–', '3')
    """
    return missing if math.isnan(value) else f"{value:.4g}"


def ruler(variable: LoopVariableRecord, step: int, width: int = 100) -> list[str]:
    r"""Return the rows of a state's buffer around a step, with the taps that read them and the row written.

    Examples
    --------
    >>> state = LoopVariableRecord("mitsot", "h", reads=(-1, -3), writes=(0,))
    >>> print("\n".join(ruler(state, 4)))
      h  row   3     4      5     6        7    8
               ·  read t-3  ·  read t-1  write  ·
    """
    taps = [*variable.reads, *variable.writes]
    if not taps:
        return []
    offset = max(0, -min(taps))
    here = offset + step
    rows = sorted({here + tap + beside for tap in taps for beside in (-1, 0, 1) if here + tap + beside >= 0})
    cells = []
    for before, row in zip([rows[0] - 1, *rows], rows, strict=False):
        if row > before + 1:
            cells.append(("…", "…"))
        tap = row - here
        marks = [f"read {_tap(tap)}"] if tap in variable.reads else []
        if tap in variable.writes:
            marks.append(
                "write" if tap == 0 and not marks else f"write {_tap(tap)}" if not marks else "write"
            )
        cells.append((str(row), ", ".join(marks) or "·"))
    name = f"  {sanitize(variable.name)}  row"
    widths = [max(map(len, cell)) for cell in cells]
    above = "  ".join(text.center(size) for (text, _), size in zip(cells, widths, strict=True))
    below = "  ".join(mark.center(size) for (_, mark), size in zip(cells, widths, strict=True))
    lines = [f"{name}   {above}", f"{' ' * len(name)}   {below}"]
    return [clipped(line.rstrip(), width) for line in lines]


def _tap(tap: int) -> str:
    return "t" if tap == 0 else f"t{tap:+d}"
