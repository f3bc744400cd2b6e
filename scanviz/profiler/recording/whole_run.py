"""A run as a whole: what is run, when it began and ended, how, and what the process used of the processor meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from scanviz.profiler.recording.processor import Usage, process_usage, used
from scanviz.record.outcome import OutcomeRecord
from scanviz.record.paths import recorded_path


class WholeRun:
    """A run that begins now.

    Parameters
    ----------
    clock : callable
        Gives nanoseconds.

    Attributes
    ----------
    script, arguments : str, tuple of str
        What is run; a path is kept as in source lines, without the machine's folders.
    outcome : OutcomeRecord
        How it ended, or that it is running.
    """

    __slots__ = (
        "_begun", "_clock", "_date", "_ended", "_used_after", "_used_before", "arguments", "outcome", "script",
    )  # fmt: skip

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.script, self.arguments = "", ()  # type: tuple[str, tuple[str, ...]]
        self.outcome = OutcomeRecord()
        self.begin()

    def begin(self) -> None:
        """Let its wall time start here."""
        self._date = time.time()
        self._begun, self._ended = self._clock(), None  # type: tuple[int, int | None]
        self._used_before = process_usage()
        self._used_after: Usage | None = None

    def describe(self, script: str, arguments: Sequence[str]) -> None:
        """Say what is being run."""
        self.script = recorded_path(script) if os.path.isabs(script) else script
        self.arguments = tuple(arguments)

    def end(self, outcome: OutcomeRecord) -> None:
        """Say how it ended; its wall time stops here."""
        self.outcome, self._ended = outcome, self._clock()
        self._used_after = process_usage()

    @property
    def started(self) -> str:
        """The date and time of its beginning."""
        return datetime.fromtimestamp(self._date, UTC).isoformat(timespec="seconds")

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._ended is not None

    def wall_ns(self, now: int) -> int:
        """Return how long it took, or has taken until now."""
        return max(0, (now if self._ended is None else self._ended) - self._begun)

    def measures(self) -> dict[str, float]:
        """Return what the process used of the processor from beginning to end, nothing before it has ended."""
        before, after = self._used_before, self._used_after
        if after is None:
            return {}
        known = before.switches is not None and after.switches is not None
        switches = (after.switches or 0) - (before.switches or 0) if known else None
        return used(after.cpu_ns - before.cpu_ns, switches)


__all__ = ["WholeRun"]
