"""The first NaN of a call whose results have one: the call is computed again, value by value.

The first repetition follows each NaN to the results, so that a masked missing value is not blamed.  The second one ends at the
operation that made the NaN in the results.  Together they take at most two seconds.  If the first does not end in half of
them, a NaN that is held by then counts; where there is none, only the function is known.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np

from scanviz.engine.observe import Observer
from scanviz.profiler.values.checking import Checker, CheckOptions
from scanviz.profiler.values.nan_origins import NanOrigin, NanOrigins, made_here, nan_in
from scanviz.record.traces.finding import FindingRecord, FirstNanRecord
from scanviz.record.traces.origins import Frame

LONGEST_NS = 2_000_000_000


def first_nan(function: int, again: Callable[[Observer], None]) -> FirstNanRecord:
    """Return where the first NaN of a call that reaches its results appears, found by repeating the call.

    Parameters
    ----------
    function : int
        Key of the function.
    again : callable
        ``again(observer)`` repeats the call.
    """
    begun = perf_counter_ns()
    origins = _Origins(begun + LONGEST_NS // 2)
    completed = _completed(again, origins)
    origin = origins.found
    if origin is None:
        return FirstNanRecord(function, was_given=completed)
    search = _Search(origin, begun + LONGEST_NS)
    _completed(again, search)
    found = search.finding
    if found is None:
        return FirstNanRecord(function)
    place = found.loops[-1] if found.loops else None
    was_given = found.cause == "given"
    return FirstNanRecord(
        function,
        found.operation,
        found.source,
        place.loop if place is not None else "",
        place.step if place is not None else None,
        _given(found) if was_given else ", ".join(found.rows),
        was_given,
    )


def _given(found: FindingRecord) -> str:
    """Return the outside value that was NaN, with its rows if known."""
    origin = next((value.origin for value in found.inputs if value.where is not None and value.origin), "")
    for kind in ("your input ", "shared variable "):
        rows = [row for row in found.rows if origin == kind + row.partition("[")[0]]
        if rows:
            return kind + ", ".join(rows)
    return origin


class _SearchEnded(BaseException):
    """A repetition is long enough; no Exception, whose handlers would add to it or run the call again."""


def _completed(again: Callable[[Observer], None], observer: Observer) -> bool:
    """Repeat a call and return whether it ended; a failure of the repetition changes nothing of the run."""
    try:
        again(observer)
    except (Exception, _SearchEnded):
        return False
    return True


class _Origins(NanOrigins):
    """The origins of NaN, followed until a time."""

    def __init__(self, ends: int) -> None:
        super().__init__()
        self._ends = ends

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        if perf_counter_ns() > self._ends:
            raise _SearchEnded
        super().instruction(function, loop, step, index, elapsed_ns, values)


class _Search(Checker):
    """A check for NaN in one operation of the call, which ends there or at a time."""

    def __init__(self, origin: NanOrigin, ends: int) -> None:
        super().__init__(CheckOptions(inf=False), stops=False)
        self._origin, self._ends, self._number = origin, ends, 0

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        self._number += 1
        super().instruction(function, loop, step, index, elapsed_ns, values)
        if self._number == self._origin.number or perf_counter_ns() > self._ends:
            raise _SearchEnded

    def _problem(
        self, frame: Frame, index: int, register: int, value: np.ndarray[Any, Any]
    ) -> tuple[str, str] | None:
        if self._number != self._origin.number:
            return None
        if not self._origin.was_given:
            self._checks = {"nan": _made(frame, index, value)}
        return super()._problem(frame, index, register, value)


def _made(
    frame: Frame, index: int, value: np.ndarray[Any, Any]
) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return the test for NaN that an operation made: beside those that it was given, these alone count."""
    instruction = frame.program.instructions[index]
    bad, read = nan_in(value), (nan_in(frame.value(number)) for number in instruction.inputs)
    given = [found for found in read if found is not None]
    made = made_here(instruction, bad, given) if bad is not None and given else None
    if made is None:
        return np.isnan
    return lambda number: (
        made & np.isnan(number) if number.shape == made.shape else np.zeros(number.shape, bool)
    )
