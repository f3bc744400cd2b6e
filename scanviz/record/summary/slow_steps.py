"""Causes of a loop's slow steps, except its branches.

The slowest steps are kept with their numbers, so that a period among them can be distinguished from chance.  Slow steps with timed
operations show which operation took longer.  Clocks and counters of the thread show its time off the CPU and its page faults.
Garbage collection is not recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby, pairwise

from scanviz.record.loops import INSIDE, LoopRecord
from scanviz.record.units import duration

HEAVY = 0.1  # share of a loop's time: if its slowest hundredth takes more, every view reports it
SLOW = 2.0  # times the typical step
FEWEST = 5  # slow steps at a period
CHANCE = 1e-4  # that steps at random places had so many at one period
PERIODIC = 0.7  # the share of slow steps that come at the period
MOST_OF_IT = 0.5
FAULT_NS = 500  # least time of a page fault
SLOWEST = 3  # why a step is in the sample


def period_of(loop: LoopRecord) -> int:
    """Return the period of most slow steps; 0 if chance explains their distances.

    Examples
    --------
    >>> import numpy as np
    >>> def loop(steps):
    ...     rows = [[0, step, 9_000, SLOWEST] for step in steps]
    ...     return LoopRecord(1, 1, None, "h", None, steps=20_000, body_ns=1_000.0, series=np.array(rows))
    >>> period_of(loop([100, 300, 400, 500, 517, 900, 1100, 1200, 5300, 8000]))
    100
    >>> period_of(loop([3, 19, 20, 88, 151, 400, 577, 801]))
    0
    """
    if loop.series_covers:
        return 0
    rows = [row for row in loop.timed() if row.reason == SLOWEST and row.time_ns > SLOW * loop.typical_ns]
    apart = [b.step - a.step for a, b in pairwise(rows) if a.run == b.run]
    candidates = {math.gcd(a, b) for a, b in pairwise(apart)} | set(apart)
    # distinct steps: a step that is slow in every run, such as the first, is no period
    steps = {row.step for row in rows}
    for period in sorted((period for period in candidates if period > 1), reverse=True):
        ((_, count),) = Counter(step % period for step in steps).most_common(1)
        often = count >= max(FEWEST, PERIODIC * len(steps))
        if often and _chance(count, len(steps), period) * period * len(candidates) < CHANCE:
            return period
    return 0


def _chance(count: int, of: int, period: int) -> float:
    """Return the probability that at least so many random steps fall on one place of a period."""
    one = 1 / period
    return math.fsum(math.comb(of, k) * one**k * (1 - one) ** (of - k) for k in range(count, of + 1))


def slowest_share(loop: LoopRecord) -> float:
    """Return the slowest hundredth's share of a loop's time; 0 if it is small or unknown.

    Examples
    --------
    >>> numbers = {"slowest_hundredth_ns": 4e6}
    >>> slowest_share(LoopRecord(1, 1, None, "h", None, total_ns=10_000_000, measures=numbers))
    0.4
    >>> slowest_share(LoopRecord(1, 1, None, "h", None, total_ns=100_000_000, measures=numbers))
    0.0
    """
    share = loop.measures.get("slowest_hundredth_ns", 0.0) / max(1, loop.total_ns)
    return share if share > HEAVY else 0.0


def other_code_ns(loop: LoopRecord) -> float:
    """Return the time of steps that ran slower code than usual; 0 without such steps."""
    step_ns = loop.measures.get("other_code_ns", 0.0)
    return step_ns * loop.measures["other_code_steps"] if step_ns > SLOW * loop.step_times.p50_ns else 0.0


def in_other_code(loop: LoopRecord) -> str:
    """Return, in words, the number of steps that ran slower code, and its name; empty for none.

    Examples
    --------
    >>> from scanviz.record.loops import TierRecord
    >>> tiers = TierRecord("numpy", "", 1, 0), TierRecord("native", "", 1, 0)
    >>> numbers = {"other_code_steps": 4e4, "other_code_ns": 14_500.0}
    >>> in_other_code(LoopRecord(1, 1, None, "h", None, measures=numbers, tiers=tiers))
    '40,000 steps ran on NumPy before there was machine code, 14.5 µs each'
    """
    if not other_code_ns(loop):
        return ""
    steps, step_ns = loop.measures["other_code_steps"], loop.measures["other_code_ns"]
    tiers = [tier for tier, _ in groupby(tier.tier for tier in loop.tiers)]
    about = "about " if len(tiers) > 2 else ""  # they took turns: the code of most runs is unknown
    code = "on NumPy before there was machine code" if tiers == ["numpy", "native"] else "in other code"
    if any(tier.why == INSIDE for tier in loop.tiers):  # some of them when there was machine code
        code += ", or when they were looked at"
    return f"{about}{steps:,.0f} steps ran {code}, {duration(step_ns)} each"


def reasons(loop: LoopRecord, slow_ns: float) -> list[str]:
    """Return the known causes of slow steps.

    ``slow_ns`` is their total time.

    Examples
    --------
    >>> numbers = {"cpu_ns": 2e6, "page_faults": 3.0}
    >>> reasons(LoopRecord(1, 1, None, "h", None, total_ns=9_000_000, measures=numbers), 5e6)
    ['the loop was off the CPU for 7.00 ms']
    >>> reasons(LoopRecord(1, 1, None, "h", None, measures={"other_code_steps": 4e4, "other_code_ns": 14_500.0}), 5e6)
    ['40,000 steps ran in other code, 14.5 µs each']
    """
    numbers, found = loop.measures, list[str]()
    if period := period_of(loop):
        found.append(f"most of the slowest come once in {period:,} steps")
    if other_code_ns(loop) > MOST_OF_IT * slow_ns:
        found.append(in_other_code(loop))
    if longer := _longer(loop):
        found.append(longer)
    off = max(0.0, loop.total_ns - numbers.get("cpu_ns", loop.total_ns))
    if off > MOST_OF_IT * slow_ns:
        found.append(f"the loop was off the CPU for {duration(off)}")
    faults = numbers.get("page_faults", 0.0)
    if faults * FAULT_NS > MOST_OF_IT * slow_ns:
        found.append(f"{faults:,.0f} page faults: memory that was touched for the first time")
    return found


def _longer(loop: LoopRecord) -> str:
    """Return the operation that accounts for most of the excess of slow steps with timed operations."""
    count = loop.measures.get("slow_timed_steps", 0.0)
    whole = loop.measures.get("slow_timed_ns", 0.0)
    if not count or not loop.operations or whole <= 0:
        return ""
    operation = max(loop.operations, key=lambda one: one.measures.get("slow_more_ns", 0.0))
    took = operation.measures.get("slow_more_ns", 0.0)
    if took < MOST_OF_IT * whole:
        return ""
    line = "" if operation.source is None else f" ({operation.source})"
    steps = "the one slow step" if count == 1 else f"the {count:,.0f} slow steps"
    return f"{operation.label}{line} took {100 * min(1.0, took / whole):.0f} % of the excess in {steps} whose operations were timed"


def slow_in_words(loop: LoopRecord, slow_ns: float) -> str:
    """Return, in words, why slow steps were slow, or that the cause is unknown.

    Examples
    --------
    >>> slow_in_words(LoopRecord(1, 1, None, "h", None, total_ns=9_000_000), 5e6)
    'why is not known: no branch, no period, and none of them had its operations timed'
    """
    found = reasons(loop, slow_ns)
    if found:
        return "; ".join(found)
    timed = loop.measures.get("slow_timed_steps", 0.0)
    last = "no operation stands out" if timed else "none of them had its operations timed"
    return f"why is not known: no branch, no period, and {last}"
