"""What observers are told of, as data: a function that was built, times of steps, runs and calls that were only counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from itertools import cycle
from operator import index as whole_number
from typing import Any

import numpy as np

from scanviz.engine.named_tuple import NamedTuple

ALL_TIMED = 32  # runs of a loop in a part of the loop around, before any is let pass
LET_PASS = 7, 13, 11, 17  # so many runs between two that are timed
LONG_RUN_NS = 50_000  # of a run that takes no notice of being timed
# times as long as a typical run: what disturbed one so much did not disturb those that are taken to be like it
SLOW = 10


def usual_mean(times: Sequence[int]) -> int:
    """Return the mean of times, none of which counts more than it would if it were some times the median.

    Examples
    --------
    >>> usual_mean([100, 110, 120, 9_000_000])
    382
    """
    most = SLOW * sorted(times)[len(times) // 2]
    return sum([min(time, most) for time in times]) // len(times)


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
        Shape (instructions of the body, intervals): nanoseconds of each instruction of the loop's body program, in program
        order, for chunks run with the per-operation variant; None otherwise.  Shares of what several take that are done as one
        are no whole numbers.
    copy_ns : numpy.ndarray or None
        int64, shape (intervals,): nanoseconds spent copying results into the rows kept; given with ``op_ns``.
    op_stamps : sequence of float or None
        How many stamps the time of each instruction holds: a part of one where several are done as one, none where it has no time
        of its own; None where each holds one.
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
    counted_runs, alike_runs : int
        Runs of loops inside that were timed one by one while these steps went on, of which only that is told: taking their times
        is in those of the steps; and runs that were counted without a time, for they were like those before.
    inside_ns : dict of int to int
        By key of the loop, nanoseconds of these runs together if each had taken what they take mostly.
    """

    __slots__ = (
        "alike_runs", "control", "copy_ns", "counted_runs", "covers", "entry_ns", "first", "inside_ns", "interval_ns", "loop",
        "off_cpu_ns", "op_ns", "op_stamps", "plain", "resolution_ns", "source", "span_ns", "stamp_ns", "starts", "steps", "tier",
        "timed_steps",
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
        op_stamps: Sequence[float] | None = None,
    ) -> None:
        self.loop, self.first, self.interval_ns, self.op_ns, self.tier = loop, first, interval_ns, op_ns, tier
        self.control, self.plain, self.off_cpu_ns, self.op_stamps = control, plain, off_cpu_ns, op_stamps
        self.copy_ns, self.source, self.starts, self.covers = copy_ns, source, starts, covers
        if timed_steps is None:
            timed_steps = len(interval_ns) if covers is None else int(covers.sum())
        self.steps, self.timed_steps = timed_steps if steps is None else steps, timed_steps
        self.span_ns = int(interval_ns.sum()) if span_ns is None else span_ns
        self.entry_ns = self.span_ns - int(interval_ns.sum()) if entry_ns is None else entry_ns
        self.resolution_ns, self.stamp_ns = resolution_ns, stamp_ns
        self.counted_runs = self.alike_runs = 0
        self.inside_ns: dict[int, int] = {}

    def shorter(self, step_ns: float) -> StepSeries:
        """Return the same with so much taken off each step."""
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

    Parameters
    ----------
    let_pass : iterable of int
        Between two runs that are timed so many are let pass, in turn, where they are alike, many and short.

    Attributes
    ----------
    runs, failed, timed, let_pass : int
        How many; how many of them an error ended; how many were timed one by one, which is in the times of the steps around them;
        how many were let pass without a time.
    steps, longest : int
        Steps of all of them, and the most of one.
    elapsed_ns : int
        Nanoseconds of all of them.
    lengths, times : list of int
        Steps and nanoseconds of those that no error ended, one by one, of so many at most: the first.  One that was let pass is
        taken to be as long as those are mostly that were not.
    noted : list of (int, int, int)
        Steps and nanoseconds of runs that no error ended, noted between two steps that are timed, and how many like it were let
        pass before it: they are counted when there is time.
    given : object
        What the number of steps of the last one was given as, where that is never another number: runs that are given the same
        have as many steps.
    alike : int
        How many more that are given it are let pass.
    inside_tier : str
        Whose code the loop around is, where some of them were part of that code; empty where none was.
    inside_steps, inside_timed, inside_ns : int
        Their steps; those whose time is known, and their nanoseconds.
    """

    __slots__ = (
        "_let", "_lets", "alike", "elapsed_ns", "failed", "given", "inside_ns", "inside_steps", "inside_tier", "inside_timed",
        "lengths", "let_pass", "longest", "noted", "runs", "steps", "timed", "times",
    )  # fmt: skip
    MOST_KEPT = 4096

    def __init__(self, let_pass: Iterable[int] = LET_PASS) -> None:
        self.runs = self.failed = self.timed = self.let_pass = self.steps = self.longest = self.elapsed_ns = 0
        self.given: Any = None
        self.alike, self._let, self._lets = 0, 0, cycle(let_pass)
        self.inside_tier = ""
        self.inside_steps = self.inside_timed = self.inside_ns = 0
        self.lengths: list[int] = []
        self.times: list[int] = []
        self.noted: list[tuple[int, int, int]] = []

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

    def note(self, given: Any, elapsed_ns: int) -> None:
        """Note a run that was given so many steps and no error ended, and let some pass that are given the same.

        They are let pass where they are many and short: to time one takes longer than entering it.  How many changes from time to
        time, for the program may have a rhythm of its own.
        """
        passed = self._let - self.alike
        self.noted.append((whole_number(given), elapsed_ns, passed))
        is_array = type(given) is np.ndarray  # may become another number, unless nobody can write into it
        self.given = None if is_array and given.flags.writeable else given
        is_many = self.runs or len(self.noted) >= ALL_TIMED
        self.alike = self._let = next(self._lets) if is_many and elapsed_ns < LONG_RUN_NS else 0
        if len(self.noted) >= self.MOST_KEPT:
            self.count_noted()

    def count_noted(self) -> None:
        """Count the runs that were only noted, and those that were let pass.

        Examples
        --------
        >>> runs = CountedRuns()
        >>> runs.noted += [(2, 100, 0), (3, 120, 0)]
        >>> runs.count_noted()
        >>> runs.runs, runs.steps, runs.longest, runs.elapsed_ns, runs.lengths, runs.noted
        (2, 5, 3, 220, [2, 3], [])
        """
        if not self.noted:
            return
        lengths, times, passed = zip(*self.noted, strict=True)
        last, self.alike, self._let = self._let - self.alike, 0, 0
        self.noted.clear()
        self.timed += len(lengths)
        self._add(len(lengths), sum(lengths), sum(times), lengths, times)
        # those that passed before a run are like the one that was noted before it
        before, alike = Counter[int](), defaultdict[int, list[int]](list)
        for length, ns, count in zip(lengths, times, (*passed[1:], last), strict=True):
            before[length] += count
            alike[length].append(ns)
        for length, count in before.items():
            if count:
                self.let_pass += count
                usual = usual_mean(alike[length])
                kept = min(count, self.MOST_KEPT)
                self._add(count, length * count, usual * count, [length] * kept, [usual] * kept)

    def _add(
        self, runs: int, steps: int, elapsed_ns: int, lengths: Sequence[int], times: Sequence[int]
    ) -> None:
        room = max(0, self.MOST_KEPT - self.runs)
        self.runs += runs
        self.steps += steps
        self.elapsed_ns += elapsed_ns
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
