"""Where the record comes from: a file, or a script that runs in a process of its own."""

from __future__ import annotations

from scanviz.record.model import ProfileRecord
from scanviz.tui.recomputed import Recompute


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
