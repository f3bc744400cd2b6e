"""The profiles that one was merged from, as a table of the report."""

from __future__ import annotations

from scanviz.profiler.report.text import QUIET, ReportLine, columns, table
from scanviz.profiler.report.units import amount, duration
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize


def origin_lines(record: ProfileRecord, width: int, top: int) -> list[ReportLine]:
    """Return the profiles that a record was merged from, longest first; nothing where it was not merged.

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
        ended = sanitize(origin.outcome.in_short)
        rows.append([f"  {sanitize(origin.name)}", duration(origin.wall_ns), amount(calls), ended])
    scripts = [sanitize(" ".join([origin.script, *origin.arguments])) for origin in origins]
    all_well = not any(row[3] for row in rows)
    heading, *others = table([row[:3] if all_well else row for row in rows], 1, width)
    wide = columns(heading) if all_well else max(map(columns, others))
    lines = [ReportLine(""), ReportLine(f"{heading:<{wide}}  script", QUIET)]
    lines += [ReportLine(f"{text:<{wide}}  {script}") for text, script in zip(others, scripts, strict=True)]
    more = len(record.origins) - top
    if more > 0:
        lines.append(ReportLine(f"  and {more} more (--top {len(record.origins)} shows them)", QUIET))
    return lines


__all__ = ["origin_lines"]
