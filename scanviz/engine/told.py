"""What observers are told of, as data: a function that was built, times of steps, runs and calls that were only counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.named_tuple import NamedTuple


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


__all__ = ["CompiledFunction", "CountedRuns", "RunsAlone", "StepSeries"]
