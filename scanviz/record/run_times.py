"""Times of a run beside its loops and operations: parts of calls, building, and threads.

:mod:`scanviz.record.summary.run_breakdown` divides a run by them.
"""

from __future__ import annotations

from typing import Literal

from scanviz.engine.strict import Strict
from scanviz.record.values import SourceRecord


class CallPartsRecord(Strict, frozen=True):
    """Parts of all calls of a function, beside its program.

    Attributes
    ----------
    checks_ns : int
        Checking arguments and reading shared variables, waiting for their locks included; before the time of a call.
    copies_ns : int
        Copying results and committing updates; after it.
    recording_ns : int
        Recording between these and a call.
    timed : int
        Calls in which every operation outside of loops was timed.
    around_ns : float
        Entering the program before its first operation, and leaving it after the last: the average, or the median where some
        calls alone were timed.
    inside_ns : int
        Other calls and building that calls of this function made; part of their time.
    running_ns : int
        Calls that had not ended, up to the time of the record; without calls inside them.
    """

    checks_ns: int = 0
    copies_ns: int = 0
    recording_ns: int = 0
    timed: int = 0
    around_ns: float = 0.0
    inside_ns: int = 0
    running_ns: int = 0


class BuildRecord(Strict, frozen=True):
    """Loops, gradients or functions that one line built during the recording.

    Attributes
    ----------
    kind : str
        ``"scan"``, ``"gradient"`` or ``"function"``.
    source : SourceRecord or None
        The line; None for several, or where it is not known.
    count : int
        How often.
    total_ns : int
        All of them, without calls that were made meanwhile.
    """

    kind: Literal["scan", "gradient", "function"]
    source: SourceRecord | None
    count: int = 0
    total_ns: int = 0


class ThreadTimesRecord(Strict, frozen=True):
    """Times inside scanviz by thread: calls, building and recording, each counted once though one may lie in another.

    Attributes
    ----------
    inside_ns : int
        Of the thread that the recording began in; the rest of the wall time it spent in the script, or waiting.
    beside_ns : int
        Of all other threads, which ran beside it.
    others : int
        How many these are.
    recording_ns : int
        Recording outside of calls; part of the two.
    """

    inside_ns: int = 0
    beside_ns: int = 0
    others: int = 0
    recording_ns: int = 0
