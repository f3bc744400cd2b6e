"""A record on a time axis: tracks of slices that nest.

A record has totals and a sample of steps, not the moment at which something happened.  The layout is honest about it: all
slices are to scale, what is inside another lies within it, and places are made up.  One track has the whole run (script,
functions in order of their making, loops, operations); each loop's recorded steps stand on a track of their own, run by
run, one after another from where the loop's slice begins.  Readers are told by ``LAYOUT``, which every trace carries.
What took no time has no slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from msgspec import Struct, field

from scanviz.profiler.export.frames import StackFrame, frames_of
from scanviz.record.model import SAMPLE_REASONS, LoopRecord, ProfileRecord, SourceRecord

LAYOUT = (
    "Durations are those of the profile: totals over all calls, runs and steps, and single steps where they were recorded. "
    "Places on the time axis are made up: a profile keeps totals and a sample of steps, not when each happened."
)
WHOLE = "the whole run: totals to scale, order made up"


class TimeSlice(Struct, frozen=True):
    """A piece of a track, of a length above zero.

    Attributes
    ----------
    name, kind : str
        As of frames.
    start_ns, duration_ns : int
        Its place and length.
    depth : int
        How many slices it lies within.
    source : SourceRecord or None
        The user's line.
    facts : mapping
        What else is known.
    """

    name: str
    kind: str
    start_ns: int
    duration_ns: int
    depth: int = 0
    source: SourceRecord | None = None
    facts: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return self.start_ns + self.duration_ns


class Track(Struct, frozen=True):
    """Slices that nest, in order of their starts, each before those within it."""

    name: str
    slices: tuple[TimeSlice, ...]


def tracks_of(record: ProfileRecord) -> list[Track]:
    """Return the tracks of a record: the whole run, and each loop's recorded steps.

    Examples
    --------
    >>> [track] = tracks_of(ProfileRecord(script="rnn.py", wall_ns=100))
    >>> track.name, track.slices[0].duration_ns
    ('the whole run: totals to scale, order made up', 100)
    """
    root = frames_of(record)
    return [Track(WHOLE, tuple(_slices(root, 0, 0))), *_steps(root, 0)]


def edges(track: Track) -> Iterator[tuple[TimeSlice, bool]]:
    """Yield each slice where it begins (True) and again where it ends (False), in order of time.

    Examples
    --------
    >>> track = Track("t", (TimeSlice("a", "loop", 0, 9), TimeSlice("b", "part", 2, 7, 1)))
    >>> [(part.name, begins) for part, begins in edges(track)]
    [('a', True), ('b', True), ('b', False), ('a', False)]
    """
    around: list[TimeSlice] = []
    for time_slice in track.slices:
        while len(around) > time_slice.depth:
            yield around.pop(), False
        yield time_slice, True
        around.append(time_slice)
    while around:
        yield around.pop(), False


def _slices(frame: StackFrame, start: int, depth: int) -> Iterator[TimeSlice]:
    if not frame.total_ns:
        return
    yield TimeSlice(frame.name, frame.kind, start, frame.total_ns, depth, frame.source, frame.facts)
    for stack_frame in frame.inside:
        yield from _slices(stack_frame, start, depth + 1)
        start += stack_frame.total_ns


def _steps(frame: StackFrame, start: int) -> Iterator[Track]:
    """Yield a track of recorded steps for each loop within a frame."""
    if frame.loop is not None:
        slices = tuple(_recorded(frame.loop, start))
        if slices:
            yield Track(f"steps of {frame.name}: a sample, gaps left out", slices)
    for stack_frame in frame.inside:
        yield from _steps(stack_frame, start)
        start += stack_frame.total_ns


def _recorded(loop: LoopRecord, start: int) -> Iterator[TimeSlice]:
    kept = (timed_steps for timed_steps in loop.timed() if timed_steps.time_ns > 0)
    for run, rows in groupby(kept, key=lambda timed_steps: timed_steps.run):
        steps = list(rows)
        count, whole = sum(step.covers for step in steps), sum(step.total_ns for step in steps)
        facts = {"run": run, "recorded steps": count, "time": "the sum of the recorded steps"}
        yield TimeSlice(f"run {run}", "run", start, whole, 0, None, facts)
        for step in steps:
            kept_as = SAMPLE_REASONS.get(step.reason, "?")
            known = {"run": run, "step": step.step, "kept as": kept_as, "time": "measured"}
            known |= {"steps": step.covers} if step.covers > 1 else {}
            yield TimeSlice(step.words, "step", start, step.total_ns, 1, None, known)
            start += step.total_ns
