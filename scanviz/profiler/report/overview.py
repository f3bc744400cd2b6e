"""The full report: a record as tables of text.

It reads the record and nothing else.  Lines carry a style; colour is added only where wanted, and text from scripts is
made harmless first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from scanviz.profiler.report.gradients import gradient_lines
from scanviz.profiler.report.loops import function_lines, loop_lines, other_loop_lines
from scanviz.profiler.report.roofline import roofline_lines
from scanviz.profiler.report.run_tables import by_line_lines, gone_lines, outside_lines, whole_lines
from scanviz.profiler.report.summary import footnotes, render_summary
from scanviz.profiler.report.text import (
    HEADING,
    HOT,
    NARROWEST,
    QUIET,
    WARNING,
    ReportLine,
    rendered,
    table_lines,
    wants_color,
    width_of,
    wrapped,
)
from scanviz.profiler.report.units import amount, counted, duration
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.record.names import loop_titles, loops_called, not_one_loop
from scanviz.record.plain_text import write_text
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of, run_time_ns
from scanviz.record.summary.verdict import VerdictSentence, verdict

# The profiles that one was merged from, as a table of the report.


def origin_lines(record: ProfileRecord, width: int, top: int) -> list[ReportLine]:
    """Return the profiles that a record was merged from, longest first; empty without a merge.

    Examples
    --------
    >>> origin_lines(ProfileRecord(), 80, 8)
    []
    """
    if not record.origins:
        return []
    rows = [["  merged from", "time", "calls", ""]]
    origins = sorted(record.origins, key=lambda origin: -origin.wall_ns)[:top]
    for origin in origins:
        calls = sum(function.calls for function in record.functions if function.origin == origin.name)
        ended = origin.outcome.in_short
        rows.append([f"  {origin.name}", duration(origin.wall_ns), amount(calls), ended])
    scripts = [" ".join([origin.script, *origin.arguments]) for origin in origins]
    all_well = not any(row[3] for row in rows)
    shown = [row[:3] if all_well else row for row in rows]
    lines = [ReportLine(""), *table_lines(shown, 1, width, ["script", *scripts])]
    more = len(record.origins) - top
    if more > 0:
        lines.append(ReportLine(f"  and {more} more (--top {len(record.origins)} shows them)", QUIET))
    return lines


UNPLANNED = "reference"  # the tier whose functions have no plans
USUAL_TOP = 8
_WORTH = 0.05  # of the loops' time: a loop below gets no part of its own


def render_report(
    record: ProfileRecord,
    *,
    width: int = 100,
    top: int = USUAL_TOP,
    scan_name: str | None = None,
    color: bool = False,
    to_try: VerdictSentence | None = None,
) -> str:
    """Return the full report as text: the findings, then tables of all parts of the run.

    Parameters
    ----------
    record : ProfileRecord
        The profile to show.
    width : int
        Columns; less than 40 counts as 40.
    top : int
        Rows of each table.
    scan_name : str, optional
        Show this loop alone, in full; a name that is not there gives the nearest ones.
    color : bool
        Whether to add terminal colours.
    to_try : VerdictSentence, optional
        A sentence that the verdict ends with.

    Returns
    -------
    str
        Lines that end in a newline, none wider than ``width``.

    Examples
    --------
    >>> from scanviz.record.values import OutcomeRecord
    >>> print(render_report(ProfileRecord(script="rnn.py", wall_ns=1_500_000, outcome=OutcomeRecord("ok"))), end="")
    rnn.py · 1.50 ms
    No scanviz function was called: scanviz records what scanviz.function compiles.
    <BLANKLINE>
    where the time goes: 1.50 ms
      your own code                 1.50 ms  100 %
      unattributed                        0    0 %
      profiler overhead (excluded)        0      –
    """
    width, top = max(NARROWEST, width), max(1, top)
    lines = [*_header(record), *_body(record, width, top, scan_name, to_try), *_footer(record)]
    return rendered(lines, width, color)


def print_report(
    record: ProfileRecord,
    file: TextIO,
    *,
    top: int | None = None,
    scan_name: str | None = None,
    width: int | None = None,
    to_try: VerdictSentence | None = None,
    more: Sequence[str] = (),
) -> None:
    """Print the answer in at most twenty lines, or all tables with ``top`` rows each, as wide as the terminal.

    It is coloured only on a terminal that wants it.  A pipe or file gets 100 columns (or ``COLUMNS``) and no colours; so does a
    terminal with ``NO_COLOR`` or ``TERM=dumb``.  Signs that the file's encoding lacks are replaced by similar ones.
    """
    columns = width if width is not None else width_of(file)
    color = wants_color(file)
    if top is not None or scan_name is not None:
        rows = top or USUAL_TOP
        text = render_report(record, width=columns, top=rows, scan_name=scan_name, color=color, to_try=to_try)
        text += "".join(f"{line}\n" for line in more)
    else:
        text = render_summary(record, width=columns, color=color, to_try=to_try, more=more)
    write_text(text, file, colours=color)


def _header(record: ProfileRecord) -> list[ReportLine]:
    called = " ".join([record.script, *record.arguments]).strip() or "profile"
    parts = [called, duration(run_time_ns(parts_of(record)))]
    parts.append(record.outcome.in_short)
    calls = sum(function.calls for function in record.functions)
    if record.functions:
        parts.append(f"{counted(calls, 'call')} of {counted(len(record.functions), 'function')}")
    parts.append(", ".join(sorted({function.backend for function in record.functions})))
    lines = [wrapped(" · ".join(part for part in parts if part), HEADING)]
    if record.outcome.message and record.outcome.status != "ok":
        lines.append(wrapped(record.outcome.message.split("\n")[0], WARNING))
    return lines


def _body(
    record: ProfileRecord, width: int, top: int, scan_name: str | None, to_try: VerdictSentence | None
) -> list[ReportLine]:
    if scan_name is not None:
        problem = not_one_loop(record, scan_name)
        if not problem:
            return _one_scan(record, width, top, scan_name)
        return [*_body(record, width, top, None, to_try), wrapped(problem, WARNING)]
    called = sorted(
        (function for function in record.functions if function.calls or function.running),
        key=lambda function: -function.total_ns,
    )
    parts = parts_of(record)
    lines = [wrapped(sentence.text) for sentence in verdict(record, parts)]
    lines += [wrapped(to_try.text, HOT)] if to_try is not None else []
    lines += [*whole_lines(record, parts), *origin_lines(record, width, top)]
    times = OperationTimes(parts)
    for function in called[:top]:
        lines.extend(function_lines(record, function, parts, times, width, top))
    if len(called) > top:
        rest = sum(function.total_ns for function in called[top:])
        text = f"{counted(len(called) - top, 'more function')}, {duration(rest)} (--top {len(called)} shows them)"
        lines.append(wrapped(text, QUIET))
    return [
        *lines,
        *gone_lines(record, parts),
        *gradient_lines(record, width, top),
        *outside_lines(record, parts, width, top),
        *by_line_lines(parts, width, top),
        *_hottest(record, times, width, top),
        *roofline_lines(record, width, top),
    ]


def _hottest(record: ProfileRecord, times: OperationTimes, width: int, top: int) -> list[ReportLine]:
    """Return the two slowest loops with their operations; more if more rows are requested."""
    own, titles = {loop.key: own_ns(record, loop) for loop in record.loops}, loop_titles(record)
    whole = sum(own.values())
    loops = sorted((loop for loop in record.loops if loop.runs), key=lambda loop: -own[loop.key])
    shown = loops[: 2 if top <= USUAL_TOP else top]
    shown = [loop for k, loop in enumerate(shown) if k == 0 or own[loop.key] >= _WORTH * whole]
    lines: list[ReportLine] = []
    for k, loop in enumerate(shown):
        lines.append(ReportLine(""))
        lines.extend(loop_lines(loop, titles[loop.key], times, width, top if k == 0 else max(3, top // 2)))
    keys = {loop.key for loop in shown}
    others = [(titles[loop.key], loop) for loop in loops if loop.key not in keys]
    return [*lines, *other_loop_lines(others, times, width, top)]


def own_ns(record: ProfileRecord, loop: LoopRecord) -> int:
    """Return the time of a loop without the loops inside it."""
    inside = sum(inner.total_ns for inner in record.loops if inner.parent == loop.key)
    return max(0, loop.total_ns - inside)


def _one_scan(record: ProfileRecord, width: int, top: int, name: str) -> list[ReportLine]:
    (loop,) = loops_called(record, name)
    title, times = loop_titles(record)[loop.key], OperationTimes(parts_of(record))
    return [ReportLine(""), *loop_lines(loop, title, times, width, max(top, 30), whole=True)]


def _footer(record: ProfileRecord) -> list[ReportLine]:
    if not record.functions:
        return []
    notes = footnotes(record)
    if record.detail == "ops":
        notes.append("every operation of every step was timed: loops ran slower than alone")
    if record.detail == "values":
        notes.append("scanviz report FILE --values shows them")
    unplanned = sum(function.calls > 0 and function.backend == UNPLANNED for function in record.functions)
    if unplanned:
        notes.append(
            f"{counted(unplanned, 'function')} ran on the {UNPLANNED} tier, which makes no plan of shapes and memory:"
            " operations there have no bytes, rates or limits, and calls no peak memory"
        )
    return [wrapped(note, QUIET) for note in notes]
