"""The recorder: an observer that aggregates events into a profile in bounded memory.

It keeps all totals and a sample of single steps.  One lock guards the whole recorder, so calls of several threads are counted
together.  While the program runs, the recorder takes only times and counts; it describes functions, loops and rewrites when the
record is requested.  The engine measures observer overhead and excludes it from the reported times.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec.structs import replace

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.locks import lock
from scanviz.engine.observe import Building, Observer, notify_counted
from scanviz.profiler.recording.functions_met import FunctionsMet
from scanviz.profiler.recording.overhead import OverheadCalibration
from scanviz.profiler.recording.sides import SidesTaken
from scanviz.profiler.recording.timeline import Timeline, WholeRun
from scanviz.record.values import OutcomeRecord

if TYPE_CHECKING:  # a script starts without the classes of its record
    from scanviz.engine.observation.events import CompiledFunction, Run, SideTaken, StepSeries
    from scanviz.record.model import CostRecord, LoopRecord, ProfileRecord
    from scanviz.record.operations import SideRecord
    from scanviz.record.traces.finding import FirstNanRecord

DEFAULT_BYTES = 64 * 2**20
LOOKED_AT = (
    2**16
)  # numbers, tens of microseconds; of a longer result the last row: a NaN in a state is in all rows after it
_PACKAGE = sys.modules["scanviz"]  # a program may take it out of there


def ends_in_nan(results: Sequence[Any]) -> bool:
    """Return whether a result, or a long result's last row, contains a NaN; GPU results are not read.

    Examples
    --------
    >>> ends_in_nan([np.array([1.0, np.nan])]), ends_in_nan([np.array([1, 2]), np.float64(0.5)])
    (True, False)
    """
    for result in results:
        if isinstance(result, np.ndarray) and result.dtype.kind == "f" and result.size:
            last = result if result.size <= LOOKED_AT else result[-1:]
            if last.size <= LOOKED_AT and np.isnan(last).any():
                return True
        elif isinstance(result, np.floating) and np.isnan(result):
            return True
    return False


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
    calibration : OverheadCalibration, optional
        The cost of a stamp; by default measured when first needed.
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
        calibration: OverheadCalibration | None = None,
        steps_a_stamp: int = 1,
        samples: bool = True,
    ) -> None:
        self.samples = samples
        self.detail: Literal["steps", "ops"] = detail
        self.steps_a_stamp = steps_a_stamp
        self._clock = clock
        self._lock = lock()  # not a Lock: a signal's handler may ask for the record at any moment
        self._calibration = calibration if calibration is not None else OverheadCalibration()
        self._met = FunctionsMet(max_bytes, self._calibration, self._lock)
        self._sides = SidesTaken()
        self._run = WholeRun(clock)
        self._timeline = Timeline(threading.get_ident())
        self._first_nan: FirstNanRecord | None = None

    def restart(self) -> None:
        """Start the wall time here."""
        notify_counted()  # earlier calls
        self._run.begin()
        self._timeline = Timeline(threading.get_ident())

    # events of the engine

    def compiled(self, event: CompiledFunction) -> None:
        """Add a function and its loops; their description is written after the clock has stopped."""
        with self._lock:
            self._met.meet(event)
        self._met.write_gone()

    def function_begin(self, function: int, call: int) -> None:
        """Open a call."""
        with self._lock:
            now, thread, found = self._clock(), get_ident(), self._met.functions.get(function)
            if found is not None:
                found.begin(call, thread)
            # last: a begin that ctrl+c interrupts before this has no end event
            self._timeline.enter(thread, "call", function, now)

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Count a call."""
        with self._lock:
            found = self._met.functions.get(function)
            inside = self._timeline.leave(threading.get_ident(), elapsed_ns)
            if found is not None:
                now = 0 if error is None else self._clock()  # needed only for runs that an error left open
                found.end(call, threading.get_ident(), now, elapsed_ns, error is not None, inside)
                self._met.plans.call_ended(function)

    def computed(self, function: int, results: Sequence[Any], again: Callable[[Observer], None]) -> None:
        """Find the first NaN, once a call returns one."""
        if self.checks_results and ends_in_nan(results):
            from scanviz.profiler.values.first_nan import first_nan  # most programs need no search

            self.checks_results = False
            self._first_nan = first_nan(function, again)

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        """Add the observer overhead of a loop."""
        with self._lock:
            found = self._met.loops.get(loop)
            if found is not None:
                found.recorder_ns += own_ns

    def operations(self, function: int, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """Add the times of the operations outside of loops in one call."""
        with self._lock:
            found = self._met.functions.get(function)
            if found is not None:
                found.timed_call(elapsed_ns, around_ns)

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, observing_ns: int) -> None:
        """Add the call overhead around the program."""
        with self._lock:
            found, around_ns = self._met.functions.get(function), checks_ns + copies_ns + observing_ns
            count = self._timeline.returned(threading.get_ident(), around_ns, 1)
            if found is not None:
                found.returned(checks_ns, copies_ns, observing_ns, count)

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
            found, around_ns = self._met.functions.get(function), checks_ns + copies_ns + observing_ns
            entered = self._timeline.returned(thread, sum(elapsed_ns) + around_ns, len(elapsed_ns))
            if found is not None:
                found.count_unobserved(elapsed_ns)
                found.returned(checks_ns, copies_ns, observing_ns, entered)
            self.loop_counted(function, runs, False)

    def build_begin(self, kind: Building, where: SourceLine | None) -> None:
        """Open a build."""
        with self._lock:
            self._timeline.enter(threading.get_ident(), "build", 0, self._clock())

    def build_end(self, kind: Building, where: SourceLine | None, elapsed_ns: int) -> None:
        """Close a build and add its time."""
        with self._lock:
            inside = self._timeline.leave(threading.get_ident(), elapsed_ns)
            self._timeline.built_by(kind, where, elapsed_ns - inside)

    def build_observed(self, own_ns: int) -> None:
        """Add the observer overhead of a build."""
        with self._lock:
            self._timeline.recorded(threading.get_ident(), own_ns)

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Add the time of one operation, outside of loops or in a single step."""
        with self._lock:
            aggregate = self._met.functions.get(function) if loop is None else self._met.loops.get(loop)
            if aggregate is not None:
                aggregate.timed(index, elapsed_ns)

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Add the compilation of a loop."""
        with self._lock:
            found = self._met.loops.get(loop)
            if found is not None:
                found.made(tier, why, elapsed_ns)
            self._met.plans.code_made(function)

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run of a loop."""
        with self._lock:
            found = self._met.loops.get(loop)
            if found is not None:
                self._met.looks_at_steps(found)
                found.begin(threading.get_ident(), self._clock(), buffer_bytes)

    def loop_steps(self, series: StepSeries) -> None:
        """Add a chunk of steps."""
        with self._lock:
            found = self._met.loops.get(series.loop)
            if found is not None:
                found.take(threading.get_ident(), series)

    def loop_rows(self, function: int, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Add the bytes of a loop's rows."""
        with self._lock:
            found = self._met.loops.get(loop)
            if found is not None:
                found.rows_held(row_bytes)

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """Add a declared measure."""
        with self._lock:
            found = self._met.functions.get(function) if loop is None else self._met.loops.get(loop)
            if found is not None:
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
            found = self._met.loops.get(loop)
            if found is not None:
                found.end(threading.get_ident(), steps, elapsed_ns, setup_ns, error is not None)

    def loop_counted(self, function: int, runs: Sequence[Run], control: bool) -> None:
        """Count unobserved runs of loops."""
        with self._lock:
            for run in runs:
                if run[0] in self._met.loops:
                    self._met.loops[run[0]].count(run, control)

    # the record

    def describe_script(self, script: str, arguments: Sequence[str]) -> None:
        """Set the script and its arguments; the path is stored as in source lines, without the machine's folders."""
        self._run.describe(script, arguments)

    def finish(self, outcome: OutcomeRecord) -> None:
        """Set the outcome of the run and stop the wall time."""
        with self._lock:
            self._run.end(outcome)

    def progress(self) -> tuple[int, int]:
        """Return the numbers of calls and steps so far, for a progress line."""
        notify_counted()
        with self._lock:
            calls = sum(function.calls for function in self._met.functions.values())
            return calls, sum(loop.steps for loop in self._met.loops.values())

    def record(self) -> ProfileRecord:
        """Return the record so far, independent of later events; any thread may ask for it at any moment."""
        from scanviz.profiler.recording.deferred import with_work
        from scanviz.record.model import ProfileRecord
        from scanviz.record.names import numbered

        self._met.write(wait=self._run.has_ended)
        notify_counted()
        with self._lock:
            now = self._clock()
            call_ns = self._call_ns(now)
            running = self._timeline.running(now)
            functions = [
                self._met.plans.completed(function.snapshot(call_ns, running.get(key, 0)))
                for key, function in self._met.functions.items()
            ]
            names = numbered([function.name for function in functions])
            work = self._met.plans.work()
            return ProfileRecord(
                scanviz=_version(),
                python=platform.python_version(),
                numpy=np.__version__,
                machine=_machine(),
                started=self._run.started,
                script=self._run.script,
                arguments=self._run.arguments,
                detail=self.detail,
                wall_ns=self._run.wall_ns(now),
                outcome=self._run.outcome,
                cost=self._cost(),
                functions=tuple(
                    replace(
                        function,
                        name=name,
                        operations=with_work(function.operations, work.get((function.key, None))),
                    )
                    for function, name in zip(functions, names, strict=True)
                ),
                loops=tuple(
                    replace(loop, operations=with_work(loop.operations, work.get((loop.function, loop.key))))
                    for loop in self._with_sides(self._loop_records(now))
                ),
                left_out=self._met.left_out,
                first_nan=self._first_nan,
                measures=self._run.measures(),
                building=self._timeline.building(),
                threads=self._timeline.record(now, call_ns),
            )

    def _loop_records(self, now: int) -> list[LoopRecord]:
        """Return the loops, each with the profiler overhead of its inner loops."""
        records = {key: loop.snapshot(now) for key, loop in self._met.loops.items()}
        inner_cost, inner_recorder = dict.fromkeys(records, 0.0), dict.fromkeys(records, 0)
        for key, record in records.items():
            around = record.parent
            while around is not None:  # a known loop has only known outer loops
                inner_cost[around] += record.cost_ns
                inner_recorder[around] += self._met.loops[key].recorder_ns
                around = records[around].parent
        return [
            replace(record, inner_cost_ns=inner_cost[key], inner_recorder_ns=inner_recorder[key])
            for key, record in records.items()
        ]

    def _with_sides(self, loops: Iterable[LoopRecord]) -> Iterator[LoopRecord]:
        """Iterate over the loops, with the sides of branches that their steps took."""
        sides: dict[int, tuple[SideRecord, ...]] = {}
        for program in self._met.plans.programs():
            sides |= self._sides.of_loops(program)
        for loop in loops:
            yield replace(loop, sides=sides[loop.key]) if loop.key in sides and loop.operations else loop

    def _call_ns(self, now: int) -> float:
        """Return the nanoseconds of entering and leaving a call, at most what the wall time leaves; 0 without calls."""
        times = self._timeline
        if not times.calls and not times.calls_beside:
            return 0.0
        return min(self._calibration.call_ns, times.most_call_ns(self._run.wall_ns(now), now))

    def _cost(self) -> CostRecord:
        from scanviz.record.model import CostRecord

        loops = self._met.loops.values()
        observing = sum(function.recorder_ns for function in self._met.functions.values())
        return CostRecord(
            stamps=sum(loop.stamps for loop in loops),
            stamp_ns=self._calibration.stamp_ns if any(loop.stamps for loop in loops) else 0.0,
            chunks=sum(loop.chunks for loop in loops),
            recorder_ns=self._timeline.recording_ns + observing,
        )


def _version() -> str:
    """Return the version from the loaded package, which needs no installation."""
    return str(getattr(_PACKAGE, "__version__", ""))


def _machine() -> str:
    """Return processors and system in words, without the machine's name."""
    return f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}"


__all__ = ["DEFAULT_BYTES", "Recorder"]
