"""The recorder: an observer that keeps a profile in bounded memory.

Totals are kept always; single steps are sampled.  One lock guards it all, so calls from several threads are counted
together.  While the program runs only times and counts are taken: what functions, loops and rewrites are is written down when the
record is asked for.  The engine measures what notifying takes, and keeps it out of the times notified.
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
from scanviz.profiler.recording.overhead import MeasuredOverhead, Prices
from scanviz.profiler.recording.sides import SidesTaken
from scanviz.profiler.recording.timeline import Timeline
from scanviz.profiler.recording.whole_run import WholeRun
from scanviz.record.outcome import OutcomeRecord

if TYPE_CHECKING:  # a script starts without the classes of its record
    from scanviz.engine.observation.events import CompiledFunction, Run, StepSeries
    from scanviz.engine.observation.sides import SideTaken
    from scanviz.record.model import CostRecord, LoopRecord, ProfileRecord
    from scanviz.record.operations import SideRecord

DEFAULT_BYTES = 64 * 2**20
_PACKAGE = sys.modules["scanviz"]  # a program may take it out of there


class Recorder(Observer):
    """Records what the engine tells.

    Parameters
    ----------
    detail : {"steps", "ops"}
        How closely to look: ``"steps"`` times each step, and each operation in a sample of the steps; ``"ops"``
        times each operation of every step.
    max_bytes : int
        About how much memory the recording may take; loops beyond it keep totals alone, and beyond that are only
        counted.
    clock : callable
        Gives nanoseconds; replaced in tests.
    calibration : Prices, optional
        What a time stamp costs; measured when it is first needed if not given.
    steps_a_stamp : int
        How many steps may share one time where steps are very short.
    samples : bool
        Whether of very many short runs of a loop, and of very many short calls, most are only counted, with their times.

    Examples
    --------
    >>> recorder = Recorder()
    >>> recorder.record().outcome.status
    'running'
    """

    weighs = True

    def __init__(
        self,
        detail: Literal["steps", "ops"] = "steps",
        max_bytes: int = DEFAULT_BYTES,
        clock: Callable[[], int] = time.perf_counter_ns,
        calibration: Prices | None = None,
        steps_a_stamp: int = 1,
        samples: bool = True,
    ) -> None:
        self.samples = samples
        self.detail: Literal["steps", "ops"] = detail
        self.steps_a_stamp = steps_a_stamp
        self._clock = clock
        self._lock = lock()  # not a Lock: a signal's handler may ask for the record at any moment
        self._calibration = calibration if calibration is not None else MeasuredOverhead()
        self._met = FunctionsMet(max_bytes, self._calibration, self._lock)
        self._sides = SidesTaken()
        self._run = WholeRun(clock)
        self._timeline = Timeline(threading.get_ident())

    def restart(self) -> None:
        """Let the wall time start here."""
        notify_counted()  # calls that were made before
        self._run.begin()
        self._timeline = Timeline(threading.get_ident())

    # what the engine tells

    def compiled(self, event: CompiledFunction) -> None:
        """Know of a function and its loops; what they are is written down when the clock has stopped."""
        with self._lock:
            self._met.meet(event)
        self._met.write_gone()

    def function_begin(self, function: int, call: int) -> None:
        """Open a call."""
        with self._lock:
            now, thread, found = self._clock(), get_ident(), self._met.functions.get(function)
            if found is not None:
                found.begin(call, thread)
            # last: where ctrl+c comes before, nobody is told an end
            self._timeline.enter(thread, "call", function, now)

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Count a call."""
        with self._lock:
            found = self._met.functions.get(function)
            inside = self._timeline.leave(threading.get_ident(), elapsed_ns)
            if found is not None:
                now = 0 if error is None else self._clock()  # asked for runs that an error left open
                found.end(call, threading.get_ident(), now, elapsed_ns, error is not None, inside)
                self._met.plans.call_ended(function)

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        """Add up what the engine and this recorder took to watch a loop."""
        with self._lock:
            found = self._met.loops.get(loop)
            if found is not None:
                found.recorder_ns += own_ns

    def operations(self, function: int, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """Count the operations outside of loops of one call."""
        with self._lock:
            found = self._met.functions.get(function)
            if found is not None:
                found.timed_call(elapsed_ns, around_ns)

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, watching_ns: int) -> None:
        """Count the parts of a call around its program."""
        with self._lock:
            found, around_ns = self._met.functions.get(function), checks_ns + copies_ns + watching_ns
            count = self._timeline.returned(threading.get_ident(), around_ns, 1)
            if found is not None:
                found.returned(checks_ns, copies_ns, watching_ns, count)

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
        """Count calls that were not looked at."""
        with self._lock:
            found, around_ns = self._met.functions.get(function), checks_ns + copies_ns + observing_ns
            entered = self._timeline.returned(thread, sum(elapsed_ns) + around_ns, len(elapsed_ns))
            if found is not None:
                found.count_unobserved(np.array(elapsed_ns, np.int64))
                found.returned(checks_ns, copies_ns, observing_ns, entered)
            self.loop_counted(function, runs, False)

    def build_begin(self, kind: Building, where: SourceLine | None) -> None:
        """Open the building of something."""
        with self._lock:
            self._timeline.enter(threading.get_ident(), "build", 0, self._clock())

    def build_end(self, kind: Building, where: SourceLine | None, elapsed_ns: int) -> None:
        """Count what was built."""
        with self._lock:
            inside = self._timeline.leave(threading.get_ident(), elapsed_ns)
            self._timeline.built_by(kind, where, elapsed_ns - inside)

    def build_observed(self, own_ns: int) -> None:
        """Count what watching a building took."""
        with self._lock:
            self._timeline.recorded(threading.get_ident(), own_ns)

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Count an operation outside of loops, or one in a step that is told on its own."""
        with self._lock:
            aggregate = self._met.functions.get(function) if loop is None else self._met.loops.get(loop)
            if aggregate is not None:
                aggregate.timed(index, elapsed_ns)

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Count code made for a loop."""
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
        """Take a chunk of steps."""
        with self._lock:
            found = self._met.loops.get(series.loop)
            if found is not None:
                found.take(threading.get_ident(), series)

    def loop_rows(self, function: int, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Take the bytes of a loop's rows."""
        with self._lock:
            found = self._met.loops.get(loop)
            if found is not None:
                found.rows_held(row_bytes)

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """Take a declared number."""
        with self._lock:
            found = self._met.functions.get(function) if loop is None else self._met.loops.get(loop)
            if found is not None:
                found.measured(index, name, value)

    def side_taken(self, function: int, taken: SideTaken) -> None:
        """Take which side of a branch a call took, and how long it was."""
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
        """Count runs of loops that were not looked at."""
        with self._lock:
            for run in runs:
                if run[0] in self._met.loops:
                    self._met.loops[run[0]].count(run, control)

    # what is asked of it

    def describe_script(self, script: str, arguments: Sequence[str]) -> None:
        """Say what is being run; a path is kept as in source lines, without the machine's folders."""
        self._run.describe(script, arguments)

    def finish(self, outcome: OutcomeRecord) -> None:
        """Say how the run ended; the wall time stops here."""
        with self._lock:
            self._run.end(outcome)

    def progress(self) -> tuple[int, int]:
        """Return the calls and steps counted so far: a glance for a progress line."""
        notify_counted()
        with self._lock:
            calls = sum(function.calls for function in self._met.functions.values())
            return calls, sum(loop.steps for loop in self._met.loops.values())

    def record(self) -> ProfileRecord:
        """Return the record so far, independent of what comes after; may be asked from any thread at any moment."""
        from scanviz.profiler.recording.work import with_work
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
                measures=self._run.measures(),
                building=self._timeline.building(),
                threads=self._timeline.record(now, call_ns),
            )

    def _loop_records(self, now: int) -> list[LoopRecord]:
        """Return the loops, with what recording those inside of each cost."""
        records = {key: loop.snapshot(now) for key, loop in self._met.loops.items()}
        inner_cost, inner_watching = dict.fromkeys(records, 0.0), dict.fromkeys(records, 0)
        for key, record in records.items():
            around = record.parent
            while around is not None:  # a loop is known only where those around it are
                inner_cost[around] += record.cost_ns
                inner_watching[around] += self._met.loops[key].recorder_ns
                around = records[around].parent
        return [
            replace(record, inner_cost_ns=inner_cost[key], inner_watching_ns=inner_watching[key])
            for key, record in records.items()
        ]

    def _with_sides(self, loops: Iterable[LoopRecord]) -> Iterator[LoopRecord]:
        """Iterate over loops with the sides of branches that their steps took."""
        sides: dict[int, tuple[SideRecord, ...]] = {}
        for program in self._met.plans.programs():
            sides |= self._sides.of_loops(program)
        for loop in loops:
            yield replace(loop, sides=sides[loop.key]) if loop.key in sides and loop.operations else loop

    def _call_ns(self, now: int) -> float:
        """Return what entering and leaving a call takes, no more than the clock leaves; it is not measured where there was none."""
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
    """Return the version; the package is loaded before this file, and right without an installation."""
    return str(getattr(_PACKAGE, "__version__", ""))


def _machine() -> str:
    """Return the processors and the system in words, never the machine's name."""
    return f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}"


__all__ = ["DEFAULT_BYTES", "Recorder"]
