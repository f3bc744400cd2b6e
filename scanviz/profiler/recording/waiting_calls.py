"""Calls that were passed over and wait to be counted: very many come, so nothing is done with one but to keep it.

They are counted a few hundred at once.  Mostly one function is called again and again with the same runs of loops, and such calls
are counted together.  More of them would take room in the processor's caches that the program has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scanviz.profiler.recording.passed_calls import CallTimes, Run

if TYPE_CHECKING:
    from scanviz.profiler.recording.function_aggregate import FunctionAggregate
    from scanviz.profiler.recording.loop_aggregate import LoopAggregate
    from scanviz.profiler.recording.timeline import Timeline

MOST = 512
# a call: its thread, function, nanoseconds of its run, checks, copies and recording, and the runs of its loops
WaitingCall = tuple[int, int, int, int, int, int, Sequence[Run]]
_Group = tuple[
    int, int, tuple[Run, ...], bool
]  # thread, function, runs, whether the calls were timed in parts


def count_waiting(
    waiting: deque[WaitingCall],
    functions: Mapping[int, FunctionAggregate],
    loops: Mapping[int, LoopAggregate],
    timeline: Timeline,
) -> None:
    """Count calls, before what their threads have open changes; others may be added meanwhile."""
    calls = [waiting.popleft() for _ in range(len(waiting))]
    in_parts: dict[_Group, list[WaitingCall]] = {}
    for call in [call for call in calls if call[3] >= 0]:
        thread, key, elapsed, checks, copies, _, runs = call
        if key in functions:
            functions[key].shares.know(elapsed, checks, copies, runs)
        bare = tuple([(*run[:5], -1) for run in runs])
        in_parts.setdefault((thread, key, bare, True), []).append(call)
    alike = _alike([call for call in calls if call[3] < 0])
    for group, same in (*in_parts.items(), *alike.items()):
        _count_alike(group, same, functions.get(group[1]), loops, timeline)


def _alike(calls: list[WaitingCall]) -> dict[_Group, list[WaitingCall]]:
    """Return calls that were timed as a whole, those of one thread, function and runs together."""
    if not calls:
        return {}
    threads, keys, *_, ran = zip(*calls, strict=True)
    thread, key, runs = threads[0], keys[0], ran[0]
    if threads.count(thread) == keys.count(key) == ran.count(runs) == len(calls):  # mostly all are
        return {(thread, key, tuple(runs), False): calls}
    found: dict[_Group, list[WaitingCall]] = {}
    for call in calls:
        found.setdefault((call[0], call[1], tuple(call[6]), False), []).append(call)
    return found


def _count_alike(
    group: _Group,
    calls: Sequence[WaitingCall],
    function: FunctionAggregate | None,
    loops: Mapping[int, LoopAggregate],
    timeline: Timeline,
) -> None:
    """Count calls of a function that had the same runs of loops."""
    thread, _, runs, in_parts = group
    _, _, elapsed, checks, copies, watching, ran = zip(*calls, strict=True)
    around = sum(checks) + sum(copies) if in_parts else 0
    recording = sum(watching)
    count = timeline.returned(thread, sum(elapsed) + around + recording, len(calls))
    if function is None:
        return
    if in_parts:
        times = [[run[k][5] for run in ran] for k in range(len(runs))]
        found = CallTimes(elapsed, sum(checks), sum(copies), times)
    else:
        found = function.shares.divided(elapsed, runs)
    function.passed_over(found.elapsed, found.checks_ns, found.copies_ns)
    function.returned(found.checks_ns, found.copies_ns, recording, count)
    for run, taken in zip(runs, found.loops, strict=True):
        if run[0] in loops:
            loops[run[0]].ran(run, taken)


__all__ = ["MOST", "WaitingCall", "count_waiting"]
