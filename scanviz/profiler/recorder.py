"""The recorder: an observer that keeps a profile in bounded memory.

Totals are kept always; single steps are sampled.  Chunks of few steps are gathered before they are counted, so that a nested
loop of three steps costs little more than its events.  The recorder measures the time spent in itself.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from scanviz.engine.observe import CompiledFunction, Observer, StepSeries
from scanviz.profiler.overhead import stamp_cost
from scanviz.record.model import (
    CostRecord,
    DurationRecord,
    FunctionRecord,
    LoopRecord,
    OutcomeRecord,
    ProfileRecord,
    TierRecord,
)
from scanviz.record.program_snapshot import loop_records, operations, source_record
from scanviz.record.statistics import Histogram, StepSample

PENDING = 2048  # steps gathered before they are counted
BYTES_A_LOOP = 48_000  # histogram and samples of one loop


class _Loop:
    """What is known of one loop so far."""

    __slots__ = (
        "copy_total",
        "histogram",
        "open_runs",
        "operation_totals",
        "pending",
        "pending_steps",
        "record",
        "sample",
        "sampled_total",
        "stamp_ns",
    )

    def __init__(self, record: LoopRecord, detailed: bool, stamp_ns: float) -> None:
        self.record, self.stamp_ns = record, stamp_ns
        self.histogram = Histogram() if detailed else None
        self.sample = StepSample() if detailed else None
        self.pending: list[tuple[int, StepSeries]] = []
        self.pending_steps = 0
        self.operation_totals = np.zeros(len(record.operations))
        self.copy_total, self.sampled_total = 0.0, 0.0
        self.open_runs: dict[int, int] = {}

    def take(self, run: int, series: StepSeries) -> None:
        self.pending.append((run, series))
        self.pending_steps += len(series.step_ns)
        if self.pending_steps >= PENDING:
            self.count()

    def count(self) -> None:
        """Count the steps gathered."""
        if not self.pending:
            return
        if self.histogram is not None and self.sample is not None:
            self.histogram.add(np.concatenate([series.step_ns for _, series in self.pending]))
            for run, series in self.pending:
                self.sample.add(run, series.first, series.step_ns)
        for _, series in self.pending:
            if (
                series.op_ns is not None
                and series.copy_ns is not None
                and len(series.op_ns) == len(self.operation_totals)
            ):
                stamp, steps = (
                    self.stamp_ns,
                    len(series.step_ns),
                )  # each interval holds one stamp, which is not the loop's
                self.operation_totals += np.maximum(series.op_ns - stamp, 0).sum(axis=1)
                self.copy_total += float(np.maximum(series.copy_ns - stamp, 0).sum())
                self.sampled_total += float(series.step_ns.sum()) - steps * stamp * (len(series.op_ns) + 2)
                self.record.sampled_steps += steps
        self.pending, self.pending_steps = [], 0

    def finished(self) -> LoopRecord:
        """Return the record with what was counted filled in."""
        self.count()
        record, sampled = self.record, self.record.sampled_steps
        record.step_times = (
            self.histogram.record() if self.histogram is not None else DurationRecord(count=record.steps)
        )
        if self.sample is not None:
            record.series = self.sample.rows()
        if sampled:
            means = self.operation_totals / sampled
            for each, mean in zip(record.operations, means.tolist(), strict=True):
                each.samples, each.mean_ns = sampled, mean
            record.body_ns, record.copy_ns = float(means.sum()), self.copy_total / sampled
            record.overhead_ns = max(0.0, self.sampled_total / sampled - record.body_ns - record.copy_ns)
        return record


class _Function:
    """What is known of one function so far."""

    __slots__ = ("counts", "histogram", "record", "totals")

    def __init__(self, record: FunctionRecord) -> None:
        self.record = record
        self.histogram = Histogram()
        self.totals = np.zeros(len(record.operations), np.int64)
        self.counts = np.zeros(len(record.operations), np.int64)

    def finished(self) -> FunctionRecord:
        record = self.record
        record.call_times = self.histogram.record()
        for each, total, count in zip(
            record.operations, self.totals.tolist(), self.counts.tolist(), strict=True
        ):
            each.samples, each.mean_ns = count, total / count if count else 0.0
        return record


class Recorder(Observer):
    """Records what the engine tells.

    Parameters
    ----------
    detail : {"steps", "ops"}
        How closely to look.
    max_bytes : int
        About how much memory single steps and histograms may take; loops beyond keep totals alone.
    clock : callable
        Nanoseconds; replaced in tests.
    """

    def __init__(
        self,
        detail: Literal["steps", "ops"] = "steps",
        max_bytes: int = 64 * 2**20,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.detail = detail
        self._clock, self._lock = clock, threading.RLock()
        self._functions: dict[int, _Function] = {}
        self._loops: dict[int, _Loop] = {}
        self._room = max(1, max_bytes // BYTES_A_LOOP)
        self._begun = clock()
        self._stamps, self._self_ns = 0, 0
        self._out = ProfileRecord(
            scanviz=_version(),
            python=platform.python_version(),
            numpy=np.__version__,
            machine=_machine(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            detail=detail,
        )
        self._stamp_ns = stamp_cost()

    # what the engine tells

    def compiled(self, event: CompiledFunction) -> None:
        """Copy a function and its loops into records."""
        with self._lock:
            begun = self._clock()
            record = FunctionRecord(
                key=event.key,
                name=event.name,
                source=source_record(event.where),  # type: ignore[arg-type]  # a SourceLine, typed object one layer below
                backend=event.backend,
                build_ns=dict(event.build_ns),
                operations=operations(event.program),
            )
            self._functions[event.key] = _Function(record)
            for loop in loop_records(event.key, event.program):
                detailed = len(self._loops) < self._room
                self._out.left_out += not detailed
                self._loops[loop.key] = _Loop(loop, detailed, self._stamp_ns)
            self._self_ns += self._clock() - begun

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Count a call."""
        with self._lock:
            found = self._functions.get(function)
            if found is None:
                return
            record = found.record
            if record.calls == 0:
                record.first_ns = elapsed_ns
            record.calls += 1
            record.errors += error is not None
            found.histogram.add_one(elapsed_ns)

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Count an operation outside of loops."""
        found = self._functions.get(function)
        if loop is None and found is not None and index < len(found.totals):
            with self._lock:
                found.totals[index] += elapsed_ns
                found.counts[index] += 1

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Count code made for a loop."""
        with self._lock:
            found = self._loops.get(loop)
            if found is None:
                return
            for each in found.record.tiers:
                if (each.tier, each.why) == (tier, why):
                    each.count += 1
                    each.total_ns += elapsed_ns
                    return
            found.record.tiers.append(TierRecord(tier, why, 1, elapsed_ns))

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run of a loop."""
        found = self._loops.get(loop)
        if found is None:
            return
        with self._lock:
            record = found.record
            record.buffer_bytes = max(record.buffer_bytes, buffer_bytes)
            found.open_runs[threading.get_ident()] = record.runs
            record.runs += 1

    def loop_steps(self, series: StepSeries) -> None:
        """Take a chunk of steps."""
        begun = self._clock()
        found = self._loops.get(series.loop)
        if found is None:
            return
        with self._lock:
            count = len(series.step_ns)
            found.record.steps += count
            found.take(found.open_runs.get(threading.get_ident(), 0), series)
            self._stamps += count if series.op_ns is None else count * (len(series.op_ns) + 2)
            self._self_ns += self._clock() - begun

    def loop_end(self, function: int, loop: int, steps: int, elapsed_ns: int, setup_ns: int) -> None:
        """Close a run of a loop."""
        found = self._loops.get(loop)
        if found is None:
            return
        with self._lock:
            record = found.record
            if found.open_runs.pop(threading.get_ident(), 0) == 0:
                record.first_run_ns = elapsed_ns
            record.total_ns += elapsed_ns
            record.setup_ns += setup_ns
            record.longest_run = max(record.longest_run, steps)

    # what is asked of it

    def describe_script(self, script: str, arguments: list[str]) -> None:
        """Say what is being run."""
        self._out.script, self._out.arguments = script, list(arguments)

    def finish(self, outcome: OutcomeRecord) -> None:
        """Say how the run ended; the wall time stops here."""
        with self._lock:
            self._out.outcome = outcome
            self._out.wall_ns = self._clock() - self._begun

    def progress(self) -> tuple[int, int]:
        """Return the calls and steps counted so far, without a lock: a glance for a progress line."""
        calls = sum(each.record.calls for each in list(self._functions.values()))
        return calls, sum(each.record.steps for each in list(self._loops.values()))

    def record(self) -> ProfileRecord:
        """Return the record so far, independent of what comes after."""
        import copy

        with self._lock:
            out = self._out
            out.functions = [each.finished() for each in self._functions.values()]
            out.loops = [each.finished() for each in self._loops.values()]
            out.cost = CostRecord(self._stamps, self._stamp_ns, self._self_ns)
            if out.outcome.status == "running":
                out.wall_ns = self._clock() - self._begun
            return copy.deepcopy(out)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("scanviz")
    except PackageNotFoundError:
        return "0.1.0 (not installed)"


def _machine() -> str:
    return f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}"


__all__ = ["Recorder"]
