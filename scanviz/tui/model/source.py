"""Where the record comes from: a file, or a script that runs in a process of its own."""

from __future__ import annotations

import shlex
from pathlib import Path

from scanviz.child_process import scanviz_command
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.storage.file import load
from scanviz.tui.model.recomputed import Recompute


class Source:
    """A record that does not change.

    Parameters
    ----------
    record : ProfileRecord
        The profile.
    name : str
        What to call it on a command line.
    """

    recompute: Recompute | None = None  # computes values that were not kept: handed in by the command line
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
        """Return in a few words what it is."""
        outcome = self.record.outcome
        return "" if outcome.status == "ok" else f"ended by {outcome.status}"

    def output(self) -> str:
        """Return what the script printed since the last time."""
        return ""

    def write_input(self, text: str) -> str:
        """Write to the script's standard input; return why that failed, if it did."""
        return "No script runs."

    def end_input(self) -> None:
        """End the script's standard input."""

    def measure_rules(self) -> str:
        """Measure what each rule is worth, by running the script again, and take the record with it; return why that failed.

        Waits until it is done: the script runs in a process of its own, in the folder of the application.
        """
        import subprocess

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
        """Stop what runs."""

    def close(self) -> None:
        """Let go of what the source holds."""

    def farewell(self) -> str:
        """Return what is worth telling when the application has ended."""
        return ""

    def exit_code(self) -> int:
        """Return the exit code of the command."""
        return 0
