"""The times that advice counts with: of a usual step and a usual call, which a few slow ones do not change.

What advice promises is a time from here times how often it is saved.  A mean holds what the system did meanwhile: one preemption of
8 ms among 900 steps makes each of them 9 µs longer.  So the parts of a step, or of a call, are scaled to sum to no more than its
median.  This is the only place that knows which fields of a record those are.
"""

from __future__ import annotations

from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord, ProfileRecord
from scanviz.record.summary.run_breakdown import parts_of

FEWEST = 3  # times of an operation; with fewer of them nothing is promised


def step_ns(loop: LoopRecord) -> float:
    """Return what a usual step takes, 0 where it is not known."""
    parts, median = loop.body_ns + loop.copy_ns + loop.overhead_ns, float(loop.step_times.p50_ns)
    return max(0.0, min(parts, median) if parts > 0 and median > 0 else max(parts, median))


def operations_ns(loop: LoopRecord) -> float:
    """Return what the operations of a usual step take together."""
    return max(0.0, loop.body_ns * _of_usual(loop))


def operation_ns(loop: LoopRecord, operation: OperationRecord) -> float:
    """Return what an operation takes of a usual step; 0 where it was timed too rarely."""
    return max(0.0, operation.typical_ns * _of_usual(loop)) if operation.samples >= FEWEST else 0.0


def copies_ns(loop: LoopRecord) -> float:
    """Return what storing rows takes of a usual step."""
    return max(0.0, loop.copy_ns * _of_usual(loop)) if loop.sampled_steps >= FEWEST else 0.0


def _of_usual(loop: LoopRecord) -> float:
    """Return what the parts of a step are to be multiplied by to sum to a usual one."""
    parts = loop.body_ns + loop.copy_ns + loop.overhead_ns
    return step_ns(loop) / parts if parts > 0 else 0.0


def run_ns(record: ProfileRecord, loop: LoopRecord) -> float | None:
    """Return what a usual run of a loop inside of a loop takes; None where its step around was not timed.

    It is an operation of that step, so what recording the loop costs is taken off as it is taken off there.
    """
    around = next((outer for outer in record.loops if outer.key == loop.parent), None)
    if around is None:
        return None
    own = [operation_ns(around, operation) for operation in around.operations if operation.loop == loop.key]
    return own[0] if len(own) == 1 and own[0] > 0 else None


def start_ns(record: ProfileRecord, loop: LoopRecord) -> float | None:
    """Return what starting and ending a usual run of a loop inside of a loop takes; None where that is not known."""
    whole, step = run_ns(record, loop), step_ns(loop)
    if whole is None or step <= 0 or not loop.runs:
        return None
    return max(0.0, whole - step * loop.steps / loop.runs)


def call_ns(function: FunctionRecord) -> float:
    """Return what a usual call takes."""
    times = function.call_times
    return float(min(times.p50_ns, times.mean_ns) if times.p50_ns else times.mean_ns)


def outside_ns(function: FunctionRecord, operation: OperationRecord) -> float:
    """Return what an operation outside of loops takes of a usual call; 0 where it was timed too rarely."""
    timed = sum(max(0.0, one.typical_ns) for one in function.operations if one.samples)
    whole, usual = max(function.call_times.mean_ns, timed), call_ns(function)
    if operation.samples < FEWEST or whole <= 0 or operation.typical_ns <= 0:
        return 0.0
    if (
        operation.typical_ns != operation.mean_ns
    ):  # a median, scaled only where all are more than that of the whole
        return operation.typical_ns * min(1.0, usual / timed)
    return operation.typical_ns * usual / whole


def ran_ns(record: ProfileRecord) -> float:
    """Return how long a run took, without what it waited and what other programs took of it where the processor's time is known.

    Promises are of usual steps, which a busy machine does not make longer; the clock they are compared with should not be either.
    """
    cpu = record.measures.get("cpu_ns", 0.0)
    return min(float(record.wall_ns), cpu) if cpu > 0 else float(record.wall_ns)


def building_ns(record: ProfileRecord, function: FunctionRecord, stage: str = "") -> float:
    """Return what building a function took, or a stage of it, less the share of the run in which it had no processor."""
    clock = function.build_ns.get(stage, 0) if stage else sum(function.build_ns.values())
    return clock * ran_ns(record) / record.wall_ns if record.wall_ns > 0 else float(clock)


def script_ns(record: ProfileRecord) -> int:
    """Return what the script surely did outside of scanviz: imports, its own Python, waiting, but not for threads that call."""
    own = sum(part.own_ns for part in parts_of(record) if part.kind == "script")
    return max(0, own - record.threads.beside_ns)
