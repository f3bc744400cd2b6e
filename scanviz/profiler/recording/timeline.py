"""The time of a run: as a whole, and of each thread by the script and scanviz's calls and builds.

A thread runs the script until a call or a build begins.  Calls may nest in builds and in other calls; the time of the inner one is
subtracted from the outer one, so that times never overlap.  The times come from the engine's events; the timeline keeps the stack
of open calls and builds per thread.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.observe import Building
from scanviz.profiler.recording.processor import Usage, process_usage, used
from scanviz.record.paths import recorded_path
from scanviz.record.values import OutcomeRecord

if TYPE_CHECKING:
    from scanviz.record.model import BuildRecord, ThreadTimesRecord

BUILT_AT = 256  # distinct source lines of builds


class _Open:
    """An open call or build of a thread."""

    __slots__ = ("begun", "inside_ns", "kind", "of")

    def __init__(self, kind: Literal["call", "build"], of: int, begun: int) -> None:
        self.kind, self.of, self.begun, self.inside_ns = kind, of, begun, 0


class Built:
    """Builds at one source line: their number, and their time without nested calls."""

    __slots__ = ("count", "kind", "total_ns", "where")

    def __init__(self, kind: Building, where: SourceLine | None) -> None:
        self.kind, self.where = kind, where
        self.count = self.total_ns = 0


class Timeline:
    """Times inside scanviz, of the recording's own thread and of the other threads.

    Parameters
    ----------
    thread : int
        The thread that began the recording.

    Attributes
    ----------
    inside_ns, beside_ns : int
        Time of this thread, and of all others, in finished calls, builds and recording.
    recording_ns : int
        Profiler overhead outside of calls, included in these times.
    calls, calls_beside : int
        Calls from the script that ended in this thread, and in all others; their times exclude entering and leaving the call.
    threads : set of int
        The other threads.
    built : dict
        Builds by kind and line.

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
        """Open a call of function ``of``, or a build."""
        self._open.setdefault(thread, []).append(_Open(kind, of, now))

    def leave(self, thread: int, elapsed_ns: int) -> int:
        """Close the thread's innermost call or build; return the time of the calls and builds nested in it."""
        stack = self._open.get(thread)
        if not stack:  # it began before the recording
            return 0
        inside = min(stack.pop().inside_ns, elapsed_ns)
        if not stack:
            del self._open[thread]
        self.add(thread, elapsed_ns)
        return inside

    def add(self, thread: int, elapsed_ns: int) -> None:
        """Add time inside scanviz: to the open call or build, else to the thread."""
        stack = self._open.get(thread)
        if stack:
            stack[-1].inside_ns += elapsed_ns
        elif thread == self._thread:
            self.inside_ns += elapsed_ns
        else:
            self.threads.add(thread)
            self.beside_ns += elapsed_ns

    def returned(self, thread: int, elapsed_ns: int, calls: int) -> int:
        """Add the time of returned calls; return how many of them the script made."""
        self.add(thread, elapsed_ns)
        if self._open.get(thread):
            return 0
        if thread == self._thread:
            self.calls += calls
        else:
            self.calls_beside += calls
        return calls

    def built_by(self, kind: Building, where: SourceLine | None, own_ns: int) -> None:
        """Count a build at a source line."""
        key = (kind, where)
        if key not in self.built and len(self.built) >= BUILT_AT:
            key = (kind, None)
        found = self.built.setdefault(key, Built(*key))
        found.count += 1
        found.total_ns += own_ns

    def recorded(self, thread: int, elapsed_ns: int) -> None:
        """Add profiler overhead outside of calls."""
        self.recording_ns += elapsed_ns
        self.add(thread, elapsed_ns)

    def most_call_ns(self, wall_ns: int, now: int) -> float:
        """Return an upper bound on entering and leaving a call, from the wall time of the run."""
        opened = self._open.get(self._thread)
        going_on = max(0, now - opened[0].begun) if opened else 0
        return max(0, wall_ns - self.inside_ns - going_on) / self.calls if self.calls else math.inf

    def running(self, now: int) -> dict[int, int]:
        """Return the time so far of open calls by function, without nested calls and builds."""
        found: dict[int, int] = {}
        for stack in self._open.values():
            ends = [*(opened.begun for opened in stack[1:]), now]
            for opened, end in zip(stack, ends, strict=True):
                if opened.kind == "call":
                    own = max(0, end - opened.begun - opened.inside_ns)
                    found[opened.of] = found.get(opened.of, 0) + own
        return found

    def building(self) -> tuple[BuildRecord, ...]:
        """Return the builds, the longest first."""
        if not self.built:
            return ()
        from scanviz.record.model import BuildRecord
        from scanviz.record.program_snapshot import source_record

        found = sorted(self.built.values(), key=lambda built: -built.total_ns)
        return tuple(
            BuildRecord(built.kind, source_record(built.where), built.count, built.total_ns)
            for built in found
        )

    def record(self, now: int, call_ns: float) -> ThreadTimesRecord:
        """Return the times by thread, adding ``call_ns`` per call; open calls and builds count up to now."""
        from scanviz.record.model import ThreadTimesRecord

        going_on = {thread: max(0, now - stack[0].begun) for thread, stack in self._open.items()}
        own = going_on.pop(self._thread, 0)
        return ThreadTimesRecord(
            self.inside_ns + own + round(self.calls * call_ns),
            self.beside_ns + sum(going_on.values()) + round(self.calls_beside * call_ns),
            len(self.threads | set(going_on)),
            self.recording_ns,
        )


class WholeRun:
    """A run that begins now.

    Parameters
    ----------
    clock : callable
        Returns nanoseconds.

    Attributes
    ----------
    script, arguments : str, tuple of str
        The script and its arguments; the path is stored as in source lines, without the machine's folders.
    outcome : OutcomeRecord
        The outcome, or that the run has not ended.
    """

    __slots__ = (
        "_begun", "_clock", "_date", "_ended", "_used_after", "_used_before", "arguments", "outcome", "script",
    )  # fmt: skip

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.script, self.arguments = "", ()  # type: tuple[str, tuple[str, ...]]
        self.outcome = OutcomeRecord()
        self.begin()

    def begin(self) -> None:
        """Start the wall time here."""
        self._date = time.time()
        self._begun, self._ended = self._clock(), None  # type: tuple[int, int | None]
        self._used_before = process_usage()
        self._used_after: Usage | None = None

    def describe(self, script: str, arguments: Sequence[str]) -> None:
        """Set the script and its arguments."""
        self.script = recorded_path(script) if os.path.isabs(script) else script
        self.arguments = tuple(arguments)

    def end(self, outcome: OutcomeRecord) -> None:
        """Set the outcome and stop the wall time."""
        self.outcome, self._ended = outcome, self._clock()
        self._used_after = process_usage()

    @property
    def started(self) -> str:
        """Date and time of the begin."""
        return datetime.fromtimestamp(self._date, UTC).isoformat(timespec="seconds")

    @property
    def has_ended(self) -> bool:
        """True if the run has ended."""
        return self._ended is not None

    def wall_ns(self, now: int) -> int:
        """Return the wall time of the run, or the time so far."""
        return max(0, (now if self._ended is None else self._ended) - self._begun)

    def measures(self) -> dict[str, float]:
        """Return the CPU time and context switches of the process during the run; empty before its end."""
        before, after = self._used_before, self._used_after
        if after is None:
            return {}
        known = before.switches is not None and after.switches is not None
        switches = (after.switches or 0) - (before.switches or 0) if known else None
        return used(after.cpu_ns - before.cpu_ns, switches)


__all__ = ["Built", "Timeline", "WholeRun"]
