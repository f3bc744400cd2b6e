"""Compute values again in a separate process, with limits on time and memory.

A record may come from anybody, and its Programs may run forever or take all memory.  The process has a memory limit and is ended
after a time limit.  Requests and answers are lines of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from scanviz.child_process import isolated_module
from scanviz.record.errors import RecomputeError
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.codec import decode
from scanviz.record.storage.file import save
from scanviz.record.traces.model import TraceRecord

SECONDS = 20.0  # time limit for a window of steps
MEMORY = 2**30  # byte limit, beyond the size of the process at its start


STARTING = 20.0  # seconds for the start of the process
_WORKER = "scanviz.profiler.values.recompute_worker"


class RecomputeService:
    """Compute values of a record again on request.

    Parameters
    ----------
    seconds : float
        Time limit for a window of steps.
    memory : int
        Byte limit.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self.seconds, self.memory = seconds, memory
        self._record: ProfileRecord | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # one request at a time

    def window(self, record: ProfileRecord, loop: int, run: int, first: int, last: int) -> TraceRecord:
        """Return the values of steps of a run in a record, as :meth:`scanviz.profiler.values.replay.Replayer.window` has it.

        Raises
        ------
        RecomputeError
            If they cannot be computed, or not within the time and the memory.
        """
        with self._lock:
            if record is not self._record:
                self._end()
                self._record = record
            started = self._process is None
            answer = self._asked([loop, run, first, last], self.seconds + (STARTING if started else 1.0))
        if "error" in answer:
            raise RecomputeError(str(answer["error"]))
        return decode(TraceRecord, answer["trace"])

    def _asked(self, request: list[int], patience: float) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None  # they are pipes
        begun, line, late = time.monotonic(), b"", threading.Timer(patience, process.kill)
        late.start()
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        late.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._end()
        if time.monotonic() - begun < patience:
            raise RecomputeError(
                "the process that recomputes values has ended", found="it may have needed too much memory"
            )
        raise RecomputeError(
            f"step {request[2]} was not computed within {self.seconds:g} s", fix="--recompute=SECONDS allows more"
        )  # fmt: skip

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._folder = tempfile.TemporaryDirectory(prefix="scanviz-recompute-")
            path = Path(self._folder.name) / "asked.scanviz"
            save(_needed(self._record or ProfileRecord()), path)
            self._process = subprocess.Popen(
                isolated_module(_WORKER, str(path), str(self.seconds), str(self.memory)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                start_new_session=True,  # ctrl+c of the terminal is not for it
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # what was written to a process that is gone
                        stream.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _needed(record: ProfileRecord) -> ProfileRecord:
    """Return the record without the parts that computing does not need."""
    functions = tuple(replace(function, rewrites=None) for function in record.functions)
    return replace(record, functions=functions, repeats=())
