"""The time of each thread of a run: by the script, and by scanviz's calls and builds.

A thread runs the script until a call or a build begins.  Calls may nest in builds and in other calls; the time of the inner one is
subtracted from the outer one, so that times never overlap.  The times come from the engine's events; the timeline keeps the stack
of open calls and builds per thread.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from msgspec import Struct

from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.observe import Building
from scanviz.record.model import BuildRecord, ThreadTimesRecord
from scanviz.record.program_snapshot import source_record

BUILT_AT = 256  # distinct source lines of builds


class _Open(Struct):
    """An open call or build of a thread."""

    kind: Literal["call", "build"]
    of: int
    begun: int
    inside_ns: int = 0


class _Thread(Struct):
    """Time of a thread in finished calls, builds and recording; its open calls and builds, innermost last."""

    inside_ns: int = 0
    open: list[_Open] = []  # msgspec copies it

    def whole_ns(self, now: int) -> int:
        """Return all time inside scanviz, that of the outermost open call or build so far included."""
        return self.inside_ns + (max(0, now - self.open[0].begun) if self.open else 0)


class Timeline:
    """Times inside scanviz, of the recording's own thread and of the other threads.

    Parameters
    ----------
    thread : int
        The thread that began the recording.

    Attributes
    ----------
    recording_ns : int
        Profiler overhead outside of calls, included in the times of threads.

    Examples
    --------
    >>> times = Timeline(thread=1)
    >>> times.enter(1, "build", 0, 100)
    >>> times.enter(1, "call", 7, 110)
    >>> times.leave(1, 20), times.leave(1, 50)
    (0, 20)
    >>> times.record(200).inside_ns, times.running(200)
    (50, {})
    """

    def __init__(self, thread: int) -> None:
        self._threads: defaultdict[int, _Thread] = defaultdict(_Thread)
        self._own = self._threads[thread]
        self._built: dict[
            tuple[Building, SourceLine | None], list[int]
        ] = {}  # number and time, without nested calls
        self.recording_ns = 0

    def enter(self, thread: int, kind: Literal["call", "build"], of: int, now: int) -> None:
        """Open a call of function ``of``, or a build."""
        self._threads[thread].open.append(_Open(kind, of, now))

    def leave(self, thread: int, elapsed_ns: int) -> int:
        """Close the thread's innermost call or build; return the time of the calls and builds nested in it."""
        times = self._threads[thread]
        if not times.open:  # it began before the recording
            return 0
        inside = min(times.open.pop().inside_ns, elapsed_ns)
        self.add(thread, elapsed_ns)
        return inside

    def add(self, thread: int, elapsed_ns: int) -> None:
        """Add time inside scanviz: to the open call or build, else to the thread."""
        times = self._threads[thread]
        if times.open:
            times.open[-1].inside_ns += elapsed_ns
        else:
            times.inside_ns += elapsed_ns

    def built_by(self, kind: Building, where: SourceLine | None, own_ns: int) -> None:
        """Count a build at a source line."""
        key = (kind, where)
        if key not in self._built and len(self._built) >= BUILT_AT:
            key = (kind, None)
        found = self._built.setdefault(key, [0, 0])
        found[0] += 1
        found[1] += own_ns

    def recorded(self, thread: int, elapsed_ns: int) -> None:
        """Add profiler overhead outside of calls."""
        self.recording_ns += elapsed_ns
        self.add(thread, elapsed_ns)

    def running(self, now: int) -> dict[int, int]:
        """Return the time so far of open calls by function, without nested calls and builds."""
        found: dict[int, int] = {}
        for times in self._threads.values():
            ends = [*(opened.begun for opened in times.open[1:]), now]
            for opened, end in zip(times.open, ends, strict=False):
                if opened.kind == "call":
                    own = max(0, end - opened.begun - opened.inside_ns)
                    found[opened.of] = found.get(opened.of, 0) + own
        return found

    def building(self) -> tuple[BuildRecord, ...]:
        """Return the builds, the longest first."""
        if not self._built:
            return ()

        found = [
            BuildRecord(kind, source_record(where), *built) for (kind, where), built in self._built.items()
        ]
        return tuple(sorted(found, key=lambda built: -built.total_ns))

    def record(self, now: int) -> ThreadTimesRecord:
        """Return the times by thread; open calls and builds count up to now."""
        others = [times for times in self._threads.values() if times is not self._own]
        beside_ns = sum(times.whole_ns(now) for times in others)
        return ThreadTimesRecord(self._own.whole_ns(now), beside_ns, len(others), self.recording_ns)
