"""The recorder: an observer that aggregates events into a profile in bounded memory.

It keeps all totals and a sample of single steps.  One lock guards the whole recorder, so calls of several threads are counted
together.  While the program runs, the recorder takes only times and counts; it describes functions, loops and rewrites when the
record is requested.  The engine measures observer overhead and excludes it from the reported times.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from threading import get_ident
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.locks import lock
from scanviz.engine.observation.events import CompiledFunction, Run, SideTaken, StepSeries
from scanviz.engine.observe import Building, Observer, notify_counted
from scanviz.profiler.recording.functions_met import FunctionsMet
from scanviz.profiler.recording.overhead import Calibration, stamp_cost
from scanviz.profiler.recording.plans_met import AllWork, with_work
from scanviz.profiler.recording.processor import Usage, more, process_usage, used
from scanviz.profiler.recording.sides import SidesTaken
from scanviz.profiler.recording.timeline import Timeline
from scanviz.record.model import CostRecord, LoopRecord, ProfileRecord
from scanviz.record.names import numbered
from scanviz.record.paths import recorded_path
from scanviz.record.traces.finding import FirstNanRecord
from scanviz.record.values import OutcomeRecord

DEFAULT_BYTES = 64 * 2**20
# numbers, tens of microseconds; of a longer result the last row: a NaN in a state is in all rows after it
MOST_CHECKED = 2**16
FEW = 1_000  # numbers: the sum of so few squares takes a third of the time of a test of each
_PACKAGE = sys.modules["scanviz"]  # a program may take it out of there


def ends_in_nan(results: Sequence[Any]) -> bool:
    """Return whether a result, or a long result's last row, contains a NaN; GPU results are not read.

    Examples
    --------
    >>> ends_in_nan([np.array([1.0, np.nan])]), ends_in_nan([np.array([1, 2]), np.float64(0.5)])
    (True, False)
    """
    for result in results:
        if isinstance(result, np.ndarray | np.floating) and result.dtype.kind == "f" and result.size:
            last: Any = result if result.size <= MOST_CHECKED else result[-1:]  # type: ignore[index]
            if last.size <= MOST_CHECKED and _has_nan(last):
                return True
    return False


def _has_nan(numbers: Any) -> bool:
    if numbers.size == 1:
        number = numbers.item()
    elif numbers.size <= FEW:
        number = np.vdot(numbers, numbers)  # a sum of squares
    else:
        return bool(np.isnan(numbers).any())
    return bool(number != number)


class Recorder(Observer):
    """Aggregate engine events into a profile.

    Parameters
    ----------
    detail : {"steps", "ops"}
        The level of detail: ``"steps"`` times each step, and each operation in a sample of the steps; ``"ops"`` times
        each operation of every step.
    max_bytes : int
        Approximate memory limit of the recording.  Loops beyond it keep only totals; further ones are only counted.
    clock : callable
        Returns nanoseconds; replaced in tests.
    calibration : callable
        Returns the cost of a stamp in nanoseconds; called when first needed.
    steps_a_stamp : int
        Number of very short steps that may share one time.
    samples : bool
        Whether to only count and time most runs and calls as wholes, once there are very many short ones.

    Examples
    --------
    >>> recorder = Recorder()
    >>> recorder.record().outcome.status
    'running'
    """

    weighs = True
    checks_results = True

    def __init__(
        self,
        detail: Literal["steps", "ops"] = "steps",
        max_bytes: int = DEFAULT_BYTES,
        clock: Callable[[], int] = time.perf_counter_ns,
        calibration: Calibration = stamp_cost,
        steps_a_stamp: int = 1,
        samples: bool = True,
    ) -> None:
        self.samples = samples
        self.detail: Literal["steps", "ops"] = detail
        self.steps_a_stamp = steps_a_stamp
        self._clock = clock
        self._lock = lock()  # not a Lock: a signal's handler may ask for the record at any moment
        self._calibration = calibration
        self._met = FunctionsMet(max_bytes, self._calibration, self._lock)
        self._sides = SidesTaken()
        self._first_nan: FirstNanRecord | None = None
        self._script, self._arguments = "", ()  # type: tuple[str, tuple[str, ...]]
        self._outcome = OutcomeRecord()
        self._begin()

    def restart(self) -> None:
        """Start the wall time here."""
        notify_counted()  # earlier calls
        self._begin()

    def _begin(self) -> None:
        self._date, self._timeline = time.time(), Timeline(get_ident())
        self._begun, self._ended = self._clock(), None  # type: tuple[int, int | None]
        self._used_before = process_usage()
        self._used_after: Usage | None = None

    # events of the engine

    def compiled(self, event: CompiledFunction) -> None:
        """Add a function and its loops; their description is written after the clock has stopped."""
        with self._lock:
            self._met.meet(event)
        self._met.write_gone()

    def function_begin(self, function: int, call: int) -> None:
        """Open a call."""
        with self._lock:
            now, thread = self._clock(), get_ident()
            self._met.function(function).begin(call, thread)
            # last: a begin that ctrl+c interrupts before this has no end event
            self._timeline.enter(thread, "call", function, now)

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Count a call."""
        with self._lock:
            thread = get_ident()
            now = 0 if error is None else self._clock()  # needed only for runs that an error left open
            inside = self._timeline.leave(thread, elapsed_ns)
            self._met.function(function).end(call, thread, now, elapsed_ns, error is not None, inside)

    def computed(self, function: int, results: Sequence[Any], again: Callable[[Observer], None]) -> None:
        """Find the first NaN, once a call returns one."""
        if self.checks_results and ends_in_nan(results):
            from scanviz.profiler.values.first_nan import first_nan  # most programs need no search

            self.checks_results = False
            self._first_nan = first_nan(function, again)

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        """Add the observer overhead of a loop."""
        with self._lock:
            self._met.loop(loop).recorder_ns += own_ns

    def operations(self, function: int, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """Add the times of the operations outside of loops in one call."""
        with self._lock:
            self._met.function(function).tally.add_call(elapsed_ns, around_ns)

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, observing_ns: int) -> None:
        """Add the call overhead around the program."""
        with self._lock:
            self._timeline.add(get_ident(), checks_ns + copies_ns + observing_ns)
            self._met.function(function).returned(checks_ns, copies_ns, observing_ns)

    def calls_counted(
        self,
        function: int,
        thread: int,
        elapsed_ns: Sequence[int],
        checks_ns: int,
        copies_ns: int,
        observing_ns: int,
        runs: Sequence[Run],
    ) -> None:
        """Count unobserved calls."""
        with self._lock:
            found, around_ns = self._met.function(function), checks_ns + copies_ns + observing_ns
            self._timeline.add(thread, sum(elapsed_ns) + around_ns)
            found.count_unobserved(elapsed_ns)
            found.returned(checks_ns, copies_ns, observing_ns)
            self.loop_counted(function, runs, False)

    def build_begin(self, kind: Building, where: SourceLine | None) -> None:
        """Open a build."""
        with self._lock:
            self._timeline.enter(get_ident(), "build", 0, self._clock())

    def build_end(self, kind: Building, where: SourceLine | None, elapsed_ns: int) -> None:
        """Close a build and add its time."""
        with self._lock:
            inside = self._timeline.leave(get_ident(), elapsed_ns)
            self._timeline.built_by(kind, where, elapsed_ns - inside)

    def build_observed(self, own_ns: int) -> None:
        """Add the observer overhead of a build."""
        with self._lock:
            self._timeline.recorded(get_ident(), own_ns)

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Add the time of one operation, outside of loops or in a single step."""
        with self._lock:
            found = self._met.function(function) if loop is None else self._met.loop(loop)
            found.tally.add_one(index, elapsed_ns)

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Add the compilation of a loop."""
        with self._lock:
            self._met.loop(loop).made(tier, why, elapsed_ns)
            self._met.function(function).code_made()

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run of a loop."""
        with self._lock:
            found = self._met.loop(loop)
            self._met.looks_at_steps(found)
            found.begin(get_ident(), self._clock(), buffer_bytes)

    def loop_steps(self, series: StepSeries) -> None:
        """Add a chunk of steps."""
        with self._lock:
            self._met.loop(series.loop).take(get_ident(), series)

    def loop_rows(self, function: int, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Add the bytes of a loop's rows."""
        with self._lock:
            self._met.loop(loop).rows_held(row_bytes)

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """Add a declared measure."""
        with self._lock:
            found = self._met.function(function) if loop is None else self._met.loop(loop)
            found.measured(index, name, value)

    def side_taken(self, function: int, taken: SideTaken) -> None:
        """Add the takings of one side of a branch in a call."""
        with self._lock:
            if function in self._met.functions:
                self._sides.add(taken)

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """Close a run of a loop."""
        with self._lock:
            self._met.loop(loop).end(get_ident(), steps, elapsed_ns, setup_ns, error is not None)

    def loop_counted(self, function: int, runs: Sequence[Run], control: bool) -> None:
        """Count unobserved runs of loops."""
        with self._lock:
            for run in runs:
                self._met.loop(run[0]).count(run, control)

    # the record

    def describe_script(self, script: str, arguments: Sequence[str]) -> None:
        """Set the script and its arguments; the path is stored as in source lines, without the machine's folders."""
        self._script = recorded_path(script) if os.path.isabs(script) else script
        self._arguments = tuple(arguments)

    def finish(self, outcome: OutcomeRecord) -> None:
        """Set the outcome of the run and stop the wall time."""
        with self._lock:
            self._outcome, self._ended, self._used_after = outcome, self._clock(), process_usage()

    def progress(self) -> tuple[int, int]:
        """Return the numbers of calls and steps so far, for a progress line."""
        notify_counted()
        with self._lock:
            calls = sum(function.calls for function in self._met.functions.values())
            return calls, sum(loop.steps for loop in self._met.loops.values())

    def record(self) -> ProfileRecord:
        """Return the record so far, independent of later events; any thread may ask for it at any moment."""
        self._met.write(wait=self._ended is not None)
        notify_counted()
        with self._lock:
            now = self._clock()
            wall_ns = max(0, (now if self._ended is None else self._ended) - self._begun)
            running = self._timeline.running(now)
            work = {key: function.work() for key, function in self._met.functions.items()}
            functions = [
                function.snapshot(work[key], running.get(key, 0))
                for key, function in self._met.functions.items()
            ]
            names = numbered([function.name for function in functions])
            return ProfileRecord(
                scanviz=str(getattr(_PACKAGE, "__version__", "")),
                python=platform.python_version(),
                numpy=np.__version__,
                # without the machine's name
                machine=f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}",
                started=datetime.fromtimestamp(self._date, UTC).isoformat(timespec="seconds"),
                script=self._script,
                arguments=self._arguments,
                detail=self.detail,
                wall_ns=wall_ns,
                outcome=self._outcome,
                cost=self._cost(),
                functions=tuple(replace(one, name=name) for one, name in zip(functions, names, strict=True)),
                loops=self._loop_records(
                    now, {loop: done for found in work.values() for loop, done in found.items()}
                ),
                left_out=self._met.left_out,
                first_nan=self._first_nan,
                measures=self._usage(),
                building=self._timeline.building(),
                threads=self._timeline.record(now),
            )

    def _loop_records(self, now: int, work: AllWork) -> tuple[LoopRecord, ...]:
        """Return the loops, each with the profiler overhead of its inner loops and the sides of branches that its steps took."""
        records = {key: loop.snapshot(now) for key, loop in self._met.loops.items()}
        inner_cost, inner_recorder = dict.fromkeys(records, 0.0), dict.fromkeys(records, 0)
        for key, record in records.items():
            around = record.parent
            while around is not None:  # a known loop has only known outer loops
                inner_cost[around] += record.cost_ns
                inner_recorder[around] += self._met.loops[key].recorder_ns
                around = records[around].parent
        plans = [function.plans for function in self._met.functions.values() if function.plans is not None]
        sides = self._sides.of_loops([known.program for known in plans])
        return tuple(
            replace(
                record,
                operations=with_work(record.operations, work.get(key)),
                sides=sides.get(key, ()) if record.operations else (),
                inner_cost_ns=inner_cost[key],
                inner_recorder_ns=inner_recorder[key],
            )
            for key, record in records.items()
        )

    def _usage(self) -> dict[str, float]:
        """Return the CPU time and context switches of the process during the run; empty before its end."""
        before, after = self._used_before, self._used_after
        if after is None:
            return {}
        return used(after.cpu_ns - before.cpu_ns, more(0, before.switches, after.switches))

    def _cost(self) -> CostRecord:
        loops = self._met.loops.values()
        observing = sum(function.recorder_ns for function in self._met.functions.values())
        return CostRecord(
            stamps=sum(loop.stamps for loop in loops),
            stamp_ns=self._calibration() if any(loop.stamps for loop in loops) else 0.0,
            chunks=sum(loop.chunks for loop in loops),
            recorder_ns=self._timeline.recording_ns + observing,
        )
