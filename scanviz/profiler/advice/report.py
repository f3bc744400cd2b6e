"""Render advice as text, and as data for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import to_builtins

from scanviz.profiler.advice.figures import whole_ns
from scanviz.profiler.advice.item import Advice
from scanviz.profiler.report.text import (
    HEADING,
    NARROWEST,
    QUIET,
    TITLE,
    WARNING,
    ReportLine,
    rendered,
    wrapped,
)
from scanviz.profiler.report.units import duration, share, size
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import parts_of, run_time_ns
from scanviz.record.summary.totals import totals
from scanviz.record.summary.verdict import VerdictSentence, verdict


def largest(record: ProfileRecord) -> list[VerdictSentence]:
    """Return the most expensive part of the run and its slowest line, shown if no advice promises a gain.

    Examples
    --------
    >>> from scanviz.record.model import ThreadTimesRecord
    >>> record = ProfileRecord(script="rnn.py", wall_ns=2_000_000, threads=ThreadTimesRecord())
    >>> [sentence.text for sentence in largest(record)]
    ['Most of the run is your own code: 100 %.']
    """
    parts = parts_of(record)
    whole, found = run_time_ns(parts), totals(parts)
    most = max(found, key=lambda total: total.total_ns, default=None)
    if most is None or not whole:
        return []
    text = f"Most of the run is {most.title}: {share(most.total_ns, whole)}."
    slowest = [one for one in verdict(record, parts) if one.topic == "time" and one.source is not None]
    return [VerdictSentence("time", text), *slowest]


def render_advice(
    record: ProfileRecord, advice: Sequence[Advice], *, width: int = 80, color: bool = False
) -> str:
    """Return advice as text.

    Parameters
    ----------
    record : ProfileRecord
        The run that it is about.
    advice : sequence of Advice
        Result of :func:`scanviz.profiler.advice.advice_of`.
    width : int
        Columns; less than 40 counts as 40.
    color : bool
        Whether to add terminal colours.

    Returns
    -------
    str
        Lines that end in a newline, none wider than ``width``.

    Examples
    --------
    >>> print(render_advice(ProfileRecord(script="rnn.py", wall_ns=1_500_000), []), end="")
    rnn.py · 1.50 ms
    No change is certain to help.
    Most of the run is your own code: 100 %.
    """
    lines = [*_header(record), *_body(record, advice)]
    return rendered(lines, max(NARROWEST, width), color)


def _header(record: ProfileRecord) -> Iterator[ReportLine]:
    called = " ".join([record.script, *record.arguments]).strip() or "profile"
    yield wrapped(f"{called} · {duration(whole_ns(record))}", HEADING)
    if record.outcome.status not in ("ok", "exit", "running"):
        ended = f"the run ended early ({record.outcome.status}): only its part is known"
        yield wrapped(ended, WARNING)


def _body(record: ProfileRecord, advice: Sequence[Advice]) -> Iterator[ReportLine]:
    if not any(item.gain_ns or item.most_ns or item.gain_bytes for item in advice):
        yield wrapped("No change is certain to help.")
        yield from (wrapped(sentence.text) for sentence in largest(record))
    for number, item in enumerate(advice, 1):
        yield ReportLine("")
        yield wrapped(f"{number}. {item.title}{_gain(record, item)}", TITLE)
        if item.source is not None:
            yield ReportLine(f"   {item.source}  {item.source.text}", QUIET)
        yield wrapped(f"   {item.evidence}")
        yield wrapped(f"   {item.text}")
    if sum(item.gain_ns is not None for item in advice) > 1:
        note = "Gains are estimates from this record; those about the same loop don't add up."
        yield from (ReportLine(""), wrapped(note, QUIET))


def _gain(record: ProfileRecord, advice: Advice) -> str:
    time = advice.gain_ns if advice.gain_ns is not None else advice.most_ns
    parts = [] if time is None else [f"{duration(time)} ({share(time, whole_ns(record))} of the run)"]
    if advice.gain_bytes is not None:
        parts.append(size(advice.gain_bytes))
    about = "at most" if advice.gain_ns is None and advice.most_ns is not None else "about"
    return f": {about} {' and '.join(parts)}" if parts else ""


def advice_json(record: ProfileRecord, advice: Sequence[Advice]) -> dict[str, Any]:
    """Return advice as plain JSON data.

    Examples
    --------
    >>> advice_json(ProfileRecord(script="rnn.py"), [])
    {'script': 'rnn.py', 'wall_ns': 0, 'advice': [], 'dominant': []}
    """
    return {
        "script": record.script,
        "wall_ns": record.wall_ns,
        "advice": [to_builtins(item) for item in advice],
        "dominant": [to_builtins(sentence) for sentence in largest(record)],
    }


LONG_NS = 1_000_000_000  # runs shorter than this are not searched for advice
WORTH = 0.05  # of the run


def to_try(record: ProfileRecord, advice: Sequence[Advice] | None = None) -> VerdictSentence | None:
    """Return the advice with the largest certain gain as a sentence; None for short runs and small gains.

    Parameters
    ----------
    record : ProfileRecord
        The run.
    advice : sequence of Advice, optional
        The record's advice, if known already.

    Examples
    --------
    >>> to_try(ProfileRecord(script="rnn.py", wall_ns=1_500_000)) is None
    True
    """
    if record.wall_ns < LONG_NS:
        return None
    if advice is None:
        from scanviz.profiler.advice.rules import advice_of  # reads graphs

        advice = advice_of(record)
    sure = [(one.gain_ns, one) for one in advice if one.gain_ns is not None]
    gain_ns, best = max(sure, key=lambda pair: pair[0], default=(0.0, None))
    whole = whole_ns(record)
    if best is None or gain_ns < WORTH * whole:
        return None
    place = f" ({best.source})" if best.source is not None else ""
    gain = share(gain_ns, whole)
    text = sanitize(f"To try: {best.title}{place}, about {gain} of the time; scanviz advise tells more.")
    return VerdictSentence("try", text, source=best.source)
