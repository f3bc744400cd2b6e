"""Render advice as text, and as data for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from scanviz.profiler.advice.item import Advice
from scanviz.profiler.report.text import HEADING, QUIET, TITLE, WARNING, ReportLine, clipped, styled
from scanviz.profiler.report.units import duration, share, size
from scanviz.record.model import ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import RunPart, parts_of
from scanviz.record.summary.verdict import VerdictSentence

# The largest part of a run, in words: shown if no advice promises a gain.

_KINDS = {
    "script": "is the script's own time: imports, its Python, and waiting",
    "building": "is building graphs and functions",
    "function": "is in calls of `{function}`, outside of what was timed there",
    "checks": "is checking arguments of `{function}`",
    "copies": "is copying results of `{function}`",
    "entry": "is calling `{function}`, around its operations",
    "loop": "is in loop `{loop}`, outside of what was timed there",
    "steps": "is the steps of loop `{loop}`, which were not timed one by one",
    "rows": "is storing rows of loop `{loop}`",
    "round": "is going round loop `{loop}` and taking slices",
    "around": "is starting and ending loop `{loop}`",
    "code": "is making code for loop `{loop}`",
    "recording": "is the recording itself",
}


def dominant(record: ProfileRecord) -> list[RunPart]:
    """Return the largest part of a run; if it is outside of functions, also the largest one inside."""
    parts = [part for part in parts_of(record) if part.kind != "run" and part.own_ns > 0]
    parts.sort(key=lambda part: -part.own_ns)
    inside = [part for part in parts if part.function is not None]
    return parts[:1] if parts[:1] == inside[:1] else [*parts[:1], *inside[:1]]


def in_words(record: ProfileRecord, part: RunPart) -> str:
    """Return the share, description and line of a part of a run.

    Examples
    --------
    >>> from scanviz.record.run_times import ThreadTimesRecord
    >>> record = ProfileRecord(script="rnn.py", wall_ns=2_000_000, threads=ThreadTimesRecord())
    >>> in_words(record, *dominant(record))
    "100 % of the run is the script's own time: imports, its Python, and waiting"
    """
    whole = parts_of(record)[0].total_ns
    function = next((function.name for function in record.functions if function.key == part.function), "")
    loop = loop_titles(record).get(part.loop, "") if part.loop is not None else ""
    if part.kind == "operation":
        where = f"loop `{loop}`" if loop else f"`{function}`, outside of loops"
        what = f"is `{part.label}` in {where}"
    else:
        what = _KINDS.get(part.kind, f"is {part.label}").format(function=function, loop=loop)
    line = f" ({part.source})" if part.source is not None else ""
    return f"{share(part.own_ns, whole)} of the run {what}{line}"


_NARROWEST = 40


def render_advice(
    record: ProfileRecord, advice: Sequence[Advice], *, width: int = 80, color: bool = False
) -> str:
    """Return advice as text.

    Parameters
    ----------
    record : ProfileRecord
        The run that it is about.
    advice : sequence of Advice
        What :func:`scanviz.profiler.advice.advice_of` found.
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
    nothing to advise: no change would surely better what takes the time
    100 % of the run is the script's own time: imports, its Python, and waiting
    """
    width = max(_NARROWEST, width)
    lines = [*_header(record), *_body(record, advice, width)]
    return "".join(styled(line, width, color) + "\n" for line in lines)


def _header(record: ProfileRecord) -> list[ReportLine]:
    called = sanitize(" ".join([record.script, *record.arguments]).strip() or "profile")
    lines = [ReportLine(f"{called} · {duration(record.wall_ns)}", HEADING, wraps=True)]
    if record.outcome.status not in ("ok", "exit", "running"):
        lines.append(
            ReportLine(
                f"the run ended early ({record.outcome.status}): only its part is known", WARNING, wraps=True
            )
        )
    return lines


def _body(record: ProfileRecord, advice: Sequence[Advice], width: int) -> list[ReportLine]:
    lines = []
    if not any(item.gain_ns or item.most_ns or item.gain_bytes for item in advice):
        faster = "to make it faster" if advice else "to advise"
        lines.append(
            ReportLine(f"nothing {faster}: no change would surely better what takes the time", wraps=True)
        )
        lines += _dominant(record)
    for number, item in enumerate(advice, 1):
        lines.append(ReportLine(""))
        lines.append(ReportLine(f"{number}. {sanitize(item.title)}{_gain(record, item)}", TITLE, wraps=True))
        if item.source is not None:
            where = f"   {sanitize(str(item.source))}"
            lines.append(ReportLine(clipped(f"{where}  {sanitize(item.source.text)}".rstrip(), width), QUIET))
        lines.append(ReportLine(f"   {sanitize(item.evidence)}", wraps=True))
        lines.append(ReportLine(f"   {sanitize(item.text)}", wraps=True))
    if sum(item.gain_ns is not None for item in advice) > 1:
        note = "Gains are estimates from this record; those about the same loop don't add up."
        lines += [ReportLine(""), ReportLine(note, QUIET, wraps=True)]
    return lines


def _dominant(record: ProfileRecord) -> list[ReportLine]:
    return [ReportLine(sanitize(in_words(record, part)), wraps=True) for part in dominant(record)]


def _gain(record: ProfileRecord, advice: Advice) -> str:
    time = advice.gain_ns if advice.gain_ns is not None else advice.most_ns
    parts = [] if time is None else [f"{duration(time)} ({share(time, record.wall_ns)} of the run)"]
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
        "dominant": [{**to_builtins(part), "text": in_words(record, part)} for part in dominant(record)],
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
        What it gives rise to, where that is known already.

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
    if best is None or gain_ns < WORTH * record.wall_ns:
        return None
    place = f" ({best.source})" if best.source is not None else ""
    gain = share(gain_ns, record.wall_ns)
    text = sanitize(f"To try: {best.title}{place}, about {gain} of the time; scanviz advise tells more.")
    return VerdictSentence("try", text, source=best.source)
