"""Where each thread stands between the script and scanviz: what is inside scanviz, and what of it belongs to what.

A thread is in the script until a call or the building of something begins.  Calls may be made while something is built or while
another call runs; what is inside another one is taken off it, so that times of different things never overlap.  The times that are
added up come from the engine's events; this only knows what was open around them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.observe import Building

if TYPE_CHECKING:
    from scanviz.record.run_times import BuildRecord, ThreadTimesRecord

BUILT_AT = 256  # lines that building is told apart by


class _Open:
    """A call or a building that has begun in a thread."""

    __slots__ = ("begun", "inside_ns", "kind", "of")

    def __init__(self, kind: Literal["call", "build"], of: int, begun: int) -> None:
        self.kind, self.of, self.begun, self.inside_ns = kind, of, begun, 0


class Built:
    """What was built by one line: how often, how long it took without the calls made in it, and where the line is."""

    __slots__ = ("count", "kind", "total_ns", "where")

    def __init__(self, kind: Building, where: SourceLine | None) -> None:
        self.kind, self.where = kind, where
        self.count = self.total_ns = 0


class Timeline:
    """Times inside scanviz by thread, those of the thread that the recording began in told apart from others.

    Parameters
    ----------
    thread : int
        The one that the recording began in.

    Attributes
    ----------
    inside_ns, beside_ns : int
        What this thread, and all others, spent in calls, building and recording that have ended.
    recording_ns : int
        What of it recording took outside of calls.
    calls, calls_beside : int
        Calls from the script that ended in this thread, and in all others: what entering and leaving one takes is in no time of it.
    threads : set of int
        The others.
    built : dict
        What was built, by kind and line.

    Examples
    --------
    >>> times = Timeline(thread=1)
    >>> times.enter(1, "build", 0, 100)
    >>> times.enter(1, "call", 7, 110)
    >>> times.leave(1, 20), times.leave(1, 50)
    (0, 20)
    >>> times.inside_ns, times.running(200)
    (50, {})
    """

    __slots__ = (
        "_open", "_thread", "beside_ns", "built", "calls", "calls_beside", "inside_ns", "recording_ns", "threads",
    )  # fmt: skip

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._open: dict[int, list[_Open]] = {}
        self.inside_ns = self.beside_ns = self.recording_ns = 0
        self.calls = self.calls_beside = 0
        self.threads: set[int] = set()
        self.built: dict[tuple[Building, SourceLine | None], Built] = {}

    def enter(self, thread: int, kind: Literal["call", "build"], of: int, now: int) -> None:
        """Open a call of function ``of``, or a building."""
        self._open.setdefault(thread, []).append(_Open(kind, of, now))

    def leave(self, thread: int, elapsed_ns: int) -> int:
        """Close what the thread opened last; return how much of its time was inside something else that it held."""
        stack = self._open.get(thread)
        if not stack:  # it began before anybody watched
            return 0
        inside = min(stack.pop().inside_ns, elapsed_ns)
        if not stack:
            del self._open[thread]
        self.add(thread, elapsed_ns)
        return inside

    def add(self, thread: int, elapsed_ns: int) -> None:
        """Count time inside scanviz: as part of what the thread has open, else of the thread."""
        stack = self._open.get(thread)
        if stack:
            stack[-1].inside_ns += elapsed_ns
        elif thread == self._thread:
            self.inside_ns += elapsed_ns
        else:
            self.threads.add(thread)
            self.beside_ns += elapsed_ns

    def returned(self, thread: int, elapsed_ns: int, calls: int) -> int:
        """Count what so many calls took that were made at one place; return how many of them the script made."""
        self.add(thread, elapsed_ns)
        if self._open.get(thread):
            return 0
        if thread == self._thread:
            self.calls += calls
        else:
            self.calls_beside += calls
        return calls

    def built_by(self, kind: Building, where: SourceLine | None, own_ns: int) -> None:
        """Count what a line built."""
        key = (kind, where)
        if key not in self.built and len(self.built) >= BUILT_AT:
            key = (kind, None)
        found = self.built.setdefault(key, Built(*key))
        found.count += 1
        found.total_ns += own_ns

    def recorded(self, thread: int, elapsed_ns: int) -> None:
        """Count recording outside of calls."""
        self.recording_ns += elapsed_ns
        self.add(thread, elapsed_ns)

    def most_call_ns(self, wall_ns: int, now: int) -> float:
        """Return what entering and leaving a call may take at most in a run that took so long."""
        opened = self._open.get(self._thread)
        going_on = max(0, now - opened[0].begun) if opened else 0
        return max(0, wall_ns - self.inside_ns - going_on) / self.calls if self.calls else math.inf

    def running(self, now: int) -> dict[int, int]:
        """Return how long calls that have not ended ran so far, by function, less what is inside them."""
        found: dict[int, int] = {}
        for stack in self._open.values():
            ends = [*(opened.begun for opened in stack[1:]), now]
            for opened, end in zip(stack, ends, strict=True):
                if opened.kind == "call":
                    own = max(0, end - opened.begun - opened.inside_ns)
                    found[opened.of] = found.get(opened.of, 0) + own
        return found

    def building(self) -> tuple[BuildRecord, ...]:
        """Return what was built, the longest first."""
        if not self.built:
            return ()
        from scanviz.record.program_snapshot import source_record
        from scanviz.record.run_times import BuildRecord

        found = sorted(self.built.values(), key=lambda built: -built.total_ns)
        return tuple(
            BuildRecord(built.kind, source_record(built.where), built.count, built.total_ns)
            for built in found
        )

    def record(self, now: int, call_ns: float) -> ThreadTimesRecord:
        """Return times by thread, where entering and leaving a call takes so long; what has not ended counts up to now."""
        from scanviz.record.run_times import ThreadTimesRecord

        going_on = {thread: max(0, now - stack[0].begun) for thread, stack in self._open.items()}
        own = going_on.pop(self._thread, 0)
        return ThreadTimesRecord(
            self.inside_ns + own + round(self.calls * call_ns),
            self.beside_ns + sum(going_on.values()) + round(self.calls_beside * call_ns),
            len(self.threads | set(going_on)),
            self.recording_ns,
        )


__all__ = ["Built", "Timeline"]
