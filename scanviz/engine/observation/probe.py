"""The probe of one call: who observes it, how closely it is looked at now, and what was noted in it.

A call runs with a probe, or with None where nobody observes.  The probe's level changes while the call goes on: in a block of steps
that is not looked at it is :attr:`ProbeLevel.RUNS`, and code runs as without a probe; loops note their runs, which are told later.
All calls of one thread and function that are not looked at share a probe: what they take and run is noted in it, and told some
hundreds at once.
What observing takes is no time of the program (:mod:`scanviz.engine.observation.observer_overhead`).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from scanviz.engine.locks import lock
from scanviz.engine.observation.events import Run, together
from scanviz.engine.observation.ledger import BRANCHES_WEIGHED, Ledger
from scanviz.engine.observation.levels import RUNS, ProbeLevel
from scanviz.engine.observation.observer_overhead import THREADS, ObserverOverhead, notify_all, notify_begun
from scanviz.engine.observation.sides import BranchTaken
from scanviz.engine.observe import Observer

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries
    from scanviz.engine.program.instructions import BranchInstruction


CALL_NUMBERS = itertools.count()  # of calls that somebody is told of
MOST_RUNS = 4096  # that are noted one by one; with more they are added up
# held while counted calls are reported: a thread whose calls another thread reports waits for that
_notifying = lock()


_LEVELS = {"steps": ProbeLevel.STEPS, "ops": ProbeLevel.OPERATIONS, "values": ProbeLevel.VALUES}


class Wanted(NamedTuple):
    """What observers want together: the closest look of all, and only what all of them allow.

    Attributes
    ----------
    level : ProbeLevel
        The closest look.
    steps_a_stamp : int
        How many steps may share one time where steps are very short.
    samples : bool
        Whether of many short calls and runs most may be looked at no closer than at :attr:`ProbeLevel.RUNS`.
    control : bool
        Whether blocks of steps may be.
    weighs : bool
        Whether memory is to be counted.
    """

    level: ProbeLevel
    steps_a_stamp: int
    samples: bool
    control: bool
    weighs: bool


def wanted_by(observers: tuple[Observer, ...]) -> Wanted:
    """Return what observers want together."""
    level = max((_LEVELS[observer.detail] for observer in observers), default=ProbeLevel.STEPS)
    samples = all(observer.samples for observer in observers)
    return Wanted(
        level,
        min((observer.steps_a_stamp for observer in observers), default=1),
        samples and level is ProbeLevel.STEPS,
        samples and level is not ProbeLevel.VALUES,
        any(observer.weighs for observer in observers),
    )


class Probe:
    """The probe of one call.

    Parameters
    ----------
    function : int
        Key of the function.
    observers : tuple of Observer
        All who observe the call.
    outer : bool
        Whether it is of a whole call, and no part of one.
    level : ProbeLevel, optional
        How closely the call is looked at; as the observers want where it is not given.

    Attributes
    ----------
    level : ProbeLevel
        How closely what runs now is looked at.
    steps_a_stamp, samples, control, weighs
        What the observers want: see :class:`Wanted`.
    is_outer : bool
        Whether it is of a whole call.
    is_sample : bool
        Whether it is a call that is looked at among many that are not.
    call : int
        The call's number, once somebody is told of it.
    waiting, in_use : bool
        Whether nobody has been told yet that the call began, and whether it goes on.
    own : ObserverOverhead
        What observing has taken in this thread.
    stamps : sequence of int
        Times of the process's clock before the first instruction of the function's program and after each of them, left by the tier
        that timed them in this call; empty where it did not.
    ledger : Ledger or None
        Counts the bytes that the call holds, where it is one of those that are weighed.
    branches : dict of int to BranchTaken
        Which sides of branches the call took, by the branch's id.
    runs : deque of Run
        Runs of loops that were noted and not told yet.
    counters : dict of object to object
        By machine code that counts such runs itself the memory in which it does: its ``read`` gives what was counted since the last
        time, in any thread.
    calls : deque of tuple
        Nanoseconds of the run, checks, copies and observing of each call that was counted and not told yet.
    thread, unreported_ns : int
        Whose calls these are, and what counting the last one took.
    note_ns : int
        Nanoseconds of noting one.
    entered, run_begun, run_ended, elapsed_ns : int
        When the call and its run began, and when that ended; how long it took without observing.
    """

    __slots__ = (
        "_looked_at", "branches", "call", "calls", "control", "counters", "elapsed_ns", "entered", "function", "in_use",
        "is_outer", "is_sample", "ledger", "level", "note_ns", "observers", "own", "run_begun", "run_ended", "runs", "samples",
        "stamps", "steps_a_stamp", "thread", "unreported_ns", "waiting", "weighs",
    )  # fmt: skip

    def __init__(
        self,
        function: int,
        observers: tuple[Observer, ...],
        outer: bool = True,
        level: ProbeLevel | None = None,
    ) -> None:
        self.function, self.observers, self.is_outer = function, observers, outer
        own = self.own = THREADS.own
        known, wanted = own.wanted  # mostly the same observers, call after call
        if wanted is None or (known is not observers and known != observers):
            wanted = wanted_by(observers)
            own.wanted = observers, wanted
        self.level, self.steps_a_stamp, self.samples, self.control, self.weighs = wanted
        if level is not None:
            self.level = level
        self.is_sample = self.waiting = self.in_use = False
        self._looked_at: set[int] = set()
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
        """Return the time in nanoseconds by a clock that stands still while observing takes time."""
        return perf_counter_ns() - self.own.ns

    def looks_at(self, loop: int) -> bool:
        """Return whether it is the first run of a loop in a call that is looked at among many that are not."""
        if not self.is_sample or loop in self._looked_at:
            return False
        self._looked_at.add(loop)
        return True

    def inside(self) -> Probe:
        """Return the same probe for a part of a function: instructions outside of its loops are not told."""
        if self.level is not RUNS:
            notify_begun()
        found = Probe(self.function, self.observers, outer=False, level=self.level)
        found.runs, found.branches = self.runs, self.branches
        return found

    # what is noted, and told later

    def ran(self, loop: int, done: int, failed: int, elapsed_ns: int) -> None:
        """Note a run of a loop in this thread, of so many steps; noting is observing."""
        runs = self.runs
        runs.append((loop, 1, done, done, failed, elapsed_ns, ""))
        if len(runs) >= MOST_RUNS:
            self._pack()
        self.own.ns += self.note_ns

    def note(self, run: Run) -> None:
        """Note one or several runs of a loop."""
        self.runs.append(run)
        if len(self.runs) >= MOST_RUNS:
            self._pack()

    def _pack(self) -> None:
        self.runs.extend(together(_taken(self.runs)))

    def noted_ns(self) -> dict[int, int]:
        """Return by the key of each loop what its noted runs took."""
        found: dict[int, int] = {}
        for loop, _, _, _, _, elapsed_ns, _ in self.runs:
            if elapsed_ns >= 0:
                found[loop] = found.get(loop, 0) + elapsed_ns
        return found

    def notify_runs(self, control: bool = False) -> None:
        """Tell the runs that were noted, and whether that was in a control block."""
        if self.runs:
            runs = together(_taken(self.runs))
            for observer in self.observers:
                observer.loop_counted(self.function, runs, control)

    def notify_counted(self) -> None:
        """Tell the calls that were counted, with the runs of loops noted so far; any thread may ask for it at any moment."""
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
        """Return what counts the sides that the call takes of a branch."""
        found = self.branches.get(id(branch))
        if found is None:
            found = self.branches[id(branch)] = BranchTaken(branch)
        return found

    def sides_taken(self) -> None:
        """Notify which sides of branches the call took."""
        with self.own.aside():
            for taken in self.branches.values():
                for side in taken.sides:
                    if side.taken:
                        for observer in self.observers:
                            observer.side_taken(self.function, side)
        self.branches.clear()

    @property
    def weighs_inside(self) -> bool:
        """Whether what the next side of a branch holds is counted, and it is not timed therefore."""
        return self.ledger is not None and self.ledger.inside < BRANCHES_WEIGHED

    # calls

    def notify_begin(self) -> None:
        """Tell that the call began, if nobody has been told yet; whoever asks for it counts what it takes as observing."""
        if self.waiting:
            self.waiting, self.own.waiting, self.call = False, None, next(CALL_NUMBERS)
            try:
                self.function_begin()
            except BaseException:
                self.observers = ()  # those who were told have been told its end
                raise

    def function_begin(self) -> None:
        """Tell that a call starts; where one of the observers raises, those told before it are told the end."""
        notify_all(self.own.probes)
        notified = 0
        try:
            for observer in self.observers:
                observer.function_begin(self.function, self.call)
                notified += 1
        except BaseException as error:
            self._for(self.observers[:notified]).function_end(0, error)
            raise

    def function_end(self, elapsed_ns: int, error: BaseException | None) -> None:
        """Tell that a call ended, all of the observers though one of them may raise."""
        self.notify_begin()
        notified = 0
        try:
            notify_all(self.own.probes)
            self.notify_runs()
            for observer in self.observers:
                notified += 1
                observer.function_end(self.function, self.call, elapsed_ns, error)
        finally:
            if notified < len(self.observers):
                self._for(self.observers[notified:]).function_end(elapsed_ns, error)

    def _for(self, observers: tuple[Observer, ...]) -> Probe:
        """Return a probe of the same call for some of its observers."""
        found = Probe(self.function, observers)
        found.call = self.call
        return found

    def function_returned(self, checks_ns: int, copies_ns: int, observing_ns: int) -> None:
        """Tell that the call returned to its caller."""
        for observer in self.observers:
            observer.function_returned(self.function, checks_ns, copies_ns, observing_ns)

    def operations_of_call(self, call_ns: int) -> None:
        """Tell how long each instruction of the function's program took in the call that took so long, where they were timed."""
        if self.stamps:
            elapsed = [after - before for before, after in itertools.pairwise(self.stamps)]
            around = max(0, call_ns - (self.stamps[-1] - self.stamps[0]))
            for observer in self.observers:
                observer.operations(self.function, elapsed, around)

    # values

    def step_begins(self, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]) -> None:
        """Tell that a step is about to begin."""
        for observer in self.observers:
            observer.step_begins(self.function, loop, step, held)

    def step_inputs(self, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Tell the values that a step, or the function, begins with."""
        if loop is None and not self.is_outer:
            return
        for observer in self.observers:
            observer.step_inputs(self.function, loop, step, values)

    def instruction(
        self, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Tell an instruction."""
        if loop is None and not self.is_outer:
            return
        for observer in self.observers:
            observer.instruction(self.function, loop, step, index, elapsed_ns, values)

    # loops

    def specialised(self, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Tell that code for a loop was made."""
        with self.own.aside():
            notify_begun()
            for observer in self.observers:
                observer.specialised(self.function, loop, elapsed_ns, tier, why)

    def loop_begin(self, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Tell that a loop starts; where one of the observers raises, those told before it are told the end."""
        notified = 0
        try:
            for observer in self.observers:
                observer.loop_begin(self.function, loop, n_steps, buffer_bytes)
                notified += 1
        except BaseException as error:
            self._for(self.observers[:notified]).loop_end(loop, 0, 0, 0, error)
            raise

    def loop_steps(self, series: StepSeries) -> None:
        """Tell a chunk of steps."""
        for observer in self.observers:
            observer.loop_steps(series)

    def loop_rows(self, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Tell the bytes of a loop's rows."""
        for observer in self.observers:
            observer.loop_rows(self.function, loop, row_bytes)

    def loop_observed(self, loop: int, own_ns: int) -> None:
        """Notify what observing a run of a loop took."""
        for observer in self.observers:
            observer.loop_observed(self.function, loop, own_ns)

    def loop_end(
        self, loop: int, steps: int, elapsed_ns: int, setup_ns: int, error: BaseException | None
    ) -> None:
        """Tell that a loop ended, all of the observers though one of them may raise."""
        notified = 0
        try:
            for observer in self.observers:
                notified += 1
                observer.loop_end(self.function, loop, steps, elapsed_ns, setup_ns, error)
        finally:
            if notified < len(self.observers):
                self._for(self.observers[notified:]).loop_end(loop, steps, elapsed_ns, setup_ns, error)

    # numbers

    def weighed(self, ledger: Ledger) -> None:
        """Notify how much memory the call held at most, and while each instruction outside of loops ran."""
        self.measured(None, "peak_bytes", ledger.peak)
        for index, most in enumerate(ledger.most[:-1]):
            self.measured(None, "held_bytes", most, index)

    def measured(self, loop: int | None, name: str, value: float, index: int | None = None) -> None:
        """Notify a number of a loop, or of an instruction of its step or of the function."""
        with self.own.aside():
            for observer in self.observers:
                observer.measured(self.function, loop, index, name, value)


def _taken(waiting: deque[Any]) -> list[Any]:
    """Return what waits, and take it away: what other threads take or add meanwhile is theirs."""
    found = []
    with suppress(IndexError):
        for _ in range(len(waiting)):
            found.append(waiting.popleft())
    return found


NOTES = 200  # of a round
ROUNDS = 5


@cache
def note_overhead_ns() -> int:
    """Return the nanoseconds that noting a run takes: the least of some rounds of what is done for one, once a process."""
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


__all__ = ["CALL_NUMBERS", "Probe", "note_overhead_ns"]
