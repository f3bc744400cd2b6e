"""Sources of records: a file, or a script in its own process; and values recomputed on request.

The views know no engine: the command line passes in a function from a loop, a run and steps to a record of values.  A thread
calls it for one window of steps at a time, and a timer of the view takes the result: no thread keeps the application from ending.
"""

from __future__ import annotations

import shlex
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from scanviz.child_process import scanviz_command
from scanviz.record.errors import ScanvizError
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.storage.file import load
from scanviz.record.traces.model import TraceRecord

Recompute = Callable[[ProfileRecord, int, int, int, int], TraceRecord]  # loop, run, first and last step
BESIDE = 24  # steps computed on each side of the wanted one
MOST_WINDOWS = 200


class Recomputed:
    """Windows of steps that were computed again, and the one that is being computed."""

    def __init__(self) -> None:
        self.waiting = False
        self._windows: list[TraceRecord] = []
        self._errors: dict[tuple[int, int, int], str] = {}
        self._arrived: list[tuple[tuple[int, int, int], TraceRecord | str]] = []

    def traces(self, loop: int | None) -> list[TraceRecord]:
        """Return the windows of a loop, the newest first."""
        return [window for window in self._windows if window.loop == loop]

    def error(self, loop: int, run: int, step: int) -> str:
        """Return why a step cannot be computed; empty if no error is known."""
        return self._errors.get((loop, run, step), "")

    def ask(self, service: Recompute, record: ProfileRecord, loop: int, run: int, step: int) -> None:
        """Start computing a step and its neighbours, unless another window is being computed."""
        key = (loop, run, step)
        if self.waiting or key in self._errors:
            return

        def compute() -> None:
            found: TraceRecord | str
            try:
                found = service(record, loop, run, max(0, step - BESIDE), step + BESIDE)
            except ScanvizError as error:
                found = str(error)
            self._arrived.append((key, found))

        self.waiting = True
        threading.Thread(target=compute, name="scanviz values", daemon=True).start()

    def take(self) -> bool:
        """Take a finished window of recomputed steps; return whether there was one."""
        if not self._arrived:
            return False
        key, found = self._arrived.pop()
        self.waiting = False
        if isinstance(found, str):
            self._errors[key] = found
        else:
            self._windows = [found, *self._windows[: MOST_WINDOWS - 1]]
        return True


def can_recompute(record: ProfileRecord, loop: int, run: int) -> bool:
    """Return whether a record holds the inputs of a run."""
    return any(call.has_run(loop, run) for call in record.calls)


class Source:
    """A record that does not change.

    Parameters
    ----------
    record : ProfileRecord
        The profile.
    name : str
        Its name on a command line.
    """

    recompute: Recompute | None = None  # computes values that were not kept; set by the command line
    computes = False  # whether it computes them unasked
    live = False
    running = False
    finished = True
    takes_input = False
    elapsed = 0.0  # seconds that a script has run

    def __init__(self, record: ProfileRecord, name: str) -> None:
        self.record, self.name = record, name

    def update(self) -> bool:
        """Return whether there is a newer record."""
        return False

    def status(self) -> str:
        """Return in a few words how the run ended."""
        outcome = self.record.outcome
        return "" if outcome.status == "ok" else f"ended by {outcome.status}"

    def output(self) -> str:
        """Return the script's output since the last call."""
        return ""

    def write_input(self, text: str) -> str:
        """Write to the script's standard input; return an error message, or nothing."""
        return "No script runs."

    def end_input(self) -> None:
        """End the script's standard input."""

    def measure_rules(self) -> str:
        """Run the script without each rule in turn and load the record with the gains; return an error message, or nothing.

        It blocks until the script, a process in the folder of the application, has ended.
        """
        script = self.record.script
        command = ["rewrites", "--ablate", "--into", self.name, script, *self.record.arguments]
        if self.running:
            return "The script still runs."
        if not (Path(script).is_file() and Path(self.name).is_file()):
            return f"{sanitize(script)} is not here. Where it is: scanviz {shlex.join(command)}"
        done = subprocess.run(
            scanviz_command(*command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return sanitize(done.stderr.strip().rpartition("\n")[2]) or f"exit code {done.returncode}"
        self.record = load(Path(self.name))
        return ""

    def stop(self) -> None:
        """Stop the script."""

    def close(self) -> None:
        """Release files and processes."""

    def farewell(self) -> str:
        """Return the message printed when the application has ended."""
        return ""

    def exit_code(self) -> int:
        """Return the exit code of the command."""
        return 0
