"""Small records used by others: a line of source, durations, and the end of a run."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from scanviz.engine.strict import Strict


def equal_fields(one: Struct, other: Struct) -> bool:
    """Return whether two records of a class have equal fields; arrays are compared number by number, NaN equal to NaN."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__]
    return all(
        np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b for a, b in pairs
    )


class SourceRecord(Strict, frozen=True):
    """A line of the user's code.

    Attributes
    ----------
    file : str
        Relative to the working folder of the run, or to the folder it was imported from; never a path of the machine.
    line : int
        Counted from 1.
    text : str
        The line itself, stripped; empty where it could not be read.

    Examples
    --------
    >>> str(SourceRecord("rnn.py", 31, "h_t = T.tanh(x_t @ W + h @ U)"))
    'rnn.py:31'
    """

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class DurationRecord(Strict, frozen=True):
    """Times of all occurrences of an event.

    Attributes
    ----------
    count : int
        Number of occurrences.
    total_ns : int
        All of them together.
    min_ns : int
        The shortest.
    p50_ns : int
        Half of them took no longer, to 1 %.
    p95_ns : int
        95 of 100 took no longer, to 1 %.
    p99_ns : int
        99 of 100 took no longer, to 1 %.
    max_ns : int
        The longest.

    Examples
    --------
    >>> DurationRecord(count=4, total_ns=10).mean_ns
    2.5
    """

    count: int = 0
    total_ns: int = 0
    min_ns: int = 0
    p50_ns: int = 0
    p95_ns: int = 0
    p99_ns: int = 0
    max_ns: int = 0

    @property
    def mean_ns(self) -> float:
        """Average, 0 without occurrences."""
        return self.total_ns / self.count if self.count else 0.0


class OutcomeRecord(Strict, frozen=True):
    """The end of a run.

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
        """The end in a few words; empty for a plain success.

        Examples
        --------
        >>> OutcomeRecord("ok", 0).in_short, OutcomeRecord("exit", 3).in_short
        ('', 'exit code 3')
        """
        named = {"ok": self.message, "running": "still running", "exit": f"exit code {self.code}"}
        return named.get(self.status, self.status)
