"""The sampling schedule of an observed loop: mostly one stamp a step, now and then one an operation.

With detail ``"steps"`` most steps run the *steps* variant.  A sample of the *ops* variant follows the first few steps and
then again and again, for one step in :data:`SHARE`, so that operations get their share of time without being timed in every
step.  Parts are long where steps are short, which costs least, and short where steps are long, so that observers are notified
while the loop runs.  With detail ``"ops"`` every step is timed so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

Variant = Literal["plain", "steps", "ops"]
WARM_UP = 2  # steps before the first sample, which pay for what is cold
FIRST_SAMPLE = 16  # steps of the first sample
SHARE = 64  # later samples are one step in so many
LONGEST_SAMPLE = 64  # steps
NOTIFY_NS = 50_000_000  # observers are notified of long steps about so often
PERIOD = 1024  # steps of a part in which every operation is timed
CLOSE_RUNS = 64  # so many runs of a loop are looked at closely before any is passed over
CLOSE_NS = 400_000  # then one in about so many nanoseconds of short runs is: a close look takes some ten microseconds
MOST_PASSED_OVER = 31  # runs between two that are looked at closely


class SamplingSchedule:
    """Where a loop stands between samples, from run to run: short runs are one part, most of them.

    A run has it to itself while it goes on: runs of the same loop in other threads have others.

    Attributes
    ----------
    until : int
        Steps to run with one time each before the next sample.
    sample : int
        Steps of that sample.
    step_ns : int
        What a step took lately, 0 while that is not known.
    passed_over : int
        How many runs follow whose steps need no times.
    own_ns : int
        What notifying a run that was passed over took, not notified itself yet.
    """

    __slots__ = ("_close_runs", "own_ns", "passed_over", "sample", "step_ns", "until")

    def __init__(self) -> None:
        self.until, self.sample, self.step_ns = WARM_UP, FIRST_SAMPLE, 0
        self._close_runs, self.passed_over, self.own_ns = 0, 0, 0

    def ran(self, elapsed_ns: int) -> None:
        """Note that a run was looked at closely, and how long it took: many short ones need no times of their steps."""
        self._close_runs += 1
        if self._close_runs >= CLOSE_RUNS:
            self.passed_over = min(CLOSE_NS // max(1, elapsed_ns), MOST_PASSED_OVER)

    def move_on(self) -> None:
        """Begin the time before the next sample."""
        affordable = NOTIFY_NS // (SHARE * max(1, self.step_ns))
        self.sample = min(max(1, affordable), LONGEST_SAMPLE)
        self.until = (SHARE - 1) * self.sample


def scheduled(
    steps: int, detail: str, schedule: SamplingSchedule | None = None
) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over (variant, first step, end) for a run of at most ``steps`` steps, moving ``schedule`` on.

    Examples
    --------
    >>> list(scheduled(100, "steps"))
    [('steps', 0, 2), ('ops', 2, 18), ('steps', 18, 100)]
    """
    if detail != "steps":
        for first in range(0, steps, PERIOD):
            yield "ops", first, min(first + PERIOD, steps)
        return
    schedule, first = schedule or SamplingSchedule(), 0
    while first < steps:
        variant: Variant = "steps" if schedule.until else "ops"
        end = min(first + (schedule.until or schedule.sample), steps)
        if schedule.until:
            schedule.until -= end - first
        else:
            schedule.sample -= end - first
            if not schedule.sample:
                schedule.move_on()
        yield variant, first, end
        first = end


__all__ = ["SamplingSchedule", "Variant", "scheduled"]
