"""What slow calls took beyond a typical one: a sum over the calls that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable

from scanviz.record.model import FunctionRecord


def beyond_calls(function: FunctionRecord, loops_ns: Iterable[float]) -> int:
    """Return the nanoseconds that the calls of a function took beyond the typical one, outside of loops.

    ``loops_ns`` is what each of its loops took.  Where every call was timed operation by operation there is nothing to be said of
    typical ones: rows are sums.
    """
    times = function.call_times
    if not is_sampled(function):
        return 0
    typical = sum(
        operation.typical_ns * function.calls for operation in function.operations if operation.kind == "loop"
    )
    inside = function.call_parts.inside_ns + max(0.0, math.fsum(loops_ns) - typical)
    return max(0, round(times.total_ns - times.p50_ns * times.count - inside))


def is_sampled(function: FunctionRecord) -> bool:
    """Return whether operations outside of loops were timed in some calls alone."""
    return 0 < function.call_parts.timed < function.calls
