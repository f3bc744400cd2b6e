"""The report: a record as one screen of text.

It reads the record and nothing else.  Lines carry a style; colour is added only where wanted, and text from scripts is
made harmless first.
"""

from __future__ import annotations

import difflib
import os
import shutil
from typing import TextIO

from scanviz.profiler.report_loops import function_lines, loop_lines
from scanviz.profiler.report_text import HEADING, QUIET, WARNING, Line, styled
from scanviz.profiler.units import duration, plain, share
from scanviz.record.model import LoopRecord, ProfileRecord


def render_report(
    record: ProfileRecord,
    *,
    width: int = 100,
    top: int = 8,
    scan_name: str | None = None,
    color: bool = False,
) -> str:
    """Return the report as text.

    Parameters
    ----------
    record : ProfileRecord
        What to show.
    width : int
        Columns, at least 40.
    top : int
        Rows of each table.
    scan_name : str, optional
        Show this loop alone; a name that is not there gives the nearest ones.
    color : bool
        Whether to add terminal colours.

    Returns
    -------
    str
        Lines that end in a newline.
    """
    width = max(40, width)
    lines = [*_header(record), *_body(record, width, top, scan_name), *_footer(record)]
    return "".join(styled(line, width, color) + "\n" for line in lines)


def _header(record: ProfileRecord) -> list[Line]:
    calls = sum(each.calls for each in record.functions)
    called = " ".join([record.script, *record.arguments]) or "profile"
    ended = {"ok": "", "running": " · still running"}.get(
        record.outcome.status, f" · {record.outcome.status}"
    )
    tiers = ", ".join(sorted({each.backend for each in record.functions}))
    text = f"{plain(called)} · {duration(record.wall_ns)}{ended} · {calls} calls of {len(record.functions)} functions"
    lines = [Line(f"{text} · {tiers}" if tiers else text, HEADING)]
    if record.outcome.message:
        lines.append(Line(plain(record.outcome.message.splitlines()[0]), WARNING))
    return lines


def _body(record: ProfileRecord, width: int, top: int, scan_name: str | None) -> list[Line]:
    if scan_name is not None:
        return _one_scan(record, width, top, scan_name)
    called = sorted((each for each in record.functions if each.calls), key=lambda each: -each.total_ns)
    lines: list[Line] = []
    for function in called[:top]:
        lines.extend(function_lines(record, function, width, top))
    if len(called) > top:
        rest = sum(each.total_ns for each in called[top:])
        lines.append(
            Line(
                f"{len(called) - top} more functions, {duration(rest)} (--top {len(called)} shows them)",
                QUIET,
            )
        )
    hottest = sorted((each for each in record.loops if each.runs), key=lambda each: -own_ns(record, each))
    room = 2 if top <= 8 else top
    for loop in hottest[:room]:
        lines.append(Line(""))
        lines.extend(loop_lines(record, loop, width, top))
    if len(hottest) > room:
        names = ", ".join(plain(each.name) for each in hottest[room : room + 4])
        lines.append(
            Line(
                f"details of other loops: --scan NAME ({names}{', …' if len(hottest) > room + 4 else ''})",
                QUIET,
            )
        )
    if not called:
        lines.append(Line("no scanviz function was called", WARNING))
    return lines


def own_ns(record: ProfileRecord, loop: LoopRecord) -> int:
    """Return a loop's time less that of the loops inside it."""
    inside = sum(each.total_ns for each in record.loops if each.parent == loop.key)
    return max(0, loop.total_ns - inside)


def _one_scan(record: ProfileRecord, width: int, top: int, name: str) -> list[Line]:
    found = [each for each in record.loops if each.name == name]
    if not found:
        names = sorted({each.name for each in record.loops})
        close = difflib.get_close_matches(name, names, 3) or names[:6]
        return [
            Line(
                f"no loop is named {plain(name)!r}; there are: {', '.join(map(plain, close)) or 'none'}",
                WARNING,
            )
        ]
    lines: list[Line] = []
    for each in found:
        lines.extend(loop_lines(record, each, width, max(top, 30), whole=True))
        lines.append(Line(""))
    return lines[:-1]


def _footer(record: ProfileRecord) -> list[Line]:
    lines: list[Line] = []
    built = sum(sum(each.build_ns.values()) for each in record.functions)
    made = sum(each.total_ns for loop in record.loops for each in loop.tiers)
    cost = record.cost
    parts = [f"building functions {duration(built)}", f"making loop code {duration(made)}"]
    parts.append(f"recording cost about {duration(cost.total_ns)} ({share(cost.total_ns, record.wall_ns)})")
    lines.append(Line(""))
    lines.append(Line(" · ".join(parts), QUIET))
    if record.detail == "ops":
        lines.append(
            Line("every operation of every step was timed: loops ran slower than they do alone", QUIET)
        )
    if record.left_out:
        lines.append(Line(f"{record.left_out} loops beyond the size limit kept totals alone", QUIET))
    return lines


def print_report(
    record: ProfileRecord,
    file: TextIO,
    *,
    top: int = 8,
    scan_name: str | None = None,
    width: int | None = None,
) -> None:
    """Print the report as wide as the terminal, coloured only on one that wants it."""
    tty = hasattr(file, "isatty") and file.isatty()
    columns = width or (shutil.get_terminal_size((100, 40)).columns if tty else 100)
    color = tty and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    text = render_report(record, width=columns, top=top, scan_name=scan_name, color=color)
    encoding = getattr(file, "encoding", None) or "utf-8"
    file.write(text.encode(encoding, "replace").decode(encoding))


__all__ = ["print_report", "render_report"]
