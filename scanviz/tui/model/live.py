"""A script in its own process, followed through two files: its record and its output.

Nothing joins the two processes but these files.  If the application ends or dies, the script runs on and saves its profile.  If
the script ends or dies, the application stays on the last record, and saves it where the script could not.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from rich.text import Text

from scanviz.child_process import scanviz_command
from scanviz.record.errors import ScanvizError
from scanviz.record.model import OutcomeRecord, ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.storage.file import load, save
from scanviz.tui.model.source import Source

VARIABLE = "SCANVIZ_LIVE"
CHUNK = 1 << 18  # bytes of output that are taken at once
PATIENCE = 5.0  # seconds that a script has to save its profile when it is stopped
REST = 4  # times as long as reading a record took, before the next is read
TAIL = 20  # lines of what a script printed last that are shown when it failed


class LiveSource(Source):
    """A script and its record.

    Parameters
    ----------
    command : list of str
        The script and its arguments, or ``-m module …`` or ``-c code …``.
    saved : Path
        Path of the saved profile.
    options : sequence of str
        Further ones of ``scanviz profile``, such as ``--values``.
    """

    live = True

    def __init__(self, command: list[str], saved: Path, options: Sequence[str] = ()) -> None:
        super().__init__(ProfileRecord(script=command[0]), str(saved))
        self.saved = saved.absolute()
        self._before = _identity(self.saved)
        self._folder = Path(tempfile.mkdtemp(prefix="scanviz-live-"))
        self._live_folder = (
            self._folder / "live"
        )  # the script stops to write its record when this folder is gone
        self._live_folder.mkdir()
        self._live, self.printed = self._live_folder / "live.scanviz", self._folder / "output.txt"
        self._stamp = self._place = 0
        self._next = 0.0
        self._begun, self._took = time.monotonic(), 0.0
        self._unsaved = ""  # why what was recorded could not be saved
        self.finished = False  # whether the last record was read
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with self.printed.open("wb") as stream:
            self._process = subprocess.Popen(
                scanviz_command(
                    "profile", "--quiet", "-o", str(self.saved), *options, *command, flags=("-u",)
                ),
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, VARIABLE: str(self._live)},
                start_new_session=True,  # ctrl+c of the terminal is not the script's
            )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)

    @property
    def running(self) -> bool:  # type: ignore[override]  # a file never runs, a script does until it ends
        """True while the script runs."""
        return self._process.poll() is None

    @property
    def elapsed(self) -> float:  # type: ignore[override]  # a file takes no time
        """Seconds that the script has run."""
        if self.running or not self._took:
            self._took = time.monotonic() - self._begun
        return self._took

    @property
    def process(self) -> int:
        """The number of the script's process."""
        return self._process.pid

    def update(self) -> bool:
        """Take a newer record, if any; may be called from another thread."""
        if self.finished:
            return False
        running = self.running  # asked first: what was written before the end is then read after it
        if running and time.monotonic() < self._next:
            return False
        changed = self._reload()
        if not running:
            self._keep()
            self.finished = changed = True
        return changed

    def _reload(self) -> bool:
        begun = time.monotonic()
        try:
            stamp = self._live.stat().st_mtime_ns
            if stamp == self._stamp:
                return False
            self.record, self._stamp = load(self._live), stamp
        except (OSError, ScanvizError):
            return False
        self._next = time.monotonic() + REST * (time.monotonic() - begun)
        return True

    def _keep(self) -> None:
        """Record how the script ended, and save the record if the script could not: os._exit, a crash, a kill."""
        if self.record.outcome.status == "running":
            self.record = replace(self.record, outcome=_outcome(self._process.returncode or 0))
        if not self.was_saved() and self.record.functions:
            try:
                save(self.record, self.saved)
            except OSError as error:
                self._unsaved = str(error)

    def was_saved(self) -> bool:
        """Return whether a profile of this run was saved."""
        return _identity(self.saved) not in (None, self._before)

    @property
    def takes_input(self) -> bool:  # type: ignore[override]  # a file never does
        """True if the script reads its input from here."""
        stdin = self._process.stdin
        return self.running and stdin is not None and not stdin.closed

    def write_input(self, text: str) -> str:
        """Write to the script's standard input; return why that failed, if it did."""
        stdin, data = self._process.stdin, text.encode()
        if stdin is None or stdin.closed:
            return "The script's input has ended."
        try:
            written = os.write(stdin.fileno(), data) if len(data) <= select.PIPE_BUF else 0
        except BlockingIOError:
            written = 0
        except OSError as error:
            return f"The script reads no more: {error.strerror}."
        return (
            "" if written else "The script has not read what was written to it before, or this is too long."
        )

    def end_input(self) -> None:
        """End the script's standard input, as ctrl+d does on a terminal."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def output(self) -> str:
        """Return new output, control characters included."""
        ended = not self.running
        try:
            with self.printed.open("rb") as stream:
                stream.seek(self._place)
                data = stream.read(CHUNK)
        except OSError:
            return ""
        self._place += len(data)
        return self._decoder.decode(data, final=ended and len(data) < CHUNK)

    def status(self) -> str:
        """Return the script's status in words."""
        code = self._process.poll()
        if code is None:
            return "running"
        if code == 0:
            return "ended"
        outcome = self.record.outcome
        if outcome.status == "error" and outcome.code == code and outcome.message:
            return f"failed: {sanitize(outcome.message)[:200]}"
        return f"ended with exit code {code}" if code > 0 else f"ended by {_signal_name(-code)}"

    def stop(self) -> None:
        """Interrupt the script, as ctrl+c does; it saves its profile.  Repeated, end it more and more forcibly."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(PATIENCE)

    def close(self) -> None:
        """Keep the last record and remove temporary files; a running script keeps its output file."""
        self.end_input()
        if self.running:
            shutil.rmtree(self._live_folder, ignore_errors=True)
            return
        self.update()
        self._last = self._tail()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tail(self) -> list[str]:
        with contextlib.suppress(OSError), self.printed.open("rb") as stream:
            stream.seek(max(0, self.printed.stat().st_size - 200 * TAIL))
            text = Text.from_ansi(stream.read().decode("utf-8", "replace")).plain
            return [sanitize(line) for line in text.splitlines()[-TAIL:]]
        return []

    _last: list[str] = []  # noqa: RUF012  # replaced, never changed

    def farewell(self) -> str:
        """Return the message to print after the application has ended."""
        if self.running:
            return (
                f"scanviz: the script runs on as process {self.process}; it prints to {self.printed}, and its profile"
                f" will be saved as {self.saved}\n"
            )
        lines = list(self._last) if self.exit_code() else []
        lines.append(f"scanviz: the script {self.status()}")
        lines.append(
            f"saved {self.saved}  (scanviz tui {shlex.quote(str(self.saved))})"
            if self.was_saved()
            else f"scanviz: no profile was saved: {self._unsaved or 'nothing was recorded'}"
        )
        return "\n".join(lines) + "\n"

    def exit_code(self) -> int:
        """Return the script's exit code: 0 while it runs, nonzero if its profile could not be saved."""
        code = self._process.poll()
        if code == 0 and self._unsaved:
            return 1
        return 0 if code is None else code if code >= 0 else 128 - code


def _identity(path: Path) -> tuple[int, int] | None:
    """Return an identity of a file that a later file of the same name does not share."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _outcome(code: int) -> OutcomeRecord:
    """Return the outcome of a script that could not report it."""
    if code < 0:
        return OutcomeRecord("interrupted", 128 - code, f"ended by {_signal_name(-code)}")
    return OutcomeRecord("ok" if code == 0 else "exit", code)
