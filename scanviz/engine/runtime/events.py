"""Who watches one call of a function, told by whatever runs it.

What watching itself takes is no time of the program (:mod:`scanviz.engine.runtime.own_time`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from scanviz.engine.observe import Observer
from scanviz.engine.runtime.ledger import BRANCHES_WEIGHED, Ledger
from scanviz.engine.runtime.own_time import THREADS, tell_what_began
from scanviz.engine.runtime.sides import BranchTaken
from scanviz.engine.runtime.wanted import wanted_by
from scanviz.engine.told import CountedRuns, RunsAlone, StepSeries

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import BranchInstruction


CALL_NUMBERS = itertools.count()  # of calls that somebody is told of


class Watch:
    """Who watches one call of a function.

    Attributes
    ----------
    function : int
        Key of the function.
    observers : tuple of Observer
        All of them.
    detail : str
        The closest look that one of them wants: ``"steps"``, ``"ops"`` or ``"values"``.
    steps_a_stamp : int
        How many steps one time may be of where steps are very short: as many as all of them allow.
    samples_runs, samples_calls : bool
        Whether of many short runs of a loop some may be notified without times of their steps, and of many short calls some without
        what happened in them.
    control : bool
        Whether all of them allow blocks of steps that run as if nobody watched.
    weighs : bool
        Whether one of them wants to know how much memory calls hold.
    is_outer : bool
        Whether it watches a whole call, and no part of one.
    is_sample : bool
        Whether it is a call that is looked at among many that are not.
    waiting : int or None
        The call's number, as long as nobody has been told that it began.
    own : OwnTime
        What watching has taken in this thread.
    stamps : sequence of int
        Times of the process's clock before the first instruction of the function's program and after each of them, left by the tier
        that timed them in this call; empty where it did not.
    ledger : Ledger or None
        Counts the bytes that the call holds, where it is one of those that are weighed.
    branches : dict of int to BranchTaken
        Which sides of branches the call took, by the branch's id.
    counted : dict of int to CountedRuns or None
        Where runs of loops are only counted, by key of the loop: they are part of a control block of the loop around them.
    runs : list of tuple
        Of a call that is passed over: the runs of loops in it that nobody has been told of yet, as those of :class:`RunsAlone`.
    times_runs : bool
        Whether these are timed.
    is_alone : bool
        Whether the call goes on as if nobody watched, and only the runs of its loops are noted.
    """

    __slots__ = (
        "_looked_at",
        "branches",
        "control",
        "counted",
        "detail",
        "function",
        "is_outer",
        "is_sample",
        "ledger",
        "observers",
        "own",
        "runs",
        "samples_calls",
        "samples_runs",
        "stamps",
        "steps_a_stamp",
        "times_runs",
        "waiting",
        "weighs",
    )
    is_alone = False

    def __init__(
        self,
        function: int,
        observers: tuple[Observer, ...],
        outer: bool = True,
        counted: dict[int, CountedRuns] | None = None,
    ) -> None:
        self.function, self.observers, self.is_outer, self.counted = function, observers, outer, counted
        own = self.own = THREADS.own
        known, wanted = own.wanted  # mostly the same observers watch call after call
        if known is not observers and known != observers:
            wanted = wanted_by(observers)
            own.wanted = observers, wanted
        self.detail, self.steps_a_stamp, self.samples_runs, self.samples_calls, self.control, self.weighs = (
            wanted
        )
        self.is_sample = False
        self._looked_at: set[int] = set()
        self.runs: list[tuple[int, int, int, int, int, int]] = []
        self.times_runs = False
        self.waiting: int | None = None
        self.stamps: Sequence[int] = ()
        self.ledger: Ledger | None = None
        self.branches: dict[int, BranchTaken] = {}

    def now(self) -> int:
        """Return the time in nanoseconds by a clock that stands still while watching takes time."""
        return perf_counter_ns() - self.own.ns

    def looks_at(self, loop: int) -> bool:
        """Return whether it is the first run of a loop in a call that is looked at among many that are not."""
        if not self.would_look_at(loop):
            return False
        self._looked_at.add(loop)
        return True

    def would_look_at(self, loop: int) -> bool:
        """Return whether none of the runs of a loop was looked at yet, in a call that is looked at among many that are not."""
        return self.is_sample and loop not in self._looked_at

    def inside(self) -> Watch:
        """Return the same watch for a part of a function: instructions outside of its loops are not told."""
        tell_what_began()
        return Watch(self.function, self.observers, outer=False, counted=self.counted)

    def counting(self) -> Watch:
        """Return the same watch for what runs inside a control block."""
        found = Watch(self.function, self.observers, self.is_outer, counted={})
        found.branches = self.branches
        return found

    def tell_counted(self) -> tuple[int, int]:
        """Tell the runs that were only counted, and return how many of them were timed one by one, and how many let pass."""
        timed = let_pass = 0
        for loop, runs in self.runs_counted():
            runs.count_noted()
            timed, let_pass = timed + runs.timed, let_pass + runs.let_pass
            for observer in self.observers:
                observer.loop_counted(self.function, loop, runs)
        return timed, let_pass

    def runs_counted(self) -> Iterator[tuple[int, CountedRuns]]:
        """Iterate over the loops of which runs were only counted, by key."""
        yield from (self.counted or {}).items()

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

    def specialised(self, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Tell that code for a loop was made."""
        with self.own.aside():
            tell_what_began()
            for observer in self.observers:
                observer.specialised(self.function, loop, elapsed_ns, tier, why)

    def function_begin(self, call: int) -> None:
        """Tell that a call starts; where one of the observers raises, those told before it are told the end."""
        told = 0
        try:
            for observer in self.observers:
                observer.function_begin(self.function, call)
                told += 1
        except BaseException as error:
            Watch(self.function, self.observers[:told]).function_end(call, 0, error)
            raise

    def tell_begin(self) -> None:
        """Tell that the call began, if nobody has been told yet; whoever asks for it counts what it takes as watching."""
        call = self.waiting
        if call is None:
            return
        self.waiting = self.own.waiting = None
        try:
            self.function_begin(call)
        except BaseException:
            self.observers = ()  # those who were told have been told its end
            raise
        self.tell_runs()

    def tell_runs(self) -> None:
        """Tell the runs of a call that was passed over, and then something else was told of it."""
        runs, self.runs = self.runs, []
        for run in runs:
            counted = CountedRuns.of(RunsAlone(*run))
            for observer in self.observers:
                observer.loop_counted(self.function, run[0], counted)

    def count(self, tier: str, runs: Sequence[RunsAlone]) -> None:
        """Take runs of loops inside of others, part of whose code they are, that are only counted, whatever it is part of."""
        if self.counted is not None:
            for run in runs:
                self.counted.setdefault(run.loop, CountedRuns()).add_inside(tier, run)
        elif self.waiting is not None:
            self.runs.extend(runs)
        elif runs:
            with self.own.aside():
                for run in runs:
                    counted = CountedRuns()
                    counted.add_inside(tier, run)
                    for observer in self.observers:
                        observer.loop_counted(self.function, run.loop, counted)

    def ran(self, loop: int, steps: int, begun: int, failed: int) -> None:
        """Note a run in a call that is passed over; it is timed where ``begun`` is known."""
        elapsed = perf_counter_ns() - self.own.ns - begun if begun else -1
        self.runs.append((loop, 1, steps, steps, failed, elapsed))

    @property
    def weighs_inside(self) -> bool:
        """Whether what the next side of a branch holds is counted, and it is not timed therefore."""
        return self.ledger is not None and self.ledger.inside < BRANCHES_WEIGHED

    def branch(self, branch: BranchInstruction) -> BranchTaken:
        """Return what counts the sides that the call takes of a branch."""
        found = self.branches.get(id(branch))
        if found is None:
            found = self.branches[id(branch)] = BranchTaken(branch)
        return found

    def sides_taken(self) -> None:
        """Notify which sides of branches the call took."""
        with self.own.aside():
            self._tell_sides()

    def _tell_sides(self) -> None:
        tell_what_began()
        for taken in self.branches.values():
            for side in taken.sides:
                if side.taken:
                    for observer in self.observers:
                        observer.side_taken(self.function, side)

    def function_end(self, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Tell that a call ended, all of the observers though one of them may raise."""
        self.tell_begin()
        told = 0
        try:
            for observer in self.observers:
                told += 1
                observer.function_end(self.function, call, elapsed_ns, error)
        finally:
            if told < len(self.observers):
                Watch(self.function, self.observers[told:]).function_end(call, elapsed_ns, error)

    def operations_of_call(self, call_ns: int) -> None:
        """Tell how long each instruction of the function's program took in the call that took so long, where they were timed."""
        if self.stamps:
            self.tell_begin()
            elapsed = [after - before for before, after in itertools.pairwise(self.stamps)]
            around = max(0, call_ns - (self.stamps[-1] - self.stamps[0]))
            for observer in self.observers:
                observer.operations(self.function, elapsed, around)

    def function_returned(self, checks_ns: int, copies_ns: int, watching_ns: int) -> None:
        """Tell that the call returned to its caller."""
        for observer in self.observers:
            observer.function_returned(self.function, checks_ns, copies_ns, watching_ns)

    def loop_begin(self, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Tell that a loop starts; where one of the observers raises, those told before it are told the end."""
        self.tell_begin()
        told = 0
        try:
            for observer in self.observers:
                observer.loop_begin(self.function, loop, n_steps, buffer_bytes)
                told += 1
        except BaseException as error:
            Watch(self.function, self.observers[:told]).loop_end(loop, 0, 0, 0, error)
            raise

    def loop_steps(self, series: StepSeries) -> None:
        """Tell a chunk of steps."""
        for observer in self.observers:
            observer.loop_steps(series)

    def loop_rows(self, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Tell the bytes of a loop's rows."""
        for observer in self.observers:
            observer.loop_rows(self.function, loop, row_bytes)

    def weighed(self, ledger: Ledger) -> None:
        """Notify how much memory the call held at most, and while each instruction outside of loops ran."""
        self.measured(None, "peak_bytes", ledger.peak)
        for index, most in enumerate(ledger.most[:-1]):
            self.measured(None, "held_bytes", most, index)

    def measured(self, loop: int | None, name: str, value: float, index: int | None = None) -> None:
        """Notify a number of a loop, or of an instruction of its step or of the function."""
        with self.own.aside():
            tell_what_began()
            for observer in self.observers:
                observer.measured(self.function, loop, index, name, value)

    def loop_run(self, loop: int, steps: int, elapsed_ns: int, own_ns: int) -> None:
        """Notify a whole run whose steps have no times."""
        for observer in self.observers:
            observer.loop_run(self.function, loop, steps, elapsed_ns, own_ns)

    def loop_observed(self, loop: int, own_ns: int) -> None:
        """Notify what watching a run of a loop took."""
        for observer in self.observers:
            observer.loop_observed(self.function, loop, own_ns)

    def loop_end(
        self, loop: int, steps: int, elapsed_ns: int, setup_ns: int, error: BaseException | None
    ) -> None:
        """Tell that a loop ended, all of the observers though one of them may raise."""
        told = 0
        try:
            for observer in self.observers:
                told += 1
                observer.loop_end(self.function, loop, steps, elapsed_ns, setup_ns, error)
        finally:
            if told < len(self.observers):
                rest = Watch(self.function, self.observers[told:])
                rest.loop_end(loop, steps, elapsed_ns, setup_ns, error)
