"""How far ``--verify`` and ``--ablate`` are, and how long the rest takes: a line on a terminal, nothing anywhere else.

The line is drawn where work is notified, between measurements, and by no thread of its own, so that it is in no measured time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from scanviz.record.plain_text import sanitize

DELAY, PERIOD = 1.0, 0.25  # seconds before the line is first drawn, and between drawings


class Job(NamedTuple):
    """A part of the work: ``"verify"`` or ``"ablate"``, the name of the function, and the seconds that it is expected to take."""

    kind: str
    name: str
    seconds: float


class MeasuredProgress:
    """The line.

    Parameters
    ----------
    stream : file
        Where it is drawn, if that is a terminal that wants it.
    jobs : sequence of Job
        The work, in the order in which it is done.
    """

    def __init__(self, stream: TextIO, jobs: Sequence[Job]) -> None:
        terminal = stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
        self._wanted, self._jobs, self._job = terminal and bool(jobs), jobs, -1
        self._next = time.monotonic() + DELAY
        self._line = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            BarColumn(16),
            TimeRemainingColumn(),
            console=Console(file=stream),
            auto_refresh=False,
            transient=True,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._task = self._line.add_task("", total=sum(job.seconds for job in jobs))

    def begin(self, kind: str, name: str) -> None:
        """Go on to a job; those in between were left out."""
        later = range(self._job + 1, len(self._jobs))
        self._job = next(k for k in later if self._jobs[k][:2] == (kind, name))

    def notify(self, done: float, what: str) -> None:
        """Draw how much is done of the present job, if it is time to."""
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + PERIOD
        job = self._jobs[self._job]
        completed = sum(job.seconds for job in self._jobs[: self._job]) + done * job.seconds
        which = f" ({self._job + 1} of {len(self._jobs)})" if len(self._jobs) > 1 else ""
        text = f"--{job.kind} {sanitize(job.name)}{which}: {sanitize(what)}"
        self._line.start()
        self._line.update(self._task, completed=completed, description=text, refresh=True)

    def erase(self) -> None:
        """Take the line away, so that something else can be written; it comes again with the next notification."""
        if self._line.live.is_started:
            self._line.stop()
