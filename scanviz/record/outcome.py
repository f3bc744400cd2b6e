"""The end of a run, in a file of its own: the runner of a program needs it before the other records."""

from __future__ import annotations

from typing import Literal

from scanviz.engine.strict import Strict


class OutcomeRecord(Strict, frozen=True):
    """How the run ended.

    Attributes
    ----------
    status : str
        ``"ok"``, ``"exit"`` (with another code than 0), ``"error"``, ``"interrupted"`` or ``"running"``.  A process that was ended
        while it waited for a task of its pool is ``"ok"``: nothing of its work is missing.
    code : int or None
        Exit code.
    message : str
        The error's text, or the call in which the process was ended.
    """

    status: Literal["ok", "exit", "error", "interrupted", "running"] = "running"
    code: int | None = None
    message: str = ""

    @property
    def in_short(self) -> str:
        """How it ended, in a word or a few: nothing where that is no more than that all is well.

        Examples
        --------
        >>> OutcomeRecord("ok", 0).in_short, OutcomeRecord("exit", 3).in_short
        ('', 'exit code 3')
        """
        named = {"ok": self.message, "running": "still running", "exit": f"exit code {self.code}"}
        return named.get(self.status, self.status)
