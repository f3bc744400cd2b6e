"""Divide a run into parts: every nanosecond once, each part with its kind, line and parent.

The whole is the wall time of the thread in which the recording began, plus the time of other threads inside scanviz.  A part's
own time is its time without the parts inside it: of a leaf all of it, of a function its unattributed time.
So own times add up to the whole, whatever the record is.

Calls, loops, building and the script between them were measured as a whole.  Operations are estimates from the steps and calls in
which they were timed one by one: of a loop's the average over all steps times their number.  The excess of slow calls is a sum over
the calls that were measured.  Where all this comes to more than there is room for, all that share the room are scaled down alike.
Where it comes to less, the rest is unattributed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.values import SourceRecord

PartKind = Literal[
    "run",
    "script",
    "building",
    "function",
    "checks",
    "copies",
    "entry",
    "loop",
    "operation",
    "steps",
    "rows",
    "round",
    "slow",
    "around",
    "code",
    "recording",
]
CONTAINERS: tuple[PartKind, ...] = ("run", "function", "loop")  # their own time is unattributed
SLOW_CALLS = "slow calls"
DEEPEST = 60  # loops nested deeper than any script's stay part of the loop around them


class RunPart(Struct, frozen=True):
    """A part of a run.

    Attributes
    ----------
    kind : str
        ``"run"``: all of it.  ``"script"``: the script's own Python, imports and waiting.  ``"building"``: of graphs and
        functions.  ``"function"``: calls of one.  ``"checks"``, ``"copies"``, ``"entry"``: call overhead.  ``"slow"``: calls
        beyond the typical one.  ``"operation"``: of a loop's steps or outside of loops.  ``"loop"``: all runs of one.  In a
        loop, ``"steps"``: without detailed times; ``"rows"``: storing them; ``"round"``, ``"around"``: loop overhead in and
        around steps; ``"code"``: compilation.  ``"recording"``: profiler overhead.
    label : str
        Its name, as recorded.
    total_ns : int
        Time of the part and all parts inside it.
    own_ns : int
        Its time without the parts inside it.
    parent : int or None
        Place of the part around it, which comes before it.
    source : SourceRecord or None
        Its line.
    function : int or None
        Key of the function it belongs to.
    loop : int or None
        Key of the innermost loop it belongs to.
    operation : int or None
        Index of the operation in the loop's step or the function's program.
    estimated : bool
        Whether it is an estimate from samples.
    moved_from : str
        The loop that an operation was moved out of, or that is gone.
    rule : str
        The rewrite that made or moved it.
    """

    kind: PartKind
    label: str
    total_ns: int
    own_ns: int = 0
    parent: int | None = None
    source: SourceRecord | None = None
    function: int | None = None
    loop: int | None = None
    operation: int | None = None
    estimated: bool = False
    moved_from: str = ""
    rule: str = ""


def parts_of(record: ProfileRecord) -> tuple[RunPart, ...]:
    """Return the parts of a run, outer before inner.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, ThreadTimesRecord
    >>> called = FunctionRecord(1, "f", None, "numpy", calls=1, call_times=DurationRecord(1, 30))
    >>> record = ProfileRecord(script="rnn.py", wall_ns=100, functions=(called,), threads=ThreadTimesRecord(inside_ns=30))
    >>> [(part.kind, part.own_ns) for part in parts_of(record)]
    [('run', 0), ('script', 70), ('function', 30)]
    """
    functions = [_function(record, function) for function in record.functions]
    inside = [_building(record), *functions]
    threads = record.threads
    inside.append(_Tree(RunPart("recording", "recording outside of calls", threads.recording_ns)))
    inside = [tree for tree in inside if tree.part.total_ns]
    known = sum(tree.part.total_ns for tree in inside)
    script = max(0, record.wall_ns - threads.inside_ns)
    whole = max(record.wall_ns + threads.beside_ns, known + script)
    own = RunPart("script", "the script's own time", script)
    return tuple(_flat(_Tree(RunPart("run", record.script, whole), [_Tree(own), *inside])))


def overhead_ns(parts: Iterable[RunPart]) -> int:
    """Return profiler overhead, which no share of run time includes."""
    return sum(part.own_ns for part in parts if part.kind == "recording")


def run_time_ns(parts: Sequence[RunPart]) -> int:
    """Return the run's time without profiler overhead, the whole of all shares."""
    return parts[0].total_ns - overhead_ns(parts)


