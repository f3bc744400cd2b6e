"""The profiles that one was merged from, as a table of the report."""

from __future__ import annotations

from scanviz.profiler.report.text import QUIET, ReportLine, table
from scanviz.profiler.report.units import duration
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
    rows = [["  merged from", "time", "calls", "", "script"]]
    for origin in sorted(record.origins, key=lambda origin: -origin.wall_ns)[:top]:
        calls = sum(function.calls for function in record.functions if function.origin == origin.name)
        ended = sanitize(origin.outcome.in_short)
        script = " ".join([origin.script, *origin.arguments])
        rows.append(
            [f"  {sanitize(origin.name)}", duration(origin.wall_ns), f"{calls:,}", ended, sanitize(script)]
        )
    heading, *others = table(rows, 1, width)
    lines = [ReportLine(""), ReportLine(heading, QUIET), *map(ReportLine, others)]
    more = len(record.origins) - top
    if more > 0:
        lines.append(ReportLine(f"  and {more} more (--top {len(record.origins)} shows them)", QUIET))
    return lines


__all__ = ["origin_lines"]
