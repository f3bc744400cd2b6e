"""What slow steps and slow calls took beyond a typical one: sums over those that were measured.

Rows of operations say what steps and calls would have taken if each was a typical one.  The steps that have a time, or that are
in a block which has one, say by how much they were longer, the faster ones taken off; where some steps have none, as many as there
are take as much each, with an error that follows from how much the measured ones differ.  Runs that are timed as a whole say it
themselves (``slow_runs_ns``).  What loops inside took beyond their part of a typical step is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord


class Beyond(NamedTuple):
    """Nanoseconds beyond the typical, and how far off that may be (twice its standard error) where not all were measured."""

    ns: int
    error_ns: int = 0


def beyond_steps(loop: LoopRecord, inside_ns: float, typical_inside_ns: float) -> Beyond:
    """Return what the steps of a loop took beyond the typical step.

    Parameters
    ----------
    loop : LoopRecord
        Its typical step is known.
    inside_ns, typical_inside_ns : float
        What loops in its steps took in all, and would have taken in typical steps.

    Examples
    --------
    >>> from scanviz.record.values import DurationRecord
    >>> times = DurationRecord(count=100, total_ns=1500, p50_ns=10)
    >>> loop = LoopRecord(1, 1, None, "rnn", None, steps=400, step_times=times, body_ns=10.0, measures={"step_deviation_ns": 20.0})
    >>> beyond_steps(loop, 0.0, 0.0)
    Beyond(ns=2000, error_ns=1386)
    """
    numbers = loop.measures
    steps = loop.steps - round(numbers.get("passed_over_steps", 0.0))
    measured = loop.step_times.count + round(numbers.get("plain_steps", 0.0))
    if not loop.step_times.count:
        return Beyond(0)
    mean = (loop.step_times.total_ns + numbers.get("plain_ns", 0.0)) / measured - loop.typical_ns
    inside = max(0.0, inside_ns - typical_inside_ns)
    error = numbers.get("step_deviation_ns", 0.0) * steps
    error *= math.sqrt(max(0.0, 1 - measured / max(1, steps)) / measured)
    return Beyond(max(0, round(mean * steps - inside)), round(2 * error))


def beyond_calls(function: FunctionRecord, loops_ns: Iterable[float]) -> Beyond:
    """Return what the calls of a function took beyond the typical one, outside of loops.

    ``loops_ns`` is what each of its loops took.  Where every call was timed operation by operation there is nothing to be said of
    typical ones: rows are sums.
    """
    times = function.call_times
    if not is_sampled(function):
        return Beyond(0)
    typical = sum(
        operation.typical_ns * function.calls for operation in function.operations if operation.kind == "loop"
    )
    inside = function.call_parts.inside_ns + max(0.0, math.fsum(loops_ns) - typical)
    return Beyond(max(0, round(times.total_ns - times.p50_ns * times.count - inside)))


def is_sampled(function: FunctionRecord) -> bool:
    """Return whether operations outside of loops were timed in some calls alone."""
    return 0 < function.call_parts.timed < function.calls


__all__ = ["Beyond", "beyond_calls", "beyond_steps", "is_sampled"]
