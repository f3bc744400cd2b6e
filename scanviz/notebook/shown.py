"""Rich displays in notebooks: pictures, and records and loops as HTML with bars and tables, without scripts.

A notebook keeps the output of its cells, so this is small (a few kilobytes); the whole page is in ``magic``.  Everything
from the record is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from scanviz.profiler.advice.report import to_try
from scanviz.profiler.report.summary import render_summary
from scanviz.profiler.report.units import amount, duration, share
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.record.summary.totals import totals
from scanviz.record.summary.typical import typical_step
from scanviz.record.summary.verdict import verdict
from scanviz.record.values import SourceRecord
from scanviz.render.buffers import called, why_kind
from scanviz.render.draw import notebook_bundle


def bundle(what: Any) -> dict[str, str]:
    """Return the display of an object, by media type.

    Examples
    --------
    >>> sorted(bundle(ProfileRecord(script="rnn.py")))
    ['text/html', 'text/plain']
    """
    record = getattr(what, "record", what)
    if isinstance(record, ProfileRecord):
        return record_bundle(record)
    if isinstance(what, LoopRecord):
        return loop_bundle(what)
    return notebook_bundle(what)


MOST = 8  # rows of a table
_CELL = "text-align:left;padding:1px 12px 1px 0"
_BAR_WIDTH = 80  # pixels of a bar that is the whole
_GROOVE = f"display:inline-block;width:{_BAR_WIDTH}px;margin-right:0.5em;line-height:0"
_BAR = "display:inline-block;height:0.6em;background:#c2571a"


def record_bundle(record: ProfileRecord) -> dict[str, str]:
    """Return the display of a profile, by media type.

    Examples
    --------
    >>> bundle = record_bundle(ProfileRecord(script="<b>.py"))
    >>> sorted(bundle), "&lt;b&gt;.py" in bundle["text/html"]
    (['text/html', 'text/plain'], True)
    """
    parts = parts_of(record)
    times, best = OperationTimes(parts), to_try(record)
    whole = times.run_ns
    sentences = [sentence.text for sentence in (*verdict(record, parts), *filter(None, [best]))]
    loops = sorted(record.loops, key=lambda loop: -loop.total_ns)
    titles = loop_titles(record)
    blocks = [
        _heading(f"{record.script or 'profile'} · {duration(whole)}"),
        *(f"<div>{escape(sanitize(text.replace('`', '')))}</div>" for text in sentences),
        _table(
            ("where the time goes", "", ""),
            ([_bar(row.total_ns, whole), duration(row.total_ns), row.title] for row in totals(parts)),
        ),
    ]
    if loops:
        rows = (
            [
                _bar(times.whole(loop), whole),
                duration(times.whole(loop)),
                titles[loop.key],
                amount(loop.steps),
                duration(loop.median_step_ns),
                _place(loop.source),
            ]
            for loop in loops[:MOST]
        )
        blocks.append(_table(("loops", "", "", "steps", "median", "line"), rows))
    return {"text/plain": render_summary(record, to_try=best), "text/html": _within(blocks)}


def loop_bundle(loop: LoopRecord) -> dict[str, str]:
    """Return the display of a loop, by media type: its step's time, its operations, and its variables with their kinds.

    Examples
    --------
    >>> loop = LoopRecord(1, 1, None, "rnn", None, variables=(LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,)),))
    >>> "single input tap" in loop_bundle(loop)["text/html"]
    True
    """
    heading = f"{loop.name} · {amount(loop.steps)} steps · {duration(loop.total_ns)} · {_place(loop.source)}"
    typical = typical_step(loop)
    blocks = [_heading(heading), f"<div>{escape(sanitize(typical))}</div>" if typical else ""]
    timed = sorted(loop.operations, key=lambda operation: -loop.ran_ns(operation))
    timed = [operation for operation in timed if operation.samples][:MOST]
    if timed:
        whole = sum(map(loop.ran_ns, loop.operations))
        rows = (
            [
                _bar(loop.ran_ns(operation), whole),
                duration(operation.typical_ns),
                operation.label,
                _place(operation.source),
            ]
            for operation in timed
        )
        blocks.append(_table(("of the operations", "per step", "operation", "line"), rows))
    variables = ([role.kind, role.name, _taps(role), why_kind(role)] for role in loop.variables)
    blocks.append(_table(("kind", "loop variable", "reads → writes", "why"), variables))
    return {"text/plain": repr(loop), "text/html": _within(blocks)}


def _taps(variable: LoopVariableRecord) -> str:
    reads, writes = (
        ", ".join(called(variable, tap) for tap in taps) for taps in (variable.reads, variable.writes)
    )
    return f"{reads} → {writes}" if writes else reads


def _place(source: SourceRecord | None) -> str:
    return "" if source is None else str(source)


class _Bar(str):
    """A cell that contains HTML."""

    __slots__ = ()


def _bar(part: float, whole: float) -> _Bar:
    width = round(_BAR_WIDTH * min(1.0, part / whole)) if whole else 0
    bar = f'<span style="{_GROOVE}"><span style="{_BAR};width:{max(1, width)}px"></span></span>'
    return _Bar(bar + escape(share(part, whole)))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cells(tag: str, texts: Sequence[str]) -> str:
        shown = (text if isinstance(text, _Bar) else escape(sanitize(text)) for text in texts)
        return "".join(f'<{tag} style="{_CELL}">{text}</{tag}>' for text in shown)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<table style="margin:0.6em 0"><tr>{cells("th", head)}</tr>{body}</table>' if body else ""


def _heading(text: str) -> str:
    return f"<div><b>{escape(sanitize(text))}</b></div>"


def framed(page: str, height: int) -> str:
    """Return a page in a frame, in which it may run its own script and reach nothing around it.

    Examples
    --------
    >>> framed("<p>", 9).startswith('<iframe srcdoc="&lt;p&gt;" sandbox="allow-scripts"')
    True
    """
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" title="scanviz"'
        f' style="width: 100%; height: {height}px; border: 1px solid #8885; border-radius: 6px"></iframe>'
    )


def _within(blocks: Iterable[str]) -> str:
    return f'<div style="line-height:1.5">{"".join(blocks)}</div>'
