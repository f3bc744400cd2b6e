"""Values that were not kept, computed again in the background by a service that the command line hands in.

The views know no engine: the service is a function from a loop, a run and steps to a record of values.  It is asked in a thread,
for one window of steps at a time; what arrives is taken by a timer, so that a thread that waits keeps nobody from leaving.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from scanviz.record.errors import ScanvizError
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.model import TraceRecord

Recompute = Callable[[ProfileRecord, int, int, int, int], TraceRecord]  # loop, run, first and last step
BESIDE = 24  # steps on each side of the one that is asked for
MOST_WINDOWS = 200

Key = tuple[int, int]  # a loop and a run of it


class Recomputed:
    """Windows of steps that were computed again, and the one that is being computed.

    Parameters
    ----------
    service : callable or None
        Computes a window; None where nothing is computed.
    """

    def __init__(self, service: Recompute | None) -> None:
        self.service = service
        self.waiting = False
        self._windows: list[TraceRecord] = []
        self._errors: dict[tuple[int, int, int], str] = {}
        self._arrived: list[tuple[tuple[int, int, int], TraceRecord | str]] = []

    def traces(self, loop: int | None) -> list[TraceRecord]:
        """Return the windows of a loop, the newest first."""
        return [window for window in self._windows if window.loop == loop]

    def error(self, loop: int, run: int, step: int) -> str:
        """Return why a step cannot be computed; empty where that is not known."""
        return self._errors.get((loop, run, step), "")

    def can(self, record: ProfileRecord, loop: int, run: int) -> bool:
        """Return whether the record holds what a run was given."""
        return any(call.has_run(loop, run) for call in record.calls)

    def ask(self, record: ProfileRecord, loop: int, run: int, step: int) -> None:
        """Begin to compute a step and those beside it, unless another window is being computed."""
        service, key = self.service, (loop, run, step)
        if service is None or self.waiting or key in self._errors:
            return

        def compute() -> None:
            found: TraceRecord | str
            try:
                found = service(record, loop, run, max(0, step - BESIDE), step + BESIDE)
            except ScanvizError as error:
                found = str(error)
            self._arrived.append((key, found))

        self.waiting = True
        threading.Thread(target=compute, name="scanviz values", daemon=True).start()

    def take(self) -> bool:
        """Take what has arrived; return whether something has."""
        if not self._arrived:
            return False
        key, found = self._arrived.pop()
        self.waiting = False
        if isinstance(found, str):
            self._errors[key] = found
        else:
            self._windows = [found, *self._windows[: MOST_WINDOWS - 1]]
        return True
