"""Write the record of a running program to a file from time to time, for live views.

A thread replaces the whole file in one step, so a reader never sees half of it.  It rests twenty times the CPU time of a write, so
that a live view costs at most 5 % of one core.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.profiler.recording.recorder import Recorder

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

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
        from scanviz.record.storage.file import save

        self._recorder, self._path, self._save = recorder, path, save
        recorder.lists_built = True  # a live view lists functions before they run
        recorder.record()  # imports its modules here, not in the writing thread
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
            self._save(record, self._path)

    def _write_on(self) -> None:
        rest = SHORTEST
        while not self._ended.wait(rest):
            if not self._path.parent.is_dir():
                return  # the live view has ended
            begun = time.thread_time()
            with contextlib.suppress(OSError):  # a full disk must not end the program
                self._save(self._recorder.record(), self._path)
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