class OperationTimes:
    """Times of operations, loops, functions and the run without profiler overhead, as every view shows them.

    Those of loops and functions are without compilation too, which is a part of the run of its own.
    """

    def __init__(self, parts: Sequence[RunPart]) -> None:
        self.run_ns = run_time_ns(parts)
        timed = (part for part in parts if part.kind == "operation")
        self._times = {(part.function, part.loop, part.operation): part.own_ns for part in timed}
        totals = [0 if part.kind in ("recording", "code") else part.own_ns for part in parts]
        for place in range(len(parts) - 1, 0, -1):  # a part stands before the parts inside it
            parent = parts[place].parent
            if parent is not None:
                totals[parent] += totals[place]
        self._containers = {
            (part.kind, part.loop if part.kind == "loop" else part.function): total
            for part, total in zip(parts, totals, strict=True)
            if part.kind in ("function", "loop")
        }

    def whole(self, owner: FunctionRecord | LoopRecord) -> int:
        """Return the time of all runs of a loop or all calls of a function, without compilation."""
        return self._containers.get(("loop" if isinstance(owner, LoopRecord) else "function", owner.key), 0)

    def of(self, owner: FunctionRecord | LoopRecord, operation: OperationRecord) -> float:
        """Return the time of an operation in all steps of a loop, or in all calls of a function; loops count in full."""
        if operation.kind == "loop":
            inside = self._containers.get(("loop", operation.loop))
            return owner.ran_ns(operation) if inside is None else inside
        place = (owner.function, owner.key) if isinstance(owner, LoopRecord) else (owner.key, None)
        return self._times.get((*place, operation.index), 0)

    def most_of(self, owner: FunctionRecord | LoopRecord) -> OperationRecord | None:
        """Return the most expensive operation, or None if none has a time."""
        timed = [operation for operation in owner.operations if self.of(owner, operation)]
        return max(timed, key=lambda operation: self.of(owner, operation), default=None)


class _Tree(Struct):
    """A part with its inner parts, under construction."""

    part: RunPart
    inside: Sequence[_Tree] = ()

    def scaled(self, total: int) -> _Tree:
        """Return the tree scaled to another total."""
        return _Tree(replace(self.part, total_ns=total), _in_room(self.inside, total, self.part.total_ns))


def _flat(tree: _Tree, parent: int | None = None, before: int = 0) -> list[RunPart]:
    own = tree.part.total_ns - _time_of(tree.inside)
    found = [replace(tree.part, own_ns=own, parent=parent)]
    for inner in tree.inside:
        found.extend(_flat(inner, before, before + len(found)))
    return found


def _time_of(trees: Iterable[_Tree]) -> int:
    return sum(tree.part.total_ns for tree in trees)


