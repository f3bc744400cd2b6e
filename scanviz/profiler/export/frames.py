"""Where the time of a run went, as a tree: script, functions, loops, operations.

A frame's time is its own and that of the frames inside it, to the nanosecond, so any drawing of the tree adds up.  What
was measured as a whole (functions, loops, the time around a loop's steps) stands as it is.  Operations of a step, copies
and overhead are estimates from timed steps; where they come to more than the loop itself took, all of them are scaled
down to fit, and the frame says so.  Time that nothing inside accounts for stays a frame's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from scanviz.record.model import (
    FunctionRecord,
    LoopRecord,
    OperationRecord,
    ProfileRecord,
    SourceRecord,
)
from scanviz.record.plain_text import sanitize

DEEPEST = 60  # loops nested deeper than any script's stay part of the time of the loop around them
LONGEST = (
    200  # characters of a text: one long line of a script would otherwise stand at each of its operations
)
ESTIMATED, MEASURED = "estimated", "measured"


@dataclass(frozen=True, slots=True)
class StackFrame:
    """Something that took time.

    Attributes
    ----------
    name : str
        What it is called, made harmless.
    kind : str
        ``"script"``, ``"building"``, ``"function"``, ``"loop"``, ``"operation"`` or ``"part"`` (of a loop: copies, overhead, …).
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
    >>> called = FunctionRecord(1, "f", None, "numpy", calls=1, call_times=DurationRecord(1, 30))
    >>> root = frames_of(ProfileRecord(script="rnn.py", wall_ns=100, functions=(called,)))
    >>> root.name, root.total_ns, root.self_ns, [each.name for each in root.inside]
    ('rnn.py', 100, 70, ['f'])
    """
    outermost = _outermost_loops(record)
    inside: list[StackFrame] = []
    for function in record.functions:
        inside.extend(_building(function))
        loops = outermost.get(function.key, [])
        if function.calls or function.running or loops:
            inside.append(_function_frame(function, loops))
    facts: dict[str, int | str] = {"time": MEASURED}
    total = record.wall_ns
    if time_of(inside) > total:  # functions may have run beside one another, in threads
        total, facts = time_of(inside), {"time": "the sum of what is inside", "wall_ns": record.wall_ns}
    return StackFrame(clear(record.script, "run"), "script", total, tuple(inside), facts=facts)


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


def _building(function: FunctionRecord) -> list[StackFrame]:
    stages = [
        StackFrame(clear(name, "stage"), "building", time)
        for name, time in function.build_ns.items()
        if time > 0
    ]
    if not stages:
        return []
    name = f"building {clear(function.name, 'function')}"
    return [StackFrame(name, "building", time_of(stages), tuple(stages), _line(function.source))]


def _function_frame(function: FunctionRecord, loops: list[StackFrame]) -> StackFrame:
    how = ESTIMATED if 0 < function.call_parts.timed < function.calls else MEASURED
    operations = [
        _operation_frame(operation, function.calls, function.ran_ns(operation), how)
        for operation in function.operations
        if operation.samples and operation.kind != "loop"
    ]
    operations = _without_loops(operations, function.operations, loops)
    facts: dict[str, int | str] = {
        "calls": function.calls,
        "backend": clear(function.backend),
        "time": MEASURED,
    }
    total = max(function.total_ns, time_of(loops))
    inside = (*loops, *_fitted(operations, total - time_of(loops)))
    name = clear(function.name, "function")
    return StackFrame(name, "function", total, inside, _line(function.source), facts)


def _outermost_loops(record: ProfileRecord) -> dict[int, list[StackFrame]]:
    """Return the frames of the outermost loops that ran, by function, inner loops inside them."""
    depths: dict[int, int] = {}
    for loop in record.loops:  # a loop stands after the one around it
        depths[loop.key] = 0 if loop.parent is None else depths.get(loop.parent, 0) + 1
    inner: dict[int, list[StackFrame]] = {}
    outermost: dict[int, list[StackFrame]] = {}
    for loop in reversed(record.loops):
        if not loop.runs and not loop.running:
            continue
        found = inner.get(loop.key, [])[::-1] if depths[loop.key] < DEEPEST else []
        frame = _loop_frame(loop, found)
        if loop.parent is None:
            outermost.setdefault(loop.function, []).append(frame)
        else:
            inner.setdefault(loop.parent, []).append(frame)
    return {function: frames[::-1] for function, frames in outermost.items()}


def _loop_frame(loop: LoopRecord, inner: list[StackFrame]) -> StackFrame:
    whole = max(loop.total_ns, loop.setup_ns + loop.step_times.total_ns, time_of(inner))
    room = whole - time_of(inner)
    around = min(loop.setup_ns, room)
    operations = [
        _operation_frame(operation, loop.steps, loop.ran_ns(operation), ESTIMATED)
        for operation in loop.operations
        if operation.samples and operation.kind != "loop"
    ]
    estimates = [*_without_loops(operations, loop.operations, inner), *_rest_of_the_steps(loop)]
    parts = _fitted([estimate for estimate in estimates if estimate.total_ns], room - around)
    if around:
        parts = [StackFrame("around the steps", "part", around, facts={"time": MEASURED}), *parts]
    facts: dict[str, int | str] = {"runs": loop.runs, "steps": loop.steps, "time": MEASURED}
    name = clear(loop.name, "loop")
    return StackFrame(name, "loop", whole, (*inner, *parts), _line(loop.source), facts, loop)


def _rest_of_the_steps(loop: LoopRecord) -> list[StackFrame]:
    times = {
        "copies of rows": loop.copy_ns * loop.steps,
        "loop overhead": loop.overhead_ns * loop.steps,
        "recording": loop.cost_ns,
    }
    return [StackFrame(name, "part", round(time), facts={"time": ESTIMATED}) for name, time in times.items()]


def _operation_frame(operation: OperationRecord, count: int, took_ns: float, how: str) -> StackFrame:
    name = clear(operation.label, operation.kind)
    facts: dict[str, int | str] = {"count": count, "timed": operation.samples, "time": how}
    return StackFrame(name, operation.kind, round(took_ns), (), _line(operation.source), facts)


def _without_loops(
    frames: list[StackFrame], operations: tuple[OperationRecord, ...], loops: list[StackFrame]
) -> list[StackFrame]:
    """Return frames of operations, those of branches without the time of the loops that ran in them.

    Such loops stand beside the branches: a record doesn't say which loop is in which.
    """
    linked = {operation.loop for operation in operations}
    hidden = time_of(loop for loop in loops if loop.loop is not None and loop.loop.key not in linked)
    branches = time_of(frame for frame in frames if frame.kind == "branch")
    if not hidden or not branches:
        return frames
    left = max(0, branches - hidden)
    how = "without loops in branches, which stand beside them"
    return [
        replace(frame, total_ns=frame.total_ns * left // branches, facts={**frame.facts, "time": how})
        if frame.kind == "branch"
        else frame
        for frame in frames
    ]


def _fitted(frames: list[StackFrame], room: int) -> list[StackFrame]:
    """Return frames that together take no more than there is room for, each scaled down alike if they took more."""
    total = time_of(frames)
    if total <= room:
        return frames
    ends, reached = [0], 0
    for frame in frames:  # places are scaled and not lengths, so that nothing is left over by rounding
        reached += frame.total_ns
        ends.append(reached * room // total)
    return [_scaled(frame, ends[k + 1] - ends[k]) for k, frame in enumerate(frames)]


def _scaled(frame: StackFrame, time: int) -> StackFrame:
    how = f"{frame.facts.get('time', ESTIMATED)}, scaled down to fit"
    return replace(frame, total_ns=time, facts={**frame.facts, "time": how, "unscaled_ns": frame.total_ns})


__all__ = ["DEEPEST", "LONGEST", "StackFrame", "clear", "frames_of", "stacks", "time_of"]
