"""Times for advice: of a typical step and a typical call, robust against a few slow ones.

A promised gain is such a time multiplied by its count.  A mean includes interruptions: one preemption of 8 ms among 900 steps
adds 9 µs to each.
"""

from __future__ import annotations

from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord, ProfileRecord
from scanviz.record.summary.run_breakdown import parts_of, run_time_ns

FEWEST = 3  # timings of an operation that a promise needs


def step_ns(loop: LoopRecord) -> float:
    """Return the time of a typical step, 0 if unknown."""
    return loop.typical_ns or float(loop.step_times.p50_ns)


def operation_ns(operation: OperationRecord) -> float:
    """Return the time of an operation in a typical step or call; 0 if timed too rarely."""
    return operation.typical_ns if operation.samples >= FEWEST else 0.0


def run_ns(record: ProfileRecord, loop: LoopRecord) -> float | None:
    """Return the time of a typical run of an inner loop; None if the outer step was not timed.

    It is an operation of that step, so profiler overhead is deducted as it is there.
    """
    around = next((outer for outer in record.loops if outer.key == loop.parent), None)
    if around is None:
        return None
    own = [operation_ns(operation) for operation in around.operations if operation.loop == loop.key]
    return own[0] if len(own) == 1 and own[0] > 0 else None


def start_ns(record: ProfileRecord, loop: LoopRecord) -> float | None:
    """Return the time to start and end a typical run of an inner loop; None if unknown."""
    whole, step = run_ns(record, loop), step_ns(loop)
    if whole is None or step <= 0 or not loop.runs:
        return None
    return max(0.0, whole - step * loop.steps / loop.runs)


def call_ns(function: FunctionRecord) -> float:
    """Return the time of a typical call."""
    times = function.call_times
    return float(min(times.p50_ns, times.mean_ns) if times.p50_ns else times.mean_ns)


def ran_ns(record: ProfileRecord) -> float:
    """Return the CPU time of a run if known, else its wall time.

    Promises rest on typical steps, which a busy machine does not make longer, and so must the whole.
    """
    cpu = record.measures.get("cpu_ns", 0.0)
    return min(float(record.wall_ns), cpu) if cpu > 0 else float(record.wall_ns)


def whole_ns(record: ProfileRecord) -> int:
    """Return the time of a run without profiler overhead: shares are shares of it, as in every view."""
    return run_time_ns(parts_of(record))


def building_ns(record: ProfileRecord, function: FunctionRecord, stage: str = "") -> float:
    """Return the CPU time of building a function, or of one stage of it."""
    return _cpu_ns(record, function.build_ns.get(stage, 0) if stage else sum(function.build_ns.values()))


def code_ns(record: ProfileRecord, function: FunctionRecord) -> float:
    """Return the CPU time of compiling a function's loops."""
    loops = (loop for loop in record.loops if loop.function == function.key)
    return _cpu_ns(record, sum(tier.total_ns for loop in loops for tier in loop.tiers))


def _cpu_ns(record: ProfileRecord, clock: int) -> float:
    """Return the CPU time within a wall time, by the run's share of the CPU."""
    return clock * ran_ns(record) / record.wall_ns if record.wall_ns > 0 else float(clock)


def script_ns(record: ProfileRecord) -> int:
    """Return the time surely outside of scanviz: imports, own Python, waiting except for threads in calls."""
    own = sum(part.own_ns for part in parts_of(record) if part.kind == "script")
    return max(0, own - record.threads.beside_ns)
