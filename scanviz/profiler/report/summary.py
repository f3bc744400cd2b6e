"""The default report: the answer in at most twenty lines, the slowest line of the script first."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.profiler.report.text import (
    HEADING,
    HOT,
    NARROWEST,
    QUIET,
    WARNING,
    ReportLine,
    clipped,
    styled,
    table_lines,
    wrapped,
)
from scanviz.profiler.report.units import counted, duration, share
from scanviz.profiler.report.values import TWICE
from scanviz.record.model import ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.plain_text import sanitize
from scanviz.record.processor import beyond_the_clock, off_cpu
from scanviz.record.summary.run_breakdown import RunPart, overhead_ns, parts_of, run_time_ns
from scanviz.record.summary.totals import totals
from scanviz.record.summary.verdict import VerdictSentence, slow_lines, verdict

MOST_LINES = 20
MOST_ROWS = 5  # of the table of slow lines
LONGEST_CALL = 160  # columns of the script and its arguments
LONGEST_ERROR = 240  # columns of the error that ended the script; its traceback has all of it
LEADS = {"why": "Why: ", "unusual": "Unusual: "}
STYLES = {"try": HOT, "unusual": WARNING}
LEAST = 0.01  # of run time: a smaller part is not named in the first line


def render_summary(
    record: ProfileRecord,
    *,
    width: int = 100,
    color: bool = False,
    to_try: VerdictSentence | None = None,
    more: Sequence[str] = (),
) -> str:
    """Return the answer of a profile in at most twenty lines, where the terminal is no narrower than 80 columns.

    Parameters
    ----------
    record : ProfileRecord
        The profile to show.
    width : int
        Columns; less than 40 counts as 40.
    color : bool
        Whether to add terminal colours.
    to_try : VerdictSentence, optional
        Advice with a certain gain, from :func:`scanviz.profiler.advice.report.to_try`.
    more : sequence of str
        Last lines: where the profile is, and the commands that show more.

    Returns
    -------
    str
        Lines that end in a newline, none wider than ``width``.

    Examples
    --------
    >>> from scanviz.record.values import OutcomeRecord
    >>> print(render_summary(ProfileRecord(script="rnn.py", wall_ns=1_500_000, outcome=OutcomeRecord("ok"))), end="")
    rnn.py took 1.50 ms.
    No scanviz function was called: scanviz records what scanviz.function compiles.
    """
    width = max(NARROWEST, width)
    parts = parts_of(record)
    sentences = list(verdict(record, parts))
    if to_try is not None:  # before what can wait
        place = max((k + 1 for k, known in enumerate(sentences) if known.topic in ("time", "why")), default=0)
        sentences.insert(place, to_try)
    head = [_head(record, parts), *_ended(record)]
    split = max((k + 1 for k, sentence in enumerate(sentences) if sentence.topic == "time"), default=0)
    head += [_line(sentence) for sentence in sentences[:split]]
    others = [_line(sentence) for sentence in sentences[split:]]
    tail = [*_footnotes(record, parts), *(wrapped(text, QUIET) for text in more)]

    def shown(lines: Sequence[ReportLine]) -> list[str]:
        return [row for line in lines for row in styled(line, width, color).split("\n")]

    first, last = shown(head), shown(tail)
    found: list[str] = []
    for line in others:  # those that come first have room first
        rows = shown([line])
        if len(first) + len(found) + len(rows) + len(last) <= MOST_LINES:
            found += rows
    room = MOST_LINES - len(first) - len(found) - len(last)
    lines = shown(_line_table(record, parts, width, min(MOST_ROWS, room - 1)))
    return "".join(row + "\n" for row in (*first, *lines, *found, *last))


def _line(sentence: VerdictSentence) -> ReportLine:
    return wrapped(LEADS.get(sentence.topic, "") + sentence.text, STYLES.get(sentence.topic, ""))


def _head(record: ProfileRecord, parts: Sequence[RunPart]) -> ReportLine:
    """Return the run time, its parts, and how the script ended."""
    whole = run_time_ns(parts)
    called = clipped(
        sanitize(" ".join([record.script, *record.arguments]).strip() or "The profile"), LONGEST_CALL
    )
    text = f"{called} took {duration(whole or record.wall_ns)}"
    ended = record.outcome.in_short
    text += f", {ended}" if ended else ""
    rows = [row for row in totals(parts) if row.total_ns >= LEAST * whole > 0]
    if rows and (record.functions or record.building):
        text += ": " + ", ".join(f"{row.title} {share(row.total_ns, whole)}" for row in rows)
    return wrapped(f"{text}.", HEADING)


def _ended(record: ProfileRecord) -> list[ReportLine]:
    """Return the error that ended the script."""
    if record.outcome.status == "ok" or not record.outcome.message:
        return []
    message = clipped(sanitize(record.outcome.message.split("\n")[0]), LONGEST_ERROR)
    return [wrapped(message, WARNING)]


def _line_table(record: ProfileRecord, parts: Sequence[RunPart], width: int, most: int) -> list[ReportLine]:
    """Return the slowest lines of the script with their share of run time, their time per step and their loop."""
    found, whole = slow_lines(parts), run_time_ns(parts)
    if not found or most < 1:
        return []
    titles, loops = loop_titles(record), {loop.key: loop for loop in record.loops}
    rows = [["  line", "loop", "share", "time", "per step"]]
    for line in found[:most]:
        key = line.loop
        loop = loops.get(key) if key is not None else None
        step = duration(line.spent_in(key) / loop.steps) if loop is not None and loop.steps else "–"
        name = titles[loop.key] if loop is not None else "–"
        cells = [clipped(name, 20), share(line.total_ns, whole), duration(line.total_ns), step]
        rows.append([f"  {line.source}", *cells])
    return table_lines(rows, 2, width, ["", *(line.source.text for line in found[:most])])


def _footnotes(record: ProfileRecord, parts: Sequence[RunPart]) -> list[ReportLine]:
    """Return the limits of the figures as one paragraph."""
    spent, notes = overhead_ns(parts), footnotes(record)
    if record.origins:
        notes.append(f"merged from {counted(len(record.origins), 'profile')}")
    if spent:
        notes.insert(0, f"profiler overhead of {duration(spent)} is in none of these figures")
    text = "; ".join(notes)
    return [wrapped(f"{text[0].upper()}{text[1:]}.", QUIET)] if notes else []


def footnotes(record: ProfileRecord) -> list[str]:
    """Return the limits of the figures of every report: a busy machine, threads, a second computation, the size limit."""
    busy = off_cpu(record)
    left_out = counted(record.left_out, "function or loop")
    notes = [
        f"the run was {busy}: wall time overstates the work" if busy else "",
        beyond_the_clock(record),
        TWICE if record.detail == "values" else "",
        f"{left_out} beyond the size limit: only totals" if record.left_out else "",
    ]
    return [note for note in notes if note]
