"""Calls that were passed over and wait to be counted: very many come, so nothing is done with one but to keep its times.

They are counted some hundreds at once.  Mostly one function is called again and again with the same runs of loops: once some such
calls were counted, of each of the others a number waits.  More would take room that the program has in the processor's caches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scanviz.engine.observe import AlikeCalls
from scanviz.profiler.recording.passed_calls import CallTimes, Run

if TYPE_CHECKING:
    from scanviz.profiler.recording.function_aggregate import FunctionAggregate
    from scanviz.profiler.recording.loop_aggregate import LoopAggregate
    from scanviz.profiler.recording.timeline import Timeline

MOST = 512  # that wait
MOST_ALIKE = 2048  # of one kind
MANY = 16  # calls counted at once that are alike: then others like them are expected
KINDS = 64  # of calls that are expected
# a call: its thread, function, nanoseconds of its run, checks, copies and recording, and the runs of its loops
WaitingCall = tuple[int, int, int, int, int, int, Sequence[Run]]
_Kind = tuple[int, int, tuple[Run, ...]]  # thread, function, runs


class CallsOfThread(AlikeCalls):
    """Calls of one function in one thread that have the same runs of loops and were timed as a whole.

    Only its thread adds calls, and any takes them away.

    Parameters
    ----------
    thread, function : int
        Whose they are.
    runs : list of tuple
        The runs of loops in each.
    """

    __slots__ = ("_counted_ns", "thread")

    def __init__(self, thread: int, function: int, runs: list[Run]) -> None:
        super().__init__(function, runs, MOST_ALIKE)
        self.thread, self._counted_ns = thread, 0

    def taken(self) -> tuple[list[int], int]:
        """Return the times of the calls that wait, which wait no more, and what watching took since some were taken."""
        elapsed = self.elapsed[:]
        del self.elapsed[: len(elapsed)]  # others may be there since
        watching_ns = self.watching_ns
        since, self._counted_ns = watching_ns - self._counted_ns, watching_ns
        return elapsed, since


class WaitingCalls:
    """All calls that wait.

    Whoever adds one needs no lock; who has them counted does.

    Attributes
    ----------
    expected : dict of int to CallsOfThread
        By function, the calls of which one number waits each.
    """

    __slots__ = ("_calls", "_kinds", "expected")

    def __init__(self) -> None:
        self._calls: deque[WaitingCall] = deque()
        self.expected: dict[int, CallsOfThread] = {}
        self._kinds: list[
            CallsOfThread
        ] = []  # all that were ever expected: a thread may be about to add to one

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._calls) or any(alike.elapsed for alike in self._kinds)

    def add(
        self,
        function: int,
        elapsed_ns: int,
        checks_ns: int,
        copies_ns: int,
        watching_ns: int,
        runs: Sequence[Run],
    ) -> bool:
        """Add a call that is not expected; return whether so many wait that they should be counted."""
        calls = self._calls
        calls.append((get_ident(), function, elapsed_ns, checks_ns, copies_ns, watching_ns, runs))
        return len(calls) >= MOST

    def count(self, counted: CountedIn) -> None:
        """Count calls, before what their threads have open changes; others may be added meanwhile."""
        odd = [self._calls.popleft() for _ in range(len(self._calls))] if self._calls else []
        as_wholes = _by_kind(odd, counted) if odd else {}
        for alike in self._kinds:
            if alike.elapsed:
                counted.wholes(alike.thread, alike.function, alike.runs, *alike.taken())
        for (thread, function, runs), calls in as_wholes.items():
            counted.wholes(
                thread, function, runs, [call[2] for call in calls], sum([call[5] for call in calls])
            )
            if len(calls) >= MANY:
                self._expect(thread, function, list(runs))

    def _expect(self, thread: int, function: int, runs: list[Run]) -> None:
        """Expect more calls like these."""
        for alike in self._kinds:
            if alike.thread == thread and alike.function == function and alike.runs == runs:
                break
        else:
            if len(self._kinds) == KINDS:
                return
            alike = CallsOfThread(thread, function, runs)
            self._kinds.append(alike)
        self.expected[function] = alike


class CountedIn(NamedTuple):
    """What calls are counted in.

    Attributes
    ----------
    functions, loops : mapping
        What is known of them, by key.
    timeline : Timeline
        Where the threads stand.
    """

    functions: Mapping[int, FunctionAggregate]
    loops: Mapping[int, LoopAggregate]
    timeline: Timeline

    def wholes(
        self,
        thread: int,
        key: int,
        runs: Sequence[Run],
        elapsed_ns: Sequence[int],
        watching_ns: int,
    ) -> None:
        """Count calls that had the same runs of loops and were timed as wholes."""
        function = self.functions.get(key)
        count = self.timeline.returned(thread, sum(elapsed_ns) + watching_ns, len(elapsed_ns))
        if function is not None:
            self._take(function, runs, function.shares.divided(elapsed_ns, runs), watching_ns, count)

    def in_parts(self, thread: int, key: int, runs: Sequence[Run], calls: Sequence[WaitingCall]) -> None:
        """Count calls that had the same runs of loops and were timed in parts."""
        _, _, elapsed, checks, copies, watching, ran = zip(*calls, strict=True)
        together = sum(elapsed) + sum(checks) + sum(copies) + sum(watching)
        count, function = self.timeline.returned(thread, together, len(calls)), self.functions.get(key)
        if function is not None:
            times = [np.array([run[k][5] for run in ran], np.int64) for k in range(len(runs))]
            found = CallTimes(np.array(elapsed, np.int64), sum(checks), sum(copies), times)
            self._take(function, runs, found, sum(watching), count)

    def _take(
        self, function: FunctionAggregate, runs: Sequence[Run], found: CallTimes, watching: int, entered: int
    ) -> None:
        function.passed_over(found.elapsed, found.checks_ns, found.copies_ns)
        function.returned(found.checks_ns, found.copies_ns, watching, entered)
        for run, taken in zip(runs, found.loops, strict=True):
            if run[0] in self.loops:
                self.loops[run[0]].ran(run, taken)


def _by_kind(calls: Sequence[WaitingCall], counted: CountedIn) -> dict[_Kind, list[WaitingCall]]:
    """Count calls that were timed in parts, and return the others by thread, function and runs of loops."""
    in_parts: dict[_Kind, list[WaitingCall]] = {}
    as_wholes: dict[_Kind, list[WaitingCall]] = {}
    for call in calls:
        thread, key, elapsed, checks, copies, _, runs = call
        if checks < 0:
            as_wholes.setdefault((thread, key, tuple(runs)), []).append(call)
            continue
        if key in counted.functions:
            counted.functions[key].shares.know(elapsed, checks, copies, runs)
        bare = tuple([(*run[:5], -1) for run in runs])
        in_parts.setdefault((thread, key, bare), []).append(call)
    for (thread, key, bare), same in in_parts.items():
        counted.in_parts(thread, key, bare, same)
    return as_wholes


__all__ = ["MOST_ALIKE", "CallsOfThread", "CountedIn", "WaitingCall", "WaitingCalls"]
