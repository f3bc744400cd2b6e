"""Slow steps of a loop: the share of the slowest hundredth, and its cause."""

from __future__ import annotations

from scanviz.profiler.report.text import HOT, ReportLine, wrapped
from scanviz.profiler.report.units import amount, counted, duration, share
from scanviz.record.loops import LoopRecord
from scanviz.record.operations import SideRecord
from scanviz.record.summary.slow_steps import (
    HEAVY,
    in_other_code,
    other_code_ns,
    slow_in_words,
    slowest_share,
)

RARE = (
    0.2  # largest share of steps of a branch that counts as rare; it is reported if it takes much of the time
)
MUCH = 0.05  # of the loop's work: times of takings are medians, so the loop's waiting time is not counted


def tail_lines(loop: LoopRecord) -> list[ReportLine]:
    """Return lines about slow steps; empty if they take little time.

    Examples
    --------
    >>> numbers = {"slowest_hundredth_ns": 4e6, "cpu_ns": 9e6}
    >>> [line.text for line in tail_lines(LoopRecord(1, 1, None, "h", None, steps=9999, total_ns=10**7, measures=numbers))]
    ['  the slowest 1 % of steps take 40 % of the time, at most 1.00 ms of it off the CPU',
     '  slow: why is not known: no branch, no period, and none of them had its operations timed']
    """
    found = []
    slow = loop.measures.get("slowest_hundredth_ns", 0.0)
    if slowest_share(loop):
        off = max(0.0, loop.total_ns - loop.measures.get("cpu_ns", loop.total_ns))
        text = f"  the slowest 1 % of steps take {share(slow, loop.total_ns)} of the time"
        found.append(
            wrapped(f"{text}, at most {duration(min(off, slow))} of it off the CPU" if off else text)
        )
    sides = [_side(loop, side) for side in rare_sides(loop)]
    if found and not sides:
        found.append(wrapped(f"  slow: {slow_in_words(loop, slow)}"))
    elif not found and other_code_ns(loop) > HEAVY * loop.total_ns:
        found.append(wrapped(f"  slow: {in_other_code(loop)}"))
    return [*found, *sides]


def rare_sides(loop: LoopRecord) -> list[SideRecord]:
    """Return rare but expensive sides of branches, the most expensive first."""
    found = [
        side
        for side in loop.sides
        if side.taken <= RARE * loop.steps and side.total_ns >= MUCH * worked_ns(loop)
    ]
    return sorted(found, key=lambda side: -side.total_ns)


def worked_ns(loop: LoopRecord) -> float:
    """Return the CPU time of a loop, or its wall time where that is unknown."""
    return min(float(loop.total_ns), loop.measures.get("cpu_ns", float(loop.total_ns)))


def _side(loop: LoopRecord, side: SideRecord) -> ReportLine:
    operations = loop.operations
    label = operations[side.operation].label if side.operation < len(operations) else "ifelse"
    when = f"once in {amount(side.every)} steps" if side.every else f"in {counted(side.taken, 'step')}"
    text = f"  slow: the {side.side} side of {label}, taken {when}"
    text += f", takes {share(side.total_ns, worked_ns(loop))} of the work ({duration(side.typical_ns)} each)"
    hottest = max(side.operations, key=lambda operation: operation.typical_ns, default=None)
    if hottest is not None and hottest.samples:
        source = hottest.source
        line = "" if source is None else f", {source}  {source.text}"
        text += f": {share(hottest.typical_ns, side.typical_ns)} of it {hottest.label}{line}"
    return wrapped(text, HOT)