def _in_room(trees: Sequence[_Tree], room: int, of: int) -> list[_Tree]:
    """Return trees scaled from ``of`` nanoseconds to ``room``: places are scaled, so that rounding errors do not add up."""
    ends, reached = [0], 0
    for tree in trees:
        reached += tree.part.total_ns
        ends.append(reached * room // max(1, of))
    return [tree.scaled(ends[k + 1] - ends[k]) for k, tree in enumerate(trees)]


def _fitted(trees: Sequence[_Tree], room: int) -> list[_Tree]:
    """Return trees scaled down together if they exceed the available time."""
    total = _time_of(trees)
    return list(trees) if total <= room else _in_room(trees, max(0, room), total)


def _building(record: ProfileRecord) -> _Tree:
    labels = {"scan": "building a loop", "gradient": "building a gradient", "function": "building a function"}
    inside = [
        _Tree(RunPart("building", labels[built.kind], built.total_ns, source=built.source))
        for built in record.building
        if built.total_ns
    ]
    return _Tree(RunPart("building", "building", _time_of(inside)), inside)


def _function(record: ProfileRecord, function: FunctionRecord) -> _Tree:
    around, sampled = function.call_parts, is_sampled(function)
    program = max(0, function.total_ns - around.inside_ns) + around.running_ns
    loops = [loop for loop in record.loops if loop.function == function.key and loop.parent is None]
    found = _fitted([_loop(record, loop, 0) for loop in loops if loop.runs or loop.running], program)
    room = program - _time_of(found)
    entry_ns = round(around.around_ns * function.calls)
    beyond_ns = beyond_calls(function, [tree.part.total_ns for tree in found])
    timed = [
        *_operations(function, found, sampled),
        *_around_loops(function, found),
        _leaf(function, "entry", "entering and leaving the program", entry_ns, sampled),
        _Tree(RunPart("slow", SLOW_CALLS, beyond_ns, function=function.key)),
    ]
    edges = [
        _leaf(function, "checks", "checking arguments", around.checks_ns),
        _leaf(function, "copies", "copying results", around.copies_ns),
        _leaf(function, "recording", "recording around calls", around.recording_ns),
    ]
    inside = [tree for tree in (*found, *_fitted(timed, room), *edges) if tree.part.total_ns]
    return _Tree(_part(function, "function", function.name, program + _time_of(edges)), inside)


def _around_loops(function: FunctionRecord, loops: Sequence[_Tree]) -> list[_Tree]:
    """Return the time of loop instructions beyond their loops, if every call was timed.

    Threads wait for one another there, and the results of loops are put together.
    """
    if function.call_parts.timed < function.calls:
        return []
    ran = {tree.part.loop: tree.part.total_ns for tree in loops}
    trees = []
    for operation in function.operations:
        if operation.kind == "loop" and operation.loop in ran:
            more = max(0, round(function.ran_ns(operation)) - ran[operation.loop])
            part = _part(function, "around", "entering and leaving the loop", more)
            trees.append(_Tree(replace(part, source=operation.source, loop=operation.loop)))
    return trees


def _operations(
    owner: FunctionRecord | LoopRecord, loops: Sequence[_Tree], estimated: bool = True
) -> list[_Tree]:
    """Return the operations of a loop's step, or of a function outside of loops, without the loops in their branches."""
    trees = [
        _Tree(
            replace(
                _part(owner, "operation", operation.label, 0, estimated),
                total_ns=round(owner.ran_ns(operation)) if operation.samples else 0,
                source=operation.source,
                operation=operation.index,
                moved_from=operation.moved_from,
                rule=operation.rule,
            )
        )
        for operation in owner.operations
        if operation.kind != "loop"
    ]
    return _without_loops(trees, owner.operations, loops)


def _without_loops(
    trees: list[_Tree], operations: Sequence[OperationRecord], loops: Sequence[_Tree]
) -> list[_Tree]:
    """Return operations; branches without the time of loops inside them, which are parts of their own.

    A record does not assign loops to branches, so all are taken off all alike.
    """
    linked = {operation.loop for operation in operations}
    hidden = _time_of(tree for tree in loops if tree.part.loop not in linked)
    indices = {operation.index for operation in operations if operation.kind == "branch"}
    branches = [tree for tree in trees if tree.part.operation in indices]
    if not hidden or not branches:
        return trees
    room = max(0, _time_of(branches) - hidden)
    left = {tree.part.operation: tree for tree in _fitted(branches, room)}
    return [left.get(tree.part.operation, tree) for tree in trees]


def _loop(record: ProfileRecord, loop: LoopRecord, depth: int) -> _Tree:
    whole = loop.total_ns
    nested = [inner for inner in record.loops if inner.parent == loop.key and (inner.runs or inner.running)]
    inner = [_loop(record, inner, depth + 1) for inner in nested] if depth < DEEPEST else []
    inner = _fitted(inner, whole)
    room = whole - _time_of(inner)
    edges = _edges(loop, room)
    steps = _steps(loop, inner, room - _time_of(edges))
    inside = [tree for tree in (*inner, *steps, *edges) if tree.part.total_ns]
    return _Tree(_part(loop, "loop", loop.name, whole), inside)


def _edges(loop: LoopRecord, room: int) -> list[_Tree]:
    """Return the parts of a loop outside its steps: compilation, recording, and the time before and after the steps."""
    code = min(sum(tier.total_ns for tier in loop.tiers), room)
    recording = min(round(loop.cost_ns), room - code)
    around = max(0, min(loop.setup_ns, room) - code)
    return [
        _leaf(loop, "code", "compilation", code),
        _leaf(loop, "around", "around the steps", min(around, room - code - recording)),
        _leaf(loop, "recording", "recording", recording, True),
    ]


def _steps(loop: LoopRecord, inner: Sequence[_Tree], room: int) -> list[_Tree]:
    """Return the parts of a loop's steps, without loops inside them."""
    if not loop.sampled_steps or loop.typical_ns <= 0:
        return [_leaf(loop, "steps", "steps, not timed one by one", _undivided(loop, inner, room))]
    rows_ns, round_ns = loop.mean_copy_ns * loop.steps, loop.mean_overhead_ns * loop.steps
    trees = [
        *_operations(loop, inner),
        _leaf(loop, "rows", "storing rows", round(rows_ns), True),
        _leaf(loop, "round", "the loop itself", round(round_ns), True),
    ]
    return _fitted(trees, room)


def _undivided(loop: LoopRecord, inner: Sequence[_Tree], room: int) -> int:
    """Return the time of undivided steps: by their own times, or as a whole."""
    times = loop.step_times
    if not times.count:
        return room
    return max(0, min(room, times.total_ns * loop.steps // times.count - round(sum(map(_worked, inner)))))


def _worked(tree: _Tree) -> int:
    """Return the time of a loop without recording, which is not charged to the outer steps."""
    if tree.part.kind == "recording":
        return 0
    return tree.part.total_ns - sum(inner.part.total_ns - _worked(inner) for inner in tree.inside)


def _leaf(
    owner: FunctionRecord | LoopRecord, kind: PartKind, label: str, total: int, estimated: bool = False
) -> _Tree:
    return _Tree(_part(owner, kind, label, total, estimated))


def _part(
    owner: FunctionRecord | LoopRecord, kind: PartKind, label: str, total: int, estimated: bool = False
) -> RunPart:
    function, loop = (owner.function, owner.key) if isinstance(owner, LoopRecord) else (owner.key, None)
    return RunPart(kind, label, total, source=owner.source, function=function, loop=loop, estimated=estimated)


def beyond_calls(function: FunctionRecord, loops_ns: Iterable[float]) -> int:
    """Return the time of a function's calls beyond the typical call, outside of loops.

    ``loops_ns`` are the times of its loops.  The result is 0 where every call was timed operation by operation: rows are sums then.
    """
    times = function.call_times
    if not is_sampled(function):
        return 0
    typical = sum(
        operation.typical_ns * function.calls for operation in function.operations if operation.kind == "loop"
    )
    inside = function.call_parts.inside_ns + max(0.0, math.fsum(loops_ns) - typical)
    return max(0, round(times.total_ns - times.p50_ns * times.count - inside))


def is_sampled(function: FunctionRecord) -> bool:
    """Return whether operations outside of loops were timed only in some calls."""
    return 0 < function.call_parts.timed < function.calls
