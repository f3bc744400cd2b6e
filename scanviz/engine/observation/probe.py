"""The probe of one call: its observers, its current level, and its counted runs.

An observed call runs with a probe, an unobserved one with None.  The level changes during the call: in an unobserved block of steps
it is :attr:`ProbeLevel.RUNS`, and code runs as without a probe, except that loops count their runs for a later report.
All counted calls of one thread and function share a probe, which collects their times and runs and reports them by the hundred.
Times of the program exclude observer overhead (:mod:`scanviz.engine.observation.observer_overhead`).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from scanviz.engine.locks import lock
from scanviz.engine.observation.events import BranchTaken, Run, together
from scanviz.engine.observation.ledger import BRANCHES_WEIGHED, Ledger
from scanviz.engine.observation.levels import LEVELS, RUNS, VALUES, ProbeLevel
from scanviz.engine.observation.observer_overhead import THREADS, ObserverOverhead, notify_all, notify_begun
from scanviz.engine.observe import Observer

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import BranchInstruction


Notify = Callable[[Observer], None]
CALL_NUMBERS = itertools.count()  # of calls with a begin event
MOST_RUNS = 4096  # counted runs kept one by one; more are summed
# held while counted calls are reported: a thread whose calls another thread reports waits for that
_notifying = lock()


class Probe:
    """The probe of one call.

    Parameters
    ----------
    function : int
        Key of the function.
    observers : tuple of Observer
        The observers of the call.
    outer : bool
        Whether the probe covers the whole call, not a part of the function.
    level : ProbeLevel, optional
        The probe level; by default the one that the observers request.

    Attributes
    ----------
    level : ProbeLevel
        The level of the code that runs now.
    steps_a_stamp : int
        Number of very short steps that may share one time.
    samples : bool
        Whether most of many short calls and runs may stay at :attr:`ProbeLevel.RUNS`: only if all observers allow it.
    control : bool
        Whether blocks of steps may stay at that level.
    weighs : bool
        Whether to measure memory.
    is_outer : bool
        Whether the probe covers the whole call.
    times_operations : bool
        Whether to time the instructions of the function's program.
    is_sample : bool
        Whether this is an observed call among many skipped ones.
    call : int
        The call's number, from its begin event on.
    waiting, in_use : bool
        Whether the begin of the call is not reported yet, and whether the call is running.
    own : ObserverOverhead
        The observer overhead of this thread.
    stamps : sequence of int
        Stamps before the first instruction of the function's program and after each, by the process's clock; empty if the tier did
        not time this call.
    ledger : Ledger or None
        Counts the bytes that the call holds, if the call is weighed.
    branches : dict of int to BranchTaken
        Sides of branches that the call took, by the branch's id.
    runs : deque of Run
        Counted runs of loops that are not reported yet.
    counters : dict of object to object
        Counters of machine code that counts runs itself; ``read`` returns the runs since the last reading, from any thread.
    calls : deque of tuple
        Nanoseconds of the run, checks, copies and observer overhead of each counted call that is not reported yet.
    thread, unreported_ns : int
        The thread of the calls, and the overhead of counting the last one.
    note_ns : int
        Nanoseconds of counting one run.
    entered, run_begun, run_ended, elapsed_ns : int
        Begin of the call, begin and end of its run, and the time of the run without observer overhead.
    """

    __slots__ = (
        "_observed_loops", "branches", "call", "calls", "control", "counters", "elapsed_ns", "entered", "function", "in_use",
        "is_outer", "is_sample", "ledger", "level", "note_ns", "observers", "own", "run_begun", "run_ended", "runs", "samples",
        "stamps", "steps_a_stamp", "thread", "times_operations", "unreported_ns", "waiting", "weighs",
    )  # fmt: skip

    def __init__(
        self,
        function: int,
        observers: tuple[Observer, ...],
        outer: bool = True,
        level: ProbeLevel | None = None,
    ) -> None:
        self.function, self.observers, self.is_outer = function, observers, outer
        self.own = THREADS.own
        highest = max((LEVELS[observer.detail] for observer in observers), default=ProbeLevel.STEPS)
        samples = all(observer.samples for observer in observers)
        self.level = highest if level is None else level
        self.samples = samples and highest is ProbeLevel.STEPS
        self.control = samples and highest is not VALUES
        self.steps_a_stamp = min((observer.steps_a_stamp for observer in observers), default=1)
        self.weighs = any(observer.weighs for observer in observers)
        self.is_sample = self.times_operations = self.waiting = self.in_use = False
        self._observed_loops: set[int] = set()
        self.runs: deque[Run] = deque()
        self.counters: dict[object, Any] = {}
        self.calls: deque[tuple[int, int, int, int]] = deque()
        self.thread, self.unreported_ns = get_ident(), 0
        self.stamps: Sequence[int] = ()
        self.ledger: Ledger | None = None
        self.branches: dict[int, BranchTaken] = {}
        self.call, self.note_ns = -1, note_overhead_ns()
        self.entered = self.run_begun = self.run_ended = self.elapsed_ns = 0

    def now(self) -> int:
        """Return the time in nanoseconds, by a clock that stands still during observer overhead."""
        return perf_counter_ns() - self.own.ns

    def looks_at(self, loop: int) -> bool:
        """Return whether this is the first run of a loop in an observed call among many skipped ones."""
        if not self.is_sample or loop in self._observed_loops:
            return False
        self._observed_loops.add(loop)
        return True

    def inside(self) -> Probe:
        """Return a probe for a part of a function, which reports no instructions outside of loops."""
        if self.level is not RUNS:
            notify_begun()
        found = Probe(self.function, self.observers, outer=False, level=self.level)
        found.runs, found.branches = self.runs, self.branches
        return found

    # runs counted for a later report

    def ran(self, loop: int, done: int, failed: int, elapsed_ns: int) -> None:
        """Count one run of a loop in this thread, of ``done`` steps; counting is observer overhead."""
        runs = self.runs
        runs.append((loop, 1, done, done, failed, elapsed_ns, ""))
        if len(runs) >= MOST_RUNS:
            self._pack()
        self.own.ns += self.note_ns

    def note(self, run: Run) -> None:
        """Count one or several runs of a loop."""
        self.runs.append(run)
        if len(self.runs) >= MOST_RUNS:
            self._pack()

    def _pack(self) -> None:
        self.runs.extend(together(_taken(self.runs)))

    def noted_ns(self) -> dict[int, int]:
        """Return the nanoseconds of the counted runs by the key of the loop."""
        found: dict[int, int] = {}
        for loop, _, _, _, _, elapsed_ns, _ in self.runs:
            if elapsed_ns >= 0:
                found[loop] = found.get(loop, 0) + elapsed_ns
        return found

    def notify_runs(self, control: bool = False) -> None:
        """Report the counted runs, and whether they ran in a control block."""
        if self.runs:
            runs = together(_taken(self.runs))
            for observer in self.observers:
                observer.loop_counted(self.function, runs, control)

    def notify_counted(self) -> None:
        """Report the counted calls and runs so far; any thread may ask for it at any moment."""
        with _notifying:
            for counter in list(self.counters.values()):
                self.runs.extend(counter.read())
            calls = _taken(self.calls)
            if not calls:
                self.notify_runs()
                return
            elapsed, checks, copies, observing = zip(*calls, strict=True)
            around, runs = (sum(checks), sum(copies), sum(observing)), together(_taken(self.runs))
            for observer in self.observers:
                observer.calls_counted(self.function, self.thread, elapsed, *around, runs)

    def branch(self, branch: BranchInstruction) -> BranchTaken:
        """Return the counts of the sides that the call takes of a branch."""
        found = self.branches.get(id(branch))
        if found is None:
            found = self.branches[id(branch)] = BranchTaken(branch)
        return found

    def sides_taken(self) -> None:
        """Report the sides of branches that the call took."""
        with self.own.aside():
            for taken in self.branches.values():
                for side in taken.sides:
                    if side.taken:
                        for observer in self.observers:
                            observer.side_taken(self.function, side)
        self.branches.clear()

    @property
    def weighs_inside(self) -> bool:
        """True if the next side of a branch is weighed, and therefore not timed."""
        return self.ledger is not None and self.ledger.inside < BRANCHES_WEIGHED

    # calls

    def notify_begin(self) -> None:
        """Notify the pending begin of the call, if any; the caller counts the time as observer overhead."""
        if self.waiting:
            self.waiting, self.own.waiting, self.call = False, None, next(CALL_NUMBERS)
            try:
                self.function_begin()
            except BaseException:
                self.observers = ()  # the notified ones have received the end event
                raise

    def function_begin(self) -> None:
        """Notify the begin of a call."""
        notify_all(self.own.probes)
        self._begin(
            lambda observer: observer.function_begin(self.function, self.call),
            lambda observer, error: observer.function_end(self.function, self.call, 0, error),
        )

    def function_end(self, elapsed_ns: int, error: BaseException | None) -> None:
        """Notify the end of a call."""
        self.notify_begin()
        try:
            notify_all(self.own.probes)
            self.notify_runs()
        finally:
            _each(
                self.observers,
                lambda observer: observer.function_end(self.function, self.call, elapsed_ns, error),
            )

    def _begin(self, begin: Notify, end: Callable[[Observer, BaseException], None]) -> None:
        """Notify observers of a begin; if one of them raises, notify the end to those notified before it."""
        notified = 0
        try:
            for observer in self.observers:
                begin(observer)
                notified += 1
        except BaseException as raised:
            error = raised
            _each(self.observers[:notified], lambda observer: end(observer, error))
            raise

    def function_returned(self, checks_ns: int, copies_ns: int, observing_ns: int) -> None:
        """Notify the return of the call to its caller."""
        for observer in self.observers:
            observer.function_returned(self.function, checks_ns, copies_ns, observing_ns)

    def operations_of_call(self, call_ns: int) -> None:
        """Report the time of each instruction of the function's program in a call of ``call_ns``, if they were timed."""
        if self.stamps:
            elapsed = [after - before for before, after in itertools.pairwise(self.stamps)]
            around = max(0, call_ns - (self.stamps[-1] - self.stamps[0]))
            for observer in self.observers:
                observer.operations(self.function, elapsed, around)

    # values

    def step_begins(self, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]) -> None:
        """Notify that a step is about to begin."""
        for observer in self.observers:
            observer.step_begins(self.function, loop, step, held)

    def step_inputs(self, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Report the input values of a step, or of the function."""
        if loop is None and not self.is_outer:
            return
        for observer in self.observers:
            observer.step_inputs(self.function, loop, step, values)

    def instruction(
        self, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Report the results of an instruction."""
        if loop is None and not self.is_outer:
            return
        for observer in self.observers:
            observer.instruction(self.function, loop, step, index, elapsed_ns, values)

    # loops

    def specialised(self, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Report the compilation of a loop."""
        with self.own.aside():
            notify_begun()
            for observer in self.observers:
                observer.specialised(self.function, loop, elapsed_ns, tier, why)

    def loop_begin(self, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Notify the begin of a run."""
        self._begin(
            lambda observer: observer.loop_begin(self.function, loop, n_steps, buffer_bytes),
            lambda observer, error: observer.loop_end(self.function, loop, 0, 0, 0, error),
        )

    def loop_rows(self, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Report the bytes of a loop's rows."""
        for observer in self.observers:
            observer.loop_rows(self.function, loop, row_bytes)

    def loop_end(
        self, loop: int, steps: int, elapsed_ns: int, setup_ns: int, error: BaseException | None
    ) -> None:
        """Notify the end of a run."""
        _each(
            self.observers,
            lambda observer: observer.loop_end(self.function, loop, steps, elapsed_ns, setup_ns, error),
        )

    # numbers

    def weighed(self, ledger: Ledger) -> None:
        """Report the peak memory of the call, overall and for each instruction outside of loops."""
        self.measured(None, "peak_bytes", ledger.peak)
        for index, most in enumerate(ledger.most[:-1]):
            self.measured(None, "held_bytes", most, index)

    def measured(self, loop: int | None, name: str, value: float, index: int | None = None) -> None:
        """Report a measure of a loop, or of an instruction of its step or of the function."""
        with self.own.aside():
            for observer in self.observers:
                observer.measured(self.function, loop, index, name, value)


def _each(observers: tuple[Observer, ...], notify: Notify) -> None:
    """Notify all observers, even if one of them raises."""
    notified = 0
    try:
        for observer in observers:
            notified += 1
            notify(observer)
    finally:
        if notified < len(observers):
            _each(observers[notified:], notify)


def _taken(waiting: deque[Any]) -> list[Any]:
    """Remove and return the waiting items; other threads may remove or add items meanwhile."""
    found = []
    with suppress(IndexError):
        for _ in range(len(waiting)):
            found.append(waiting.popleft())
    return found


NOTES = 200  # counted runs per round
ROUNDS = 5


@cache
def note_overhead_ns() -> int:
    """Measure the nanoseconds of counting one run: the minimum over some rounds, once per process."""
    found = []
    for _ in range(ROUNDS):
        probe = Probe.__new__(Probe)
        own = probe.own = ObserverOverhead()
        probe.runs, probe.note_ns = deque(), 0
        begun = perf_counter_ns()
        for steps in range(NOTES):
            held, before = own.ns, perf_counter_ns()
            probe.ran(0, steps, 0, perf_counter_ns() - before - own.ns + held)
        found.append(perf_counter_ns() - begun)
    return min(found) // NOTES
