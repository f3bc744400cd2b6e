"""``--recompute``: the option of commands that show values, and the service behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scanviz.cli.options import Option, Parsed, UsageError

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord
    from scanviz.record.traces import TraceRecord

RECOMPUTE = Option(
    ("--recompute",),
    "[=SECONDS]",
    "compute values of steps that were not kept, from the Programs in the profile, each within SECONDS (20)",
)


def seconds_of(parsed: Parsed) -> float | None:
    """Return how long computing again may take; None where it is not asked for."""
    text = parsed.options.get("recompute")
    if text is None:
        return None
    if not text:
        from scanviz.profiler.values.budgets import SECONDS

        return SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise UsageError(f"--recompute takes a number of seconds, not {text!r}")
    return seconds


@contextmanager
def recomputing(
    record: ProfileRecord, seconds: float | None
) -> Iterator[Callable[[int, int, int, int], TraceRecord] | None]:
    """Give what computes steps of a record again, None where that is not asked for."""
    if seconds is None:
        yield None
        return
    from scanviz.profiler.values.recompute import RecomputeService

    service = RecomputeService(record, seconds)
    try:
        yield service.window
    finally:
        service.close()
