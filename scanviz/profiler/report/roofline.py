"""The part of the report on the machine's limits: how far the operations that take most are from them."""

from __future__ import annotations

from scanviz.profiler.report.text import HOT, QUIET, TITLE, ReportLine, clipped, table
from scanviz.profiler.report.units import duration, quantity, share
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.roofline import Bounded, bounded

_WORTH = 0.01  # of the time of all of them


def roofline_lines(record: ProfileRecord, width: int, top: int) -> list[ReportLine]:
    """Return the operations that take most with the least time that each needs on the machine; nothing where that is not known."""
    found = bounded(record)
    whole = sum(each.total_ns for each in found)
    found = [each for each in found if each.total_ns >= _WORTH * whole][:top]
    if not found:
        return []
    rows = [
        ["  operation", "in", "takes", "at least", "reaches", "bound by"],
        *(_row(each, width) for each in found),
    ]
    heading, *others = table(rows, 2, width)
    return [
        ReportLine(""),
        ReportLine(f"limits of the machine, measured after the run: {_limits(record)}", TITLE, wraps=True),
        ReportLine(heading, QUIET),
        *(ReportLine(text, HOT if k == 0 and len(others) > 1 else "") for k, text in enumerate(others)),
    ]


def _row(each: Bounded, width: int) -> list[str]:
    where = "–" if each.loop is None else sanitize(each.loop.name)
    bound, operation = each.bound, each.operation
    times = [duration(operation.typical_ns), duration(bound.least_ns)]
    name = clipped(f"  {sanitize(operation.label)}", max(16, width // 2 - 14))
    return [name, clipped(where, 20), *times, share(bound.reached, 1.0), bound.kind]


def _limits(record: ProfileRecord) -> str:
    known = (
        ("memory", "large_copy_bytes_per_s"),
        ("small arrays", "small_copy_bytes_per_s"),
        ("products", "product_flops_per_s"),
        ("elements", "element_flops_per_s"),
    )
    numbers = record.measures
    listed = [
        f"{words} {quantity(numbers[name], 'bytes/s' if 'bytes' in name else 'flops/s')}"
        for words, name in known
        if name in numbers
    ]
    call = [f"a call {duration(numbers['numpy_call_ns'])}"] if "numpy_call_ns" in numbers else []
    return ", ".join([*listed, *call])


__all__ = ["roofline_lines"]
