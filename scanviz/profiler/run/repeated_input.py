"""Repeat standard input for several runs: read it once, on demand, and give it to every run from the beginning.

A file is rewound.  A pipe or socket is copied to a temporary file while it is read, and each run gets a pipe that is filled from
there.  More input is read only when a run has consumed the copy, so that endless input works and no run waits for input it does not
read.  A pipe is read about 64 KiB ahead, as ``ssh`` does.  A terminal cannot be repeated: only the first run has it, the others get
empty input.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Kind = Literal["file", "stream", "terminal", "other"]
_CHUNK = 2**16


def kind_of_input(descriptor: int = 0) -> Kind:
    """Classify a descriptor of standard input by how it can be repeated.

    Examples
    --------
    >>> read, write = os.pipe()
    >>> kind_of_input(read)
    'stream'
    >>> os.close(read), os.close(write)
    (None, None)
    >>> kind_of_input(read)  # closed: every run finds it so
    'other'
    """
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return "other"
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return "stream"
    return "terminal" if os.isatty(descriptor) else "other"


class RepeatedInput:
    """Standard input for one run after the other.

    Parameters
    ----------
    descriptor : int
        The input; it stays open.

    Examples
    --------
    >>> read, write = os.pipe()
    >>> os.write(write, b"1 2 3"), os.close(write)
    (5, None)
    >>> runs = RepeatedInput(read)
    >>> for number in range(2):
    ...     with runs.of_run(number) as given:
    ...         os.read(given, 100)
    b'1 2 3'
    b'1 2 3'
    >>> runs.close()
    """

    def __init__(self, descriptor: int = 0) -> None:
        self.kind = kind_of_input(descriptor)
        self._descriptor = descriptor
        self._start = os.lseek(descriptor, 0, os.SEEK_CUR) if self.kind == "file" else 0
        self._kept = tempfile.TemporaryFile() if self.kind == "stream" else None  # noqa: SIM115  # closed by close
        self._size, self._ended = 0, False
        self._closing = os.pipe() if self.kind == "stream" else None  # wakes the feeder that waits for input
        self._reading = threading.Lock()  # one run may still wait for input when the next one begins
        self._file = threading.Lock()

    @contextmanager
    def of_run(self, number: int) -> Iterator[int | None]:
        """Yield a run's standard input for ``subprocess.Popen``; None is that of this process."""
        if self.kind == "file":
            os.lseek(self._descriptor, self._start, os.SEEK_SET)
        if self.kind != "stream":
            yield subprocess.DEVNULL if self.kind == "terminal" and number else None
            return
        read, write = os.pipe()
        feeder = threading.Thread(target=self._feed, args=(write,), daemon=True, name="scanviz input")
        feeder.start()
        try:
            yield read
        finally:
            os.close(read)  # ends the feeder at its next write; `close` ends one that waits for input

    def close(self) -> None:
        """Drop the copy and stop reading the descriptor, which may be closed or reused from then on."""
        if self._closing is None:
            return
        waiting, wake = self._closing
        os.close(wake)
        with self._reading, self._file:
            if self._kept is not None:
                self._kept.close()
            self._kept = self._closing = None
        os.close(waiting)

    def _feed(self, write: int) -> None:
        place = 0
        with contextlib.suppress(OSError):  # the run has ended, or does not read any more
            while chunk := self._chunk(place):
                place += len(chunk)
                while chunk:
                    chunk = chunk[os.write(write, chunk) :]
        with contextlib.suppress(OSError):
            os.close(write)

    def _chunk(self, place: int) -> bytes:
        """Return the input at an offset, waiting for it if needed; empty at the end."""
        found = self._known(place)
        if found or self._ended:
            return found
        with self._reading:
            found = self._known(place)  # another run's feeder may have read it meanwhile
            if found or self._closing is None or self._ended:
                return found
            read = self._read(self._closing[0])
            self._keep(read)
            return read

    def _read(self, closing: int) -> bytes:
        with selectors.DefaultSelector() as ready:
            ready.register(self._descriptor, selectors.EVENT_READ)
            ready.register(closing, selectors.EVENT_READ)
            while True:
                found = [key.fd for key, _ in ready.select()]
                if closing in found:
                    return b""
                with contextlib.suppress(BlockingIOError):  # another process may have read it meanwhile
                    return os.read(self._descriptor, _CHUNK)

    def _known(self, place: int) -> bytes:
        with self._file:
            if self._kept is None or place >= self._size:
                return b""
            self._kept.seek(place)
            return self._kept.read(_CHUNK)

    def _keep(self, read: bytes) -> None:
        with self._file:
            self._ended = not read
            if self._kept is not None:
                self._kept.seek(self._size)
                self._kept.write(read)
                self._size += len(read)
