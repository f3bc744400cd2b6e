"""Calls that were told as wholes and wait to be counted, some hundreds at once: very many come, and each is short."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import chain
from threading import get_ident
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scanviz.engine.observation.events import Run
    from scanviz.profiler.recording.function_aggregate import FunctionAggregate
    from scanviz.profiler.recording.loop_aggregate import LoopAggregate
    from scanviz.profiler.recording.timeline import Timeline

MOST = 512  # that wait


class WaitingCalls:
    """All calls that wait: whoever adds one needs no lock, who has them counted does."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        # each with its thread, function, nanoseconds of its run, checks, copies and observing, and the runs of its loops
        self._calls: deque[tuple[int, int, int, int, int, int, Sequence[Run]]] = deque()

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._calls)

    def add(self, function: int, times: tuple[int, int, int, int], runs: Sequence[Run]) -> bool:
        """Add a call, with the nanoseconds of its run, checks, copies and observing; return whether many wait."""
        self._calls.append((get_ident(), function, *times, runs))
        return len(self._calls) >= MOST

    def count(
        self,
        functions: Mapping[int, FunctionAggregate],
        loops: Mapping[int, LoopAggregate],
        timeline: Timeline,
    ) -> None:
        """Count what waits, before what threads have open changes; others may be added meanwhile."""
        from scanviz.engine.observation.events import together  # who tells of calls has imported it

        by_function: dict[tuple[int, int], list[tuple[int, int, int, int, Sequence[Run]]]] = {}
        for _ in range(len(self._calls)):
            thread, key, *rest = self._calls.popleft()
            by_function.setdefault((thread, key), []).append(tuple(rest))  # type: ignore[arg-type]  # five of them
        for (thread, key), calls in by_function.items():
            elapsed, checks, copies, observing, runs = zip(*calls, strict=True)
            around = sum(checks), sum(copies), sum(observing)
            entered = timeline.returned(thread, sum(elapsed) + sum(around), len(calls))
            if key in functions:
                functions[key].passed_over(np.array(elapsed, np.int64))
                functions[key].returned(*around, entered)
            for run in together(chain.from_iterable(runs)):
                if run[0] in loops:
                    loops[run[0]].count(run)


__all__ = ["WaitingCalls"]
