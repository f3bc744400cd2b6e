"""The run as a whole: script, begin, end, outcome and CPU time of the process."""

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
        Returns nanoseconds.

    Attributes
    ----------
    script, arguments : str, tuple of str
        The script and its arguments; the path is stored as in source lines, without the machine's folders.
    outcome : OutcomeRecord
        The outcome, or that the run has not ended.
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
        """Start the wall time here."""
        self._date = time.time()
        self._begun, self._ended = self._clock(), None  # type: tuple[int, int | None]
        self._used_before = process_usage()
        self._used_after: Usage | None = None

    def describe(self, script: str, arguments: Sequence[str]) -> None:
        """Set the script and its arguments."""
        self.script = recorded_path(script) if os.path.isabs(script) else script
        self.arguments = tuple(arguments)

    def end(self, outcome: OutcomeRecord) -> None:
        """Set the outcome and stop the wall time."""
        self.outcome, self._ended = outcome, self._clock()
        self._used_after = process_usage()

    @property
    def started(self) -> str:
        """Date and time of the begin."""
        return datetime.fromtimestamp(self._date, UTC).isoformat(timespec="seconds")

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended."""
        return self._ended is not None

    def wall_ns(self, now: int) -> int:
        """Return the wall time of the run, or the time so far."""
        return max(0, (now if self._ended is None else self._ended) - self._begun)

    def measures(self) -> dict[str, float]:
        """Return the CPU time and context switches of the process during the run; empty before its end."""
        before, after = self._used_before, self._used_after
        if after is None:
            return {}
        known = before.switches is not None and after.switches is not None
        switches = (after.switches or 0) - (before.switches or 0) if known else None
        return used(after.cpu_ns - before.cpu_ns, switches)


__all__ = ["WholeRun"]
