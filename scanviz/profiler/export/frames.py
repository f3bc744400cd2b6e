"""The times of a run as a tree of frames, for other tools.

The tree is that of :func:`scanviz.record.summary.run_breakdown.parts_of`.  A frame's time is its own and that of the frames
inside it, to the nanosecond, so any drawing of the tree sums to the whole as report and page do.  Own time of a frame that holds
others is unattributed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct, field

from scanviz.record.model import SAMPLE_REASONS, FunctionRecord, LoopRecord, ProfileRecord, SourceRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import RunPart, parts_of

# characters of a text: one long line of a script would otherwise stand at each of its operations
LONGEST = 200
ESTIMATED, MEASURED, SUMMED = "estimated", "measured", "the sum of what is inside"
_KINDS = {
    "run": "script",
    "building": "building",
    "function": "function",
    "loop": "loop",
    "operation": "operation",
}


class StackFrame(Struct, frozen=True):
    """A part of the run's time.

    Attributes
    ----------
    name : str
        Its sanitised name.
    kind : str
        ``"script"``, ``"building"``, ``"function"``, ``"loop"``, ``"operation"`` or ``"part"`` (of any of them: recording, …).
    total_ns : int
        Its time, inner frames included.
    inside : tuple of StackFrame
        Inner frames.
    source : SourceRecord or None
        The user's line, sanitised.
    facts : mapping
        Counts, and the origin of the time.
    loop : LoopRecord or None
        The loop, for a loop's frame.
    """

    name: str
    kind: str
    total_ns: int
    inside: tuple[StackFrame, ...] = ()
    source: SourceRecord | None = None
    facts: Mapping[str, int | str] = field(default_factory=dict)
    loop: LoopRecord | None = None

    @property
    def self_ns(self) -> int:
        """Its time without inner frames."""
        return self.total_ns - time_of(self.inside)


def frames_of(record: ProfileRecord) -> StackFrame:
    """Return the frames of a record.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord
    >>> from scanviz.record.model import ThreadTimesRecord
    >>> called = FunctionRecord(1, "f", None, "numpy", calls=1, call_times=DurationRecord(1, 30))
    >>> times = ThreadTimesRecord(inside_ns=30)
    >>> root = frames_of(ProfileRecord(script="rnn.py", wall_ns=100, functions=(called,), threads=times))
    >>> root.name, root.total_ns, [(frame.name, frame.total_ns) for frame in root.inside]
    ('rnn.py', 100, [("the script's own time", 70), ('f', 30)])
    """
    parts = parts_of(record)
    functions = {function.key: function for function in record.functions}
    loops = {loop.key: loop for loop in record.loops}
    inside: list[list[StackFrame]] = [[] for _ in parts]
    for place in range(len(parts) - 1, -1, -1):  # inner parts follow outer ones
        part = parts[place]
        loop = None if part.loop is None else loops[part.loop]
        function = None if part.function is None else functions.get(part.function)
        frame = StackFrame(
            clear(part.label, "run" if part.kind == "run" else part.kind),
            _KINDS.get(part.kind, "part"),
            part.total_ns,
            tuple(reversed(inside[place])),
            _line(part.source),
            _facts(record, part, function, loop),
            loop if part.kind == "loop" else None,
        )
        if part.parent is None:
            return frame
        inside[part.parent].append(frame)
    raise AssertionError("a run has no part without a parent")


def _facts(
    record: ProfileRecord, part: RunPart, function: FunctionRecord | None, loop: LoopRecord | None
) -> dict[str, int | str]:
    """Return counts of a part, and the origin of its time."""
    how = ESTIMATED if part.estimated else MEASURED
    match part.kind:
        case "run" if part.total_ns > record.wall_ns:  # several threads at once
            return {"time": SUMMED, "wall_ns": record.wall_ns}
        case "function" if function is not None:
            return {"calls": function.calls, "backend": clear(function.backend), "time": how}
        case "loop" if loop is not None:
            return {"runs": loop.runs, "steps": loop.steps, "time": how}
        case "operation" if part.operation is not None:
            return _facts_of_operation(part, function, loop, part.operation, how)
    return {"time": how}


def _facts_of_operation(
    part: RunPart, function: FunctionRecord | None, loop: LoopRecord | None, index: int, how: str
) -> dict[str, int | str]:
    owner = loop if loop is not None else function
    operation = (
        next((one for one in owner.operations if one.index == index), None) if owner is not None else None
    )
    if owner is None or operation is None:
        return {"time": how}
    count = owner.steps if isinstance(owner, LoopRecord) else owner.calls
    return {"count": count, "timed": operation.samples, "time": how}


def stacks(root: StackFrame) -> Iterator[tuple[tuple[StackFrame, ...], int]]:
    """Yield the stack of each frame, outermost first, and its own time.

    Examples
    --------
    >>> [(len(stack), own) for stack, own in stacks(StackFrame("a", "script", 5, (StackFrame("b", "function", 2),)))]
    [(1, 3), (2, 2)]
    """

    def walk(
        frame: StackFrame, around: tuple[StackFrame, ...]
    ) -> Iterator[tuple[tuple[StackFrame, ...], int]]:
        here = (*around, frame)
        yield here, frame.self_ns
        for stack_frame in frame.inside:
            yield from walk(stack_frame, here)

    yield from walk(root, ())


def time_of(frames: Iterable[StackFrame]) -> int:
    """Return the total time of frames."""
    return sum(frame.total_ns for frame in frames)


def clear(text: str, otherwise: str = "") -> str:
    """Return a sanitised text of bounded length, or ``otherwise`` if it is blank.

    Examples
    --------
    >>> clear(" ", "loop"), len(clear("x" * 10_000))
    ('loop', 200)
    """
    whole = sanitize(text[: LONGEST + 1]).strip()
    return (whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…") or otherwise


def _line(source: SourceRecord | None) -> SourceRecord | None:
    return None if source is None else SourceRecord(clear(source.file, "?"), source.line, clear(source.text))


# On a time axis: a record has totals and a sample of steps, but no start times.  So frames are drawn to scale, inner ones within
# outer ones, at invented positions.  Frames without time are left out.

LAYOUT = (
    "Durations are those of the profile: totals over all calls, runs and steps, and single steps where they were recorded. "
    "Places on the time axis are made up: a profile keeps totals and a sample of steps, not when each happened."
)
WHOLE = "the whole run: totals to scale, order made up"


class Track(NamedTuple):
    """Consecutive frames on a time axis."""

    name: str
    start_ns: int
    frames: tuple[StackFrame, ...]


def tracks_of(record: ProfileRecord) -> list[Track]:
    """Return the tracks of a record: the whole run, and the recorded steps of each loop.

    Examples
    --------
    >>> [track] = tracks_of(ProfileRecord(script="rnn.py", wall_ns=100))
    >>> track.name, track.frames[0].total_ns
    ('the whole run: totals to scale, order made up', 100)
    """
    whole = Track(WHOLE, 0, (frames_of(record),))
    steps = [
        Track(f"steps of {frame.name}: a sample, gaps left out", start, tuple(_recorded(frame.loop)))
        for frame, start, begins in edges(whole, empty=True)
        if begins and frame.loop is not None
    ]
    return [whole, *(track for track in steps if track.frames)]


def edges(track: Track, *, empty: bool = False) -> Iterator[tuple[StackFrame, int, bool]]:
    """Yield each frame with its start (True) and again with its end (False), in order of time.

    Parameters
    ----------
    track : Track
        The frames.
    empty : bool
        Whether frames without time are included.

    Examples
    --------
    >>> track = Track("t", 5, (StackFrame("a", "loop", 9, (StackFrame("b", "part", 7),)),))
    >>> [(frame.name, moment, begins) for frame, moment, begins in edges(track)]
    [('a', 5, True), ('b', 5, True), ('b', 12, False), ('a', 14, False)]
    """
    start = track.start_ns
    for frame in track.frames:
        if frame.total_ns or empty:
            yield frame, start, True
            yield from edges(Track("", start, frame.inside), empty=empty)
            yield frame, start + frame.total_ns, False
        start += frame.total_ns


def _recorded(loop: LoopRecord) -> Iterator[StackFrame]:
    """Yield the recorded steps of a loop, run by run."""
    kept = (timed_steps for timed_steps in loop.timed() if timed_steps.time_ns > 0)
    for run, rows in groupby(kept, key=lambda timed_steps: timed_steps.run):
        steps, count = [], 0
        for step in rows:
            count += step.covers
            facts = {
                "run": run,
                "step": step.step,
                "kept as": SAMPLE_REASONS.get(step.reason, "?"),
                "time": MEASURED,
            }
            facts |= {"steps": step.covers} if step.covers > 1 else {}
            steps.append(StackFrame(step.words, "step", step.total_ns, facts=facts))
        about = {"run": run, "recorded steps": count, "time": "the sum of the recorded steps"}
        yield StackFrame(f"run {run}", "run", time_of(steps), tuple(steps), facts=about)
