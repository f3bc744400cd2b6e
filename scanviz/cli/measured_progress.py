"""How far ``--verify`` and ``--ablate`` are, and how long the rest takes: a line on a terminal, nothing anywhere else.

The estimate learns the pace of each kind of work: what has been done of ``--verify`` says how long the rest of ``--verify`` takes,
and ``--ablate`` is told how long it may measure.  The line is drawn where work is notified, between measurements, and by no thread
of its own, so that it is in no measured time.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TextIO

from scanviz.record.plain_text import sanitize

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY, PERIOD = 1.0, 0.25  # seconds before the line is first drawn, and between drawings
LEAST_SHARE = 0.02  # of the work: before so much is done of it, its pace is not known


class Job(NamedTuple):
    """A part of the work.

    Attributes
    ----------
    kind : str
        What is done, ``"verify"`` or ``"ablate"``: jobs of a kind have one pace.
    name : str
        The function it is done with.
    seconds : float
        How long it is expected to take; only the proportions within a kind have to be right.
    """

    kind: str
    name: str
    seconds: float


class Remaining:
    """How long the rest of some jobs takes, from the pace so far.

    Examples
    --------
    >>> clock = iter([0.0, 3.0, 3.0]).__next__
    >>> left = Remaining([Job("verify", "f", 1.0), Job("verify", "g", 2.0)], clock)
    >>> left.begin(0)
    >>> left.at(0.5)  # half of a job took 3 s: the other half takes as long, and g twice as long as f
    15.0
    """

    def __init__(self, jobs: Sequence[Job], clock: Callable[[], float] = time.monotonic) -> None:
        self._jobs, self._clock = jobs, clock
        self._spent: dict[str, float] = {}
        self._job, self._begun = -1, 0.0

    def begin(self, job: int) -> None:
        """Begin with a job; the one before has ended."""
        now = self._clock()
        if self._job >= 0:
            kind = self._jobs[self._job].kind
            self._spent[kind] = self._spent.get(kind, 0.0) + now - self._begun
        self._job, self._begun = job, now

    def at(self, done: float) -> float:
        """Return the seconds that are left when so much of the present job is done, from 0 to 1."""
        elapsed = self._clock() - self._begun
        now = self._jobs[self._job]
        left = 0.0
        for kind in {job.kind for job in self._jobs[self._job :]}:
            whole = sum(job.seconds for job in self._jobs if job.kind == kind)
            finished = sum(job.seconds for job in self._jobs[: self._job] if job.kind == kind)
            finished += now.seconds * done if kind == now.kind else 0.0
            spent = self._spent.get(kind, 0.0) + (elapsed if kind == now.kind else 0.0)
            pace = spent / finished if finished > LEAST_SHARE * whole else 1.0
            left += max(0.0, whole - finished) * pace
        return left


class MeasuredProgress:
    """The line; it draws nothing where the stream is no terminal that wants it.

    Parameters
    ----------
    stream : file
        Standard error.
    jobs : sequence of Job
        The work, in the order in which it is done.
    """

    def __init__(self, stream: TextIO, jobs: Sequence[Job]) -> None:
        wanted = stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
        self._stream, self._jobs, self._wanted = stream, jobs, wanted and bool(jobs)
        self._remaining, self._job = Remaining(jobs), -1
        self._begun = self._drawn = time.monotonic()
        self._line: Progress | None = None

    def begin(self, kind: str, name: str) -> None:
        """Go on to a job; those in between were left out."""
        later = range(self._job + 1, len(self._jobs))
        self._job = next(k for k in later if self._jobs[k][:2] == (kind, name))
        self._remaining.begin(self._job)

    def notify(self, done: float, what: str) -> None:
        """Draw how much is done of the present job, if it is time to."""
        now = time.monotonic()
        if not self._wanted or now - self._begun < DELAY or now - self._drawn < PERIOD:
            return
        left = self._remaining.at(done)
        passed = now - self._begun
        self._drawn = now
        line = self._started()
        job = self._jobs[self._job]
        number = f" ({self._job + 1} of {len(self._jobs)})" if len(self._jobs) > 1 else ""
        text = f"--{job.kind} {sanitize(job.name)}{number}: {sanitize(what)}"
        line.update(
            line.task_ids[0], completed=passed, total=passed + left, description=text, left=in_words(left)
        )
        line.refresh()

    def _started(self) -> Progress:
        if self._line is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn
            from rich.table import Column

            self._line = Progress(
                TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
                BarColumn(16),
                TextColumn("{task.fields[left]}", markup=False),
                console=Console(file=self._stream),
                auto_refresh=False,
                transient=True,
                expand=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )  # fmt: skip
            self._line.add_task("", total=1.0, left="")
            self._line.start()
        return self._line

    def erase(self) -> None:
        """Take the line away, so that something else can be written; it comes again with the next notification."""
        if self._line is not None:
            self._line.stop()
            self._line = None


def in_words(seconds: float) -> str:
    """Return how long is left, as exactly as an estimate is worth.

    Examples
    --------
    >>> in_words(0.3), in_words(41.4), in_words(200), in_words(9000)
    ('a moment left', 'about 41 s left', 'about 3 min left', 'about 2.5 h left')
    """
    if seconds < 1:
        return "a moment left"
    if seconds < 100:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 6000 else f"about {seconds / 3600:.1f} h left"


@contextmanager
def measured_progress(stream: TextIO, jobs: Sequence[Job]) -> Iterator[MeasuredProgress]:
    """Show how far jobs are; the line is gone at the end, however it ends."""
    shown = MeasuredProgress(stream, jobs)
    try:
        yield shown
    finally:
        with contextlib.suppress(Exception):  # the terminal may be gone
            shown.erase()


__all__ = ["Job", "MeasuredProgress", "Remaining", "in_words", "measured_progress"]
