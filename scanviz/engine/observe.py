"""What the engine tells whoever is watching.

A backend compiles a plain variant with no hook in it; only when an :class:`Observer` is attached does it run the
instrumented variant of the same code, which calls the methods below.  Observers never change results.  Static
facts (the function, its program, its loops) are told once by ``compiled``; what happens often carries only integer
keys and arrays.

Loops are told in chunks of steps: ``loop_begin``, then ``loop_steps`` once a chunk, then ``loop_end``.  A chunk is a
:class:`StepSeries`: its times are of single steps, of every k-th or of blocks of steps, and some also of each operation.

What one thread is told is strictly nested: between the begin and the end of a call or of a run of a loop, all that is told
in that thread belongs to it or to something inside it.  Whoever was told of a begin is told of its end, with the error that
ended it as an argument, also where the error is another observer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.locks import lock
from scanviz.engine.named_tuple import NamedTuple

Detail = Literal["steps", "ops", "values"]
Building = Literal["scan", "gradient", "function"]


class CompiledFunction:
    """A function was built: told once, before its first call.

    Attributes
    ----------
    key : int
        Identifies the function in later events.
    name : str
        The user's name, or where it was made.
    function : object
        The compiled :class:`~scanviz.engine.function.Function`.
    program : object
        Its :class:`~scanviz.engine.program.instructions.Program`; loops are found in it, each with a ``key``.
    backend : str
        Name of the tier that will run it, such as ``"numpy"``.
    build_ns : dict[str, int]
        Nanoseconds of each build stage (``rewrite``, ``lower``, ``compile``).
    where : object
        Source line of the ``function(...)`` call.
    """

    __slots__ = ("backend", "build_ns", "function", "key", "name", "program", "where")

    def __init__(
        self,
        key: int,
        name: str,
        function: Any,
        program: Any,
        backend: str,
        build_ns: dict[str, int],
        where: object,
    ) -> None:  # function and program are typed above this layer
        self.key, self.name, self.function, self.program = key, name, function, program
        self.backend, self.build_ns, self.where = backend, build_ns, where


class StepSeries:
    """Times of steps of one run of one loop, in order: of single steps, of every k-th, or of blocks of steps.

    A time is measured over an *interval*, which covers one step or several.  Steps that no interval covers were done, but have no
    time.

    Attributes
    ----------
    loop : int
        Key of the loop.
    first : int
        Number of the first step in this chunk, from 0.
    steps, timed_steps : int
        How many steps were done, and how many of them have a time.
    interval_ns : numpy.ndarray
        int64, shape (intervals,): nanoseconds of each interval (slices, body, stores and loop overhead of its steps).
    starts : numpy.ndarray or None
        int64, shape (intervals,): the first step of each interval; None where they follow one another from ``first`` on.
    covers : numpy.ndarray or None
        int64, shape (intervals,): how many steps each covers; None where that is one.
    op_ns : numpy.ndarray or None
        int64, shape (instructions of the body, intervals): nanoseconds of each instruction of the loop's body program, in
        program order, for chunks run with the per-operation variant; None otherwise.
    copy_ns : numpy.ndarray or None
        int64, shape (intervals,): nanoseconds spent copying results into the rows kept; given with ``op_ns``.
    span_ns : int
        Nanoseconds of all these steps, those without a time included.
    entry_ns : int
        Nanoseconds of ``span_ns`` before the first of them.
    source : str
        Where times come from: ``"perf_counter"``, ``"cycle counter"``, ``"cuda events"``.
    resolution_ns : float
        Times are multiples of that; 0 where it is not known.
    stamp_ns : float or None
        What taking one time costs; None where it is the clock of the process, whose cost is measured elsewhere.
    control : bool
        Whether these steps ran as they do when nobody watches, for what stamps cost to be seen by comparison.
    plain : bool
        Whether the code with stamps is that which runs when nobody watches: beside so many steps what a stamp costs is nothing.
    off_cpu_ns : int
        How long of ``span_ns`` the thread did not run, where that was looked for; of control steps it is in no interval.
    tier : str
        Of the code that ran, which may change from run to run: its typical step is one of its own.
    counted_runs : int
        Runs of loops inside that were timed one by one while these steps went on, of which only that is told: taking their times
        is in those of the steps.
    inside_ns : dict of int to int
        By key of the loop, nanoseconds of these runs together if each had taken what they take mostly.
    """

    __slots__ = (
        "control", "copy_ns", "counted_runs", "covers", "entry_ns", "first", "inside_ns", "interval_ns", "loop", "off_cpu_ns",
        "op_ns",
        "plain", "resolution_ns", "source", "span_ns", "stamp_ns", "starts", "steps", "tier", "timed_steps",
    )  # fmt: skip

    def __init__(
        self,
        loop: int,
        first: int,
        interval_ns: np.ndarray[Any, Any],
        op_ns: np.ndarray[Any, Any] | None = None,
        copy_ns: np.ndarray[Any, Any] | None = None,
        source: str = "perf_counter",
        *,
        starts: np.ndarray[Any, Any] | None = None,
        covers: np.ndarray[Any, Any] | None = None,
        steps: int | None = None,
        timed_steps: int | None = None,
        span_ns: int | None = None,
        entry_ns: int | None = None,
        resolution_ns: float = 0.0,
        stamp_ns: float | None = None,
        control: bool = False,
        plain: bool = False,
        off_cpu_ns: int = 0,
        tier: str = "",
    ) -> None:
        self.loop, self.first, self.interval_ns, self.op_ns, self.tier = loop, first, interval_ns, op_ns, tier
        self.control, self.plain, self.off_cpu_ns = control, plain, off_cpu_ns
        self.copy_ns, self.source, self.starts, self.covers = copy_ns, source, starts, covers
        if timed_steps is None:
            timed_steps = len(interval_ns) if covers is None else int(covers.sum())
        self.steps, self.timed_steps = timed_steps if steps is None else steps, timed_steps
        self.span_ns = int(interval_ns.sum()) if span_ns is None else span_ns
        self.entry_ns = self.span_ns - int(interval_ns.sum()) if entry_ns is None else entry_ns
        self.resolution_ns, self.stamp_ns, self.counted_runs = resolution_ns, stamp_ns, 0
        self.inside_ns: dict[int, int] = {}

    def shorter(self, step_ns: float) -> StepSeries:
        """Return the same with so much taken off each step."""
        from copy import copy  # of use while somebody watches

        found, covers = copy(self), 1 if self.covers is None else self.covers
        found.interval_ns = np.maximum(0, self.interval_ns - np.rint(step_ns * covers).astype(np.int64))
        found.span_ns = max(0, self.span_ns - round(step_ns * self.steps))
        return found

    @property
    def step_ns(self) -> np.ndarray[Any, Any]:
        """Nanoseconds a step of each interval, the average where it covers several: int64, shape (intervals,)."""
        if self.covers is None:
            return self.interval_ns
        rounded: np.ndarray[Any, Any] = (self.interval_ns + self.covers // 2) // self.covers
        return rounded


class CountedRuns:
    """Runs of a loop inside a control block of the loop around it, of which nothing else is told.

    Attributes
    ----------
    runs, failed, timed : int
        How many; how many of them an error ended; how many were timed one by one, which is in the times of the steps around them.
    steps, longest : int
        Steps of all of them, and the most of one.
    elapsed_ns : int
        Nanoseconds of all of them.
    lengths, times : list of int
        Steps and nanoseconds of those that no error ended, one by one, of so many at most: the first.
    noted : list of (int, int)
        Steps and nanoseconds of runs that no error ended, noted between two steps that are timed: they are counted when there is
        time.
    inside_tier : str
        Whose code the loop around is, where some of them were part of that code; empty where none was.
    inside_steps, inside_timed, inside_ns : int
        Their steps; those whose time is known, and their nanoseconds.
    """

    __slots__ = (
        "elapsed_ns", "failed", "inside_ns", "inside_steps", "inside_tier", "inside_timed", "lengths", "longest", "noted",
        "runs", "steps", "timed", "times",
    )  # fmt: skip
    MOST_KEPT = 4096

    def __init__(self) -> None:
        self.runs = self.failed = self.timed = self.steps = self.longest = self.elapsed_ns = 0
        self.inside_tier = ""
        self.inside_steps = self.inside_timed = self.inside_ns = 0
        self.lengths: list[int] = []
        self.times: list[int] = []
        self.noted: list[tuple[int, int]] = []

    @staticmethod
    def of(runs: RunsAlone) -> CountedRuns:
        """Return runs that were counted together."""
        found = CountedRuns()
        found.add_all(runs)
        return found

    def add_all(self, runs: RunsAlone) -> None:
        """Count runs that were counted together."""
        self.runs += runs.runs
        self.steps += runs.steps
        self.failed += runs.failed
        self.longest = max(self.longest, runs.longest)
        self.elapsed_ns += max(0, runs.elapsed_ns)

    def add_inside(self, tier: str, runs: RunsAlone) -> None:
        """Count runs that were part of the code of the loop around, which is a tier's."""
        self.add_all(runs)
        self.inside_tier = tier
        self.inside_steps += runs.steps
        if runs.elapsed_ns > 0:
            self.inside_timed += runs.steps
            self.inside_ns += runs.elapsed_ns

    def count_noted(self) -> None:
        """Count the runs that were only noted.

        Examples
        --------
        >>> runs = CountedRuns()
        >>> runs.noted += [(2, 100), (3, 120)]
        >>> runs.count_noted()
        >>> runs.runs, runs.steps, runs.longest, runs.elapsed_ns, runs.lengths, runs.noted
        (2, 5, 3, 220, [2, 3], [])
        """
        if not self.noted:
            return
        lengths, times = zip(*self.noted, strict=True)
        self.noted.clear()
        room = max(0, self.MOST_KEPT - self.runs)
        self.runs += len(lengths)
        self.timed += len(lengths)
        self.steps += sum(lengths)
        self.elapsed_ns += sum(times)
        self.longest = max(self.longest, *lengths)
        self.lengths += lengths[:room]
        self.times += times[:room]

    def usual_ns(self) -> int:
        """Return what all runs take together if each takes what they take mostly: the median of a hundred of them or so.

        Examples
        --------
        >>> runs = CountedRuns()
        >>> for elapsed_ns in [900_000, 100, 101]:
        ...     runs.add(1, elapsed_ns, False)
        >>> runs.usual_ns()
        303
        """
        some = sorted(self.times[:: max(1, len(self.times) // 100)])
        return some[len(some) // 2] * self.runs if some else self.elapsed_ns

    def add(self, steps: int, elapsed_ns: int, failed: bool) -> None:
        """Count a run."""
        self.runs += 1
        self.timed += 1
        self.failed += failed
        self.steps += steps
        self.elapsed_ns += elapsed_ns
        if steps > self.longest:
            self.longest = steps
        if not failed and self.runs <= self.MOST_KEPT:
            self.lengths.append(steps)
            self.times.append(elapsed_ns)


class RunsAlone(NamedTuple):
    """Runs of a loop in a call that is told as a whole.

    Attributes
    ----------
    loop : int
        Its key.
    runs, steps, longest, failed : int
        How many; the steps of all and of the longest; how many of them an error ended.
    elapsed_ns : int
        Nanoseconds of all, -1 where that is not known.
    """

    loop: int
    runs: int
    steps: int
    longest: int
    failed: int
    elapsed_ns: int


class AlikeCalls:
    """Calls of one function in one thread that had the same runs of loops, and where further ones like them are added.

    An observer that was told of such a call by ``call_run`` may answer with this.  Then others of the thread are not told, as long
    as there is room: each adds one number.

    Parameters
    ----------
    function : int
        Whose calls.
    runs : list of tuple
        The runs of loops in each.
    most : int
        How many may wait here.

    Attributes
    ----------
    elapsed : list of int
        Nanoseconds of each call that waits.
    watching_ns : int
        What watching all of them took: only grows.
    """

    __slots__ = ("elapsed", "function", "most", "runs", "watching_ns")

    def __init__(self, function: int, runs: list[tuple[int, int, int, int, int, int]], most: int) -> None:
        self.function, self.runs, self.most = function, runs, most
        self.elapsed: list[int] = []
        self.watching_ns = 0


class Observer:
    """Base of observers: every method does nothing, so that a watcher overrides what it needs.

    ``detail`` says how closely to look: ``"steps"`` times each step, and each operation in a sample of the steps;
    ``"ops"`` times each operation in every step; ``"values"`` runs the reference tier and tells every value.
    ``steps_a_stamp`` allows a tier to time so many steps at once where steps are very short.  ``samples_runs`` allows the engine
    to notify some of many short runs of a loop by ``loop_run`` alone, once enough of them were looked at closely, ``control`` to
    run a few blocks of steps as if nobody watched: of the loops inside them only ``loop_counted`` is told.  ``samples_calls``
    allows it to notify some of many short calls by ``call_run`` alone, which tells the runs of loops in them too.  With
    ``weighs`` the memory that some of the calls hold is counted and notified.  With ``lists_built`` functions are notified when
    they are built; else before their first call.
    """

    detail: Detail = "steps"
    steps_a_stamp: int = 1
    samples_runs: bool = False
    samples_calls: bool = False
    control: bool = False
    weighs: bool = False
    lists_built: bool = False

    def compiled(self, event: CompiledFunction) -> None:
        """A function was built."""

    def function_begin(self, function: int, call: int) -> None:
        """A call of function number ``function`` begins; ``call`` numbers the calls of the process whose begin is told."""

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """The call ended after ``elapsed_ns``, by ``error`` if it is not None."""

    def operations(self, function: int, elapsed_ns: Sequence[int], around_ns: int) -> None:
        """Each instruction of the function's program took so long in the call that has just run, in order.

        ``around_ns`` of the call lie before the first of them and after the last.  Short calls are timed so now and then alone
        (:mod:`scanviz.engine.runtime.call_schedule`), and with detail ``"ops"`` all.
        """

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, watching_ns: int) -> None:
        """The call whose end was told last in this thread returned to its caller.

        Beside the time that ``function_end`` told, its arguments were checked and shared variables read for ``checks_ns``, results
        were copied and shared variables updated for ``copies_ns``, and watchers were told of its begin and end for ``watching_ns``,
        with what telling them the return before it took.
        A call that an error ended does not return.
        """

    def call_run(
        self,
        function: int,
        elapsed_ns: int,
        checks_ns: int,
        copies_ns: int,
        watching_ns: int,
        runs: Sequence[tuple[int, int, int, int, int, int]],
    ) -> AlikeCalls | None:
        """A call began, ended after ``elapsed_ns`` without an error and returned (only with ``samples_calls``).

        Its begin and end are not told.  The other times are those of ``function_returned``; checks and copies are -1 where they
        are in ``elapsed_ns``.  ``runs`` has what :class:`RunsAlone` has.

        The answer says where further calls like this one may be added instead, None where they are to be told.
        """
        return None

    def build_begin(self, kind: Building, where: SourceLine | None) -> None:
        """A loop (``"scan"``), a gradient or a function is built from here on, by the user's line ``where``.

        What is built for it, such as the loops of a gradient, is part of it and not told on its own.
        """

    def build_end(self, kind: Building, where: SourceLine | None, elapsed_ns: int) -> None:
        """It was built in ``elapsed_ns``, or an error ended the building."""

    def build_observed(self, own_ns: int) -> None:
        """What watching the building took that ended last in this thread; it is in no time of the program.

        With it comes what notifying that of the building before it took.
        """

    def step_begins(
        self, function: int, loop: int, step: int, held: Callable[[int], tuple[Any, ...]]
    ) -> None:
        """A step of a loop is about to begin (detail ``"values"``).

        ``held(step)`` copies what the loop holds then: of each state the rows that earlier steps may have written and later ones
        may read, then its carries.  With the loop's inputs that is enough to go on from there.
        """

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """A step of a loop begins, or the function's program if ``loop`` is None (detail ``"values"``).

        The values are those of the program's inputs, in order; they belong to the engine, and rows of a state may be written
        over in a later step.  With other details nothing is told.
        """

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Instruction ``index`` of the program (of the loop's body if ``loop``) gave ``values`` (detail ``"values"``).

        The values belong to the engine: copy what is kept.  With other details nothing is told.
        """

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Code for a loop was made for newly met shapes, in ``elapsed_ns``; ``why`` says why this tier was taken."""

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """A loop starts a run of at most ``n_steps`` steps, with ``buffer_bytes`` for states, results and temporaries."""

    def loop_steps(self, series: StepSeries) -> None:
        """A chunk of steps was run; nested loops' chunks arrive before the chunk of the loop around them."""

    def loop_rows(self, function: int, loop: int, row_bytes: tuple[int, ...]) -> None:
        """A run of a loop holds so many bytes of rows at its end: of each state, then of each step output, in order."""

    def side_taken(self, function: int, taken: Any) -> None:
        """A call took a side of a branch so often: a :class:`scanviz.engine.runtime.sides.SideTaken`."""

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        """A number of a run of a loop, or of instruction ``index`` of its step (of the function where ``loop`` is None).

        ``name`` says which; whoever records it knows the names (``scanviz/record/measures.py``).
        """

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """The run ended after ``steps`` steps, by ``error`` if it is not None.

        ``setup_ns`` of ``elapsed_ns`` lie before the first step and after the last.  What watching took is in neither.
        """

    def loop_run(self, function: int, loop: int, steps: int, elapsed_ns: int, own_ns: int) -> None:
        """A run of a loop began and ended after ``steps`` steps; its steps have no times (only with ``samples_runs``).

        ``own_ns`` is what notifying the run before it took, which is in no time of the program.
        """

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        """What watching the run of a loop that ended last took; it is in no time of the program."""

    def loop_counted(self, function: int, loop: int, runs: CountedRuns) -> None:
        """Runs were taken as if nobody watched, inside a control block of the loop around this one."""


_lock = lock()
_attached: tuple[Observer, ...] = ()
# a number that is another one as soon as others are attached: a call reads it, and calls nothing for it
GENERATION = [0]


# Called with an observer that has been detached: by whoever keeps something of one, thread by thread.
LEFT: list[Callable[[Observer], None]] = []

# Filled from above: makes the observer behind function(profile=True); empty while there is no profiler.
PROFILER: list[Callable[[], Observer]] = []


def observers() -> tuple[Observer, ...]:
    """Return the observers attached now, in the order of attaching."""
    return _attached


def attach(observer: Observer) -> None:
    """Start telling ``observer`` what happens, in every thread.

    An observer that joins late still hears ``compiled`` for a function, just before the function's next call.
    """
    global _attached
    with _lock:
        if observer not in _attached:
            _attached = (*_attached, observer)
            GENERATION[0] += 1


def detach(observer: Observer) -> None:
    """Stop telling ``observer``; unknown observers are ignored."""
    global _attached
    with _lock:
        _attached = tuple([one for one in _attached if one is not observer])
        GENERATION[0] += 1
    for forget in LEFT:
        forget(observer)


@contextmanager
def observed_by(observer: Observer) -> Iterator[Observer]:
    """Attach ``observer`` while the block runs."""
    attach(observer)
    try:
        yield observer
    finally:
        detach(observer)
