"""Runs of a loop that have begun and not ended, by thread: one is around another where a call was made while it ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class OpenRun(NamedTuple):
    """A run that goes on.

    Attributes
    ----------
    number : int
        Which run of the loop it is.
    begun : int
        When it began, in nanoseconds of the process's clock.
    around : OpenRun or None
        What its thread had open before.
    """

    number: int
    begun: int
    around: OpenRun | None


class OpenRuns:
    """Open runs of one loop."""

    __slots__ = ("_innermost",)

    def __init__(self) -> None:
        self._innermost: dict[int, OpenRun] = {}

    def __iter__(self) -> Iterator[OpenRun]:
        """Yield the runs of all threads."""
        for thread in self._innermost:
            yield from self._of(thread)

    def begin(self, thread: int, number: int, now: int) -> None:
        """Open a run in a thread."""
        self._innermost[thread] = OpenRun(number, now, self._innermost.get(thread))

    def innermost(self, thread: int) -> OpenRun | None:
        """Return the run that a thread opened last."""
        return self._innermost.get(thread)

    def count(self, thread: int) -> int:
        """Return how many runs a thread has open."""
        return sum(1 for _ in self._of(thread))

    def end(self, thread: int) -> OpenRun | None:
        """Close the run that a thread opened last and return it."""
        run = self._innermost.pop(thread, None)
        if run is not None and run.around is not None:
            self._innermost[thread] = run.around
        return run

    def _of(self, thread: int) -> Iterator[OpenRun]:
        run = self._innermost.get(thread)
        while run is not None:
            yield run
            run = run.around


__all__ = ["OpenRun", "OpenRuns"]
