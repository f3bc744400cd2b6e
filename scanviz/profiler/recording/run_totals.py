"""Sums over the runs of a loop."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from scanviz.record.statistics import median_of

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries

RECENT_RUNS = 256  # latest runs whose time around their steps is kept


class RunTotals:
    """Totals of the runs of a loop.

    Attributes
    ----------
    runs, failed_runs : int
        All runs, and the failed ones among them.
    unobserved_steps : int
        Steps of unobserved runs.
    entered_runs, entered_steps, entered_ns : int
        Unobserved runs that are not part of the outer loop's code, with their steps and time.
    longest_run : int
        Steps of the longest run.
    total_ns, unobserved_ns, setup_ns, first_run_ns : int
        Time of all runs, of unobserved runs, around the steps of observed runs, and of the first run.
    buffer_bytes : int
        Largest buffer size of a run.
    clock, resolution_ns, stamp_ns
        Source of the times.
    """

    __slots__ = (
        "buffer_bytes",
        "clock",
        "entered_ns",
        "entered_runs",
        "entered_steps",
        "failed_runs",
        "first_run_ns",
        "longest_run",
        "resolution_ns",
        "runs",
        "setup_ns",
        "setups",
        "stamp_ns",
        "total_ns",
        "unobserved_ns",
        "unobserved_steps",
    )

    def __init__(self) -> None:
        self.runs = self.failed_runs = self.entered_runs = self.entered_steps = self.entered_ns = 0
        self.longest_run = self.buffer_bytes = self.unobserved_steps = 0
        self.total_ns = self.unobserved_ns = self.setup_ns = self.first_run_ns = 0
        self.setups: deque[int] = deque(maxlen=RECENT_RUNS)
        self.clock, self.resolution_ns = "", 0.0
        self.stamp_ns: float | None = None

    def add_unobserved(
        self, runs: int, failed: int, elapsed_ns: int, longest: int, steps: int = 0, inside: bool = False
    ) -> None:
        """Count unobserved runs; those inside the outer loop's machine code are not entered."""
        self.runs += runs
        self.unobserved_steps += steps
        if not inside:
            self.entered_runs += runs
            self.entered_steps += steps
            self.entered_ns += elapsed_ns
        self.failed_runs += failed
        self.total_ns += elapsed_ns
        self.unobserved_ns += elapsed_ns
        self.longest_run = max(self.longest_run, longest)

    def add_ended(self, steps: int, elapsed_ns: int, setup_ns: int, failed: bool) -> None:
        """Add the time of a run, which was counted at its begin."""
        self.total_ns += elapsed_ns
        self.setup_ns += setup_ns
        self.setups.append(setup_ns)
        self.longest_run = max(self.longest_run, steps)
        self.failed_runs += failed

    def around_ns(self, step_ns: float = 0.0) -> int:
        """Return the time before the first step and after the last; an unobserved run counts the typical time of the others.

        The time of unobserved runs is at most what their steps of ``step_ns`` leave: an unobserved run is entered in a tenth of
        the time.
        """
        typical = float(median_of(self.setups)) if self.setups else 0.0
        left = max(0.0, self.entered_ns - step_ns * self.entered_steps)
        return self.setup_ns + round(min(typical * self.entered_runs, left))

    def take_clock(self, series: StepSeries) -> None:
        """Set the source of the times."""
        self.clock, self.resolution_ns, self.stamp_ns = series.source, series.resolution_ns, series.stamp_ns


__all__ = ["RECENT_RUNS", "RunTotals"]
