"""The record of a run that is not over yet, written to a file now and then for whoever watches.

A thread writes it whole and in one step, so a reader never sees half of it.  It rests twenty times as long as writing kept a
processor busy, so that watching costs at most a twentieth of one core.
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
SHORTEST = 0.1  # seconds between two writings
REST = 20


class LiveFile:
    """Writes a recorder's record to a file until it is told to end.

    Parameters
    ----------
    recorder : Recorder
        What is recording.
    path : Path
        The file.
    """

    def __init__(self, recorder: Recorder, path: Path) -> None:
        from scanviz.record.storage.file import save

        self._recorder, self._path, self._save = recorder, path, save
        recorder.lists_built = True  # who watches sees what there is before it runs
        recorder.record()  # what makes it is imported here, and not in the thread beside the program
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_on, name="scanviz live", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self, record: ProfileRecord) -> None:
        """Write the whole record and then no more; a writing that has begun is finished first."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(5)
        if self._path.parent.is_dir():
            self._save(record, self._path)

    def _write_on(self) -> None:
        rest = SHORTEST
        while not self._ended.wait(rest):
            if not self._path.parent.is_dir():
                return  # nobody watches any more
            begun = time.thread_time()
            with contextlib.suppress(OSError):  # a full disk must not end the program that is watched
                self._save(self._recorder.record(), self._path)
            rest = max(SHORTEST, REST * (time.thread_time() - begun))


def live_file(recorder: Recorder) -> LiveFile | None:
    """Return a writer if somebody watches; the variable that says so is taken out of the environment.

    Examples
    --------
    >>> live_file(Recorder()) is None
    True
    """
    path = os.environ.pop(VARIABLE, None)
    return LiveFile(recorder, Path(path)) if path else None
