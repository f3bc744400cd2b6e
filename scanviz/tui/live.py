"""A script that runs in a process of its own, watched through two files: its record, and what it prints.

Nothing joins the two processes but these files.  If the application ends or dies, the script runs on and saves its profile; if the
script ends or dies, the application stays on the last record.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from scanviz.record.errors import ScanvizError
from scanviz.record.file import load
from scanviz.record.model import ProfileRecord
from scanviz.tui.source import Source

VARIABLE = "SCANVIZ_LIVE"
CHUNK = 1 << 18  # bytes of output that are taken at once
PATIENCE = 5.0  # seconds that a script has to save its profile when it is stopped


class LiveSource(Source):
    """A script and its record.

    Parameters
    ----------
    command : list of str
        The script and its arguments, or ``-m module …`` or ``-c code …``.
    output : str, optional
        Where the profile is saved; as ``scanviz profile`` has it by default.
    values : bool
        Whether values are kept.
    """

    live = True

    def __init__(self, command: list[str], output: str | None = None, *, values: bool = False) -> None:
        super().__init__(ProfileRecord(script=command[0]), " ".join(command))
        self._folder = Path(tempfile.mkdtemp(prefix="scanviz-live-"))
        self._live, self._printed = self._folder / "live.scanviz", self._folder / "output.txt"
        self._stamp = 0
        self._final = False
        self._place = 0
        options = ["--quiet", *(["--values"] if values else []), *(["-o", output] if output else [])]
        self._saved = Path(output) if output else None
        with self._printed.open("wb") as stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scanviz", "profile", *options, *command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, VARIABLE: str(self._live), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # ctrl+c of the terminal is not the script's
            )

    @property
    def running(self) -> bool:  # type: ignore[override]  # a file never runs, a script does until it ends
        """Whether the script runs."""
        return self._process.poll() is None

    def update(self) -> bool:
        """Take a newer record, if there is one."""
        running = self.running
        if self._final:
            return False
        with contextlib.suppress(OSError, ScanvizError):
            stamp = self._live.stat().st_mtime_ns
            if stamp != self._stamp:
                self._stamp = stamp
                self.record = load(self._live)
                self._final = not running
                return True
        if not running:
            self._final = True
            return True
        return False

    def output(self) -> str:
        """Return what was printed since, whole lines of it while the script runs."""
        try:
            with self._printed.open("rb") as stream:
                stream.seek(self._place)
                data = stream.read(CHUNK)
        except OSError:
            return ""
        if self.running or len(data) == CHUNK:
            data = data[: data.rfind(b"\n") + 1]
        self._place += len(data)
        text = data.decode("utf-8", "replace")
        return text if not text or text.endswith("\n") else f"{text}\n"

    def status(self) -> str:
        """Return whether it runs, or how it ended."""
        code = self._process.poll()
        if code is None:
            return "running"
        return (
            "ended"
            if code == 0
            else f"ended with exit code {code}"
            if code > 0
            else f"ended by signal {-code}"
        )

    def stop(self) -> None:
        """Interrupt the script, as ctrl+c does; it saves its profile."""
        for name in ("SIGINT", "SIGTERM"):
            if self.running:
                self._process.send_signal(getattr(signal, name))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(PATIENCE)

    def close(self) -> None:
        """Let go of the files, unless the script still writes to them."""
        if not self.running:
            shutil.rmtree(self._folder, ignore_errors=True)

    def exit_code(self) -> int:
        """Return the script's exit code."""
        code = self._process.poll()
        return 0 if code is None else code if code >= 0 else 128 - code
