"""How busy the machine was while programs ran: the share of a call in which its thread had no processor."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from scanviz.profiler.compare.figures import on_processor
from scanviz.record.model import ProfileRecord

BUSY = 0.10  # of the time of calls: that much off the processor is worth a word
UNEQUAL = 0.20  # series made apart that differ by more in it were not made on the same machine, in effect


def off_processor(runs: Sequence[ProfileRecord]) -> float | None:
    """Return the share of the time of its calls in which a program had no processor, of the run in the middle.

    Parameters
    ----------
    runs : sequence of ProfileRecord
        Runs of one program.

    Returns
    -------
    float or None
        From 0 to 1; None where it was not measured.

    Examples
    --------
    >>> off_processor([ProfileRecord()]) is None
    True
    """
    shares = [share for share in map(_of_run, runs) if share is not None]
    return statistics.median(shares) if shares else None


def _of_run(run: ProfileRecord) -> float | None:
    known = [
        (share * function.total_ns, function.total_ns)
        for function in run.functions
        if (share := on_processor(function)) is not None
    ]
    total = sum(ns for _, ns in known)
    return 1 - sum(ns for ns, _ in known) / total if total else None
