"""Roofline table: how near the most expensive operations are to the machine's limits."""

from __future__ import annotations

from scanviz.profiler.report.text import QUIET, TITLE, ReportLine, clipped, table_lines, wrapped
from scanviz.profiler.report.units import duration, quantity, share
from scanviz.record.model import ProfileRecord
from scanviz.record.summary.roofline import Bounded, known_limits, worth_showing

BEYOND = "  more than 100 %: the limit of memory is that of copying, and reading alone is faster"


def roofline_lines(record: ProfileRecord, width: int, top: int) -> list[ReportLine]:
    """Return the most expensive operations with their lower bounds on this machine; empty if limits were not measured."""
    found = worth_showing(record)[:top]
    if not found:
        return []
    rows = [
        ["  operation", "in", "takes", "at least", "reaches", "bound by"],
        *(_row(bounded, width) for bounded in found),
    ]
    return [
        ReportLine(""),
        wrapped(f"limits of the machine, measured after the run: {limits_in_words(record)}", TITLE),
        *table_lines(rows, 2, width, hot=len(found) > 1),
        *([wrapped(BEYOND, QUIET)] if any(placed.bound.reached > 1 for placed in found) else []),
    ]


def _row(bounded: Bounded, width: int) -> list[str]:
    where = "–" if bounded.loop is None else bounded.loop.name
    bound, operation = bounded.bound, bounded.operation
    times = [duration(operation.typical_ns), duration(bound.least_ns)]
    name = clipped(f"  {operation.label}", max(16, width // 2 - 14))
    return [name, clipped(where, 20), *times, share(bound.reached, 1.0), bound.kind]


def limits_in_words(record: ProfileRecord) -> str:
    """Return the machine's limits in words; empty if they were not measured.

    Examples
    --------
    >>> limits_in_words(ProfileRecord(measures={"large_copy_bytes_per_s": 9e9, "numpy_call_ns": 400.0}))
    'memory 9.00 GB/s, a call 400 ns'
    """
    return ", ".join(
        f"{measure.title} {quantity(value, measure.unit)}" for measure, value in known_limits(record)
    )
