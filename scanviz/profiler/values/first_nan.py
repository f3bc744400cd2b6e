"""Find the first NaN of a call: compute the call again, value by value, until it appears.

The search takes at most two seconds; where they do not suffice, only the function is known.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from scanviz.engine.observe import Observer
from scanviz.profiler.values.checking import Checker, CheckOptions
from scanviz.record.traces.finding import FindingRecord, FirstNanRecord

LONGEST_NS = 2_000_000_000


def first_nan(function: int, again: Callable[[Observer], None]) -> FirstNanRecord:
    """Return the place of a call's first NaN, found by repeating the call.

    Parameters
    ----------
    function : int
        Key of the function.
    again : callable
        ``again(observer)`` repeats the call.
    """
    search = _Search()
    try:
        again(search)
    except (Exception, _SearchEnded):  # a failure of the second computation changes nothing of the run
        completed = False
    else:
        completed = True
    found = search.finding
    if found is None:
        return FirstNanRecord(function, was_given=completed)
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
    """Ends a search that found a NaN or ran out of time; no Exception, so that no handler catches it."""


class _Search(Checker):
    """A search for NaN with a time limit, which stops the repeated call at the first NaN."""

    def __init__(self) -> None:
        super().__init__(CheckOptions(inf=False), stops=False)
        self._end = perf_counter_ns() + LONGEST_NS

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        super().instruction(function, loop, step, index, elapsed_ns, values)
        if self.finding is not None or perf_counter_ns() > self._end:
            raise _SearchEnded
