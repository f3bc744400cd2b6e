"""Show a progress line on the terminal while a long program runs.

The text is right-aligned and leaves the cursor at the start of the line, so that the program's output comes before it.  It is
written at most twice a second and erased at the end.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable

from scanviz.profiler.report.units import amount

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
