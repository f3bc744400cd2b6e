"""Show a running program: its record in a file for live views, and a progress line on the terminal.

A thread replaces the whole file in one step, so a reader never sees half of it.  It rests twenty times the CPU time of a write, so
that a live view costs at most 5 % of one core.

The progress line is right-aligned and leaves the cursor at the start of the line, so that the program's output comes before it.  It
is written at most twice a second and erased at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.report.units import amount
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import save

VARIABLE = "SCANVIZ_LIVE"  # names the file; taken out of the environment, so that the program's own processes do not write it
SHORTEST = 0.1  # seconds between two writes
REST = 20  # times the CPU time of a write


class LiveFile:
    """Write a recorder's record to a file until stopped.

    Parameters
    ----------
    recorder : Recorder
        The recorder.
    path : Path
        The file.
    """

    def __init__(self, recorder: Recorder, path: Path) -> None:
        self._recorder, self._path = recorder, path
        recorder.lists_built = True  # a live view lists functions before they run
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_on, name="scanviz live", daemon=True)

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    def stop(self, record: ProfileRecord) -> None:
        """Finish a write in progress, write the final record and stop."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(5)
        if self._path.parent.is_dir():
            save(record, self._path)

    def _write_on(self) -> None:
        rest = SHORTEST
        while not self._ended.wait(rest):
            if not self._path.parent.is_dir():
                return  # the live view has ended
            begun = time.thread_time()
            with contextlib.suppress(OSError):  # a full disk must not end the program
                save(self._recorder.record(), self._path)
            rest = max(SHORTEST, REST * (time.thread_time() - begun))


def live_file(recorder: Recorder) -> LiveFile | None:
    """Return a writer if the environment asks for a live view; remove the variable from the environment.

    Examples
    --------
    >>> live_file(Recorder()) is None
    True
    """
    path = os.environ.pop(VARIABLE, None)
    return LiveFile(recorder, Path(path)) if path else None


DELAY, PERIOD = 2.0, 0.5  # seconds before the first line, and between lines


class Progress:
    """Show the calls and steps so far.

    Parameters
    ----------
    counts : callable
        Returns (calls, steps); called from a thread of its own.
    """

    def __init__(self, counts: Callable[[], tuple[int, int]]) -> None:
        self._counts = counts
        self._stopped = threading.Event()
        self._shown = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start, if standard error is a suitable terminal."""
        wanted = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        if not wanted or os.environ.get("NO_COLOR"):
            return
        self._thread = threading.Thread(target=self._show, daemon=True, name="scanviz progress")
        self._thread.start()

    def _show(self) -> None:
        begun = time.monotonic()
        if self._stopped.wait(DELAY):
            return
        while True:
            calls, steps = self._counts()
            seconds = time.monotonic() - begun
            text = f"scanviz: {seconds:.0f} s, {amount(calls)} calls, {amount(steps)} steps"
            column = max(1, shutil.get_terminal_size((80, 24)).columns - len(text))
            sys.stderr.write(f"\x1b[2K\x1b[{column}G\x1b[2m{text}\x1b[0m\r")
            sys.stderr.flush()
            self._shown = True
            if self._stopped.wait(PERIOD):
                return

    def stop(self) -> None:
        """Stop and erase the line."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(1.0)
            self._thread = None
        if self._shown:
            sys.stderr.write("\x1b[2K")
            sys.stderr.flush()
            self._shown = False
