"""Where the time of a run went, as a tree of frames: its parts, named for other tools.

The tree is that of :func:`scanviz.record.summary.run_breakdown.parts_of`, so a frame's time is its own and that of the frames
inside it, to the nanosecond, and any drawing of it sums to the whole as report and page do.  Own time of a frame that holds
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
    """Something that took time.

    Attributes
    ----------
    name : str
        What it is called, made harmless.
    kind : str
        ``"script"``, ``"building"``, ``"function"``, ``"loop"``, ``"operation"`` or ``"part"`` (of any of them: recording, …).
    total_ns : int
        It and all inside it.
    inside : tuple of StackFrame
        What is inside it.
    source : SourceRecord or None
        The user's line, made harmless.
    facts : mapping
        What else a viewer may show: counts, and how the time was come by.
    loop : LoopRecord or None
        The loop, of a frame that is one.
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
        """Its time without that of what is inside it."""
        return self.total_ns - time_of(self.inside)


def frames_of(record: ProfileRecord) -> StackFrame:
    """Return the tree of a record's times.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord
    >>> from scanviz.record.run_times import ThreadTimesRecord
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
    for place in range(len(parts) - 1, -1, -1):  # what is inside a part stands after it
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
    """Return what else is known of a part."""
    how = ESTIMATED if part.estimated else MEASURED
    match part.kind:
        case "run" if part.total_ns > record.wall_ns:  # threads were inside functions beside one another
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
    """Yield each frame with those around it, outermost first, and its own time, in order of the tree.

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
    """Return the time of frames together."""
    return sum(frame.total_ns for frame in frames)


def clear(text: str, otherwise: str = "") -> str:
    """Return a text of a script made harmless and of bounded length, or another one where nothing is left.

    Examples
    --------
    >>> clear(" ", "loop"), len(clear("x" * 10_000))
    ('loop', 200)
    """
    whole = sanitize(text[: LONGEST + 1]).strip()
    return (whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…") or otherwise


def _line(source: SourceRecord | None) -> SourceRecord | None:
    return None if source is None else SourceRecord(clear(source.file, "?"), source.line, clear(source.text))


# On a time axis: a record has totals and a sample of steps, not the moment at which something happened.  So all frames are drawn to
# scale, what is inside another lies within it, and places are made up.  What took no time is left out.

LAYOUT = (
    "Durations are those of the profile: totals over all calls, runs and steps, and single steps where they were recorded. "
    "Places on the time axis are made up: a profile keeps totals and a sample of steps, not when each happened."
)
WHOLE = "the whole run: totals to scale, order made up"


class Track(NamedTuple):
    """Frames on a time axis, one after the other from a moment on."""

    name: str
    start_ns: int
    frames: tuple[StackFrame, ...]


def tracks_of(record: ProfileRecord) -> list[Track]:
    """Return the tracks of a record: the whole run, and each loop's recorded steps from where the loop begins in the first.

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
    """Yield each frame where it begins (True) and again where it ends (False), with the moment, in order of time.

    Parameters
    ----------
    track : Track
        The frames.
    empty : bool
        Whether frames that took no time are among them.

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
