"""How a run ended: in a file of its own, because whoever runs a program needs it before the other classes of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """How the run ended.

    Attributes
    ----------
    status : str
        ``"ok"``, ``"exit"`` (with another code than 0), ``"error"``, ``"interrupted"`` or ``"running"``.
    code : int or None
        Exit code.
    message : str
        The error's text.
    """

    status: Literal["ok", "exit", "error", "interrupted", "running"] = "running"
    code: int | None = None
    message: str = ""
