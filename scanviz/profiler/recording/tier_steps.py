"""Aggregate steps of a loop by tier: steps of NumPy code and of machine code share no typical step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from scanviz.profiler.recording.operations import StepTally
from scanviz.profiler.recording.steps import TierTimes
from scanviz.profiler.recording.stratified import Stretch
from scanviz.record.statistics import Histogram

if TYPE_CHECKING:
    from scanviz.engine.observation.events import StepSeries
    from scanviz.profiler.recording.division import Division
    from scanviz.record.model import OperationRecord


class TierSteps:
    """Number of steps per tier, and the times of their parts.

    Parameters
    ----------
    operations : int
        Number of operations of a step with times.
    around : TierSteps, optional
        The same of the outer loop.
    """

    __slots__ = ("_around", "_inside", "_latest", "_operations", "_parts", "_steps")

    def __init__(self, operations: int, around: TierSteps | None = None) -> None:
        self._operations, self._latest, self._around = operations, "", around
        self._inside: dict[str, tuple[int, int]] = {}  # steps with a time, and nanoseconds
        self._parts: dict[str, StepTally] = {}
        self._steps: dict[str, int] = {}

    def take(self, series: StepSeries) -> None:
        """Add a chunk of steps."""
        tally = self._parts.get(series.tier)
        if tally is None:
            tally = self._parts[series.tier] = StepTally(self._operations)
        tally.add(series)
        self._latest = series.tier
        self._steps[series.tier] = self._steps.get(series.tier, 0) + series.steps

    def made(self, tier: str) -> None:
        """Add a compilation; most steps from now on run this tier's code."""
        self._latest = tier

    @property
    def now(self) -> str:
        """The current tier: the latest compiled or observed one, or the outer loop's if the steps are part of its code."""
        around = "" if self._around is None else self._around.now
        return around if around in self._inside else self._latest

    def unobserved(self, steps: int, elapsed_ns: int) -> None:
        """Count steps of unobserved runs, whose total time is known."""
        if tier := self.now:
            self._steps[tier] = self._steps.get(tier, 0) + steps
            if steps and tier in self._parts:
                self._parts[tier].pass_by(Stretch(steps, elapsed_ns))

    def inside(self, tier: str, steps: int, elapsed_ns: int) -> None:
        """Count steps inside the outer loop's code, and their time if known."""
        timed, known_ns = self._inside.get(tier, (0, 0))
        is_known = elapsed_ns > 0
        self._inside[tier] = timed + steps * is_known, known_ns + elapsed_ns * is_known
        self._steps[tier] = self._steps.get(tier, 0) + steps

    @property
    def part_of(self) -> str:
        """The tier of the outer loop's code that ran most steps, if that tier never ran code of this loop; else empty."""
        most = max(self._steps, key=self._steps.__getitem__, default="")
        return most if most in self._inside and most not in self._parts else ""

    def inside_times(self) -> Histogram:
        """Return the times of the steps inside the outer loop's code: for each step the mean of all."""
        found = Histogram()
        steps, elapsed_ns = self._inside.get(self.part_of, (0, 0))
        if steps:
            found.add(np.array([round(elapsed_ns / steps)]), np.array([steps]))
        return found

    @property
    def usual(self) -> str:
        """The tier that ran most steps, preferring tiers with timed operations.

        If most steps were part of the outer loop's code, that code's tier: other tiers' steps do not represent them.
        """
        if self.part_of:
            return self.part_of
        timed = [tier for tier, parts in self._parts.items() if parts.steps] or self._parts
        return max(timed, key=self._steps.__getitem__, default="")

    @property
    def parts(self) -> StepTally:
        """Times of the parts of the usual tier's steps."""
        return self._parts.get(self.usual) or StepTally(self._operations)

    def means(
        self, divisions: Mapping[str, Division], unobserved_steps: int, unobserved_ns: float
    ) -> tuple[float, ...]:
        """Return the mean of each part over all steps of all tiers; empty if unknown.

        Parameters
        ----------
        divisions : mapping of str to Division
            The division of each tier's steps, if known.
        unobserved_steps, unobserved_ns : int, float
            Steps without a time of their own, and their total time.
        """
        from scanviz.profiler.recording.division import GRAIN, apportioned

        steps, whole, parts = unobserved_steps, unobserved_ns, np.zeros(self._operations + 2)
        for tier, tally in self._parts.items():
            division, totals = divisions.get(tier), tally.totals
            worked = float(totals.ns)
            if division is not None:
                worked -= totals.ticked_steps * division.tick_ns + totals.timed_steps * division.added_ns
                parts += np.array(division.totals_ns) * (max(0.0, worked) / (sum(division.totals_ns) or 1.0))
            steps, whole = steps + totals.steps, whole + max(0.0, worked)
        return (
            apportioned(parts.tolist(), round(whole / steps / GRAIN) * GRAIN)
            if whole > 0 < parts.sum()
            else ()
        )

    @property
    def by_tier(self) -> Mapping[str, StepTally]:
        """Times of the parts of steps, by tier."""
        return self._parts

    def slow_measures(self) -> dict[str, float]:
        """Return the number of slow steps, and their total excess over the usual step."""
        parts = self.parts
        if not parts.slow_steps:
            return {}
        longer = max(0.0, parts.slow_ns[-1])
        return {"slow_timed_steps": float(parts.slow_steps), "slow_timed_ns": float(longer)}

    def others_measures(self, tiers: Mapping[str, TierTimes]) -> dict[str, float]:
        """Return the number of steps of other tiers, and the step time of the most frequent of these tiers."""
        others = {tier: steps for tier, steps in self._steps.items() if tier != self.usual}
        times = tiers.get(max(others, key=others.__getitem__, default=""))
        if not others or times is None:
            return {}
        kinds = (
            (times.single.count, times.single.median),
            (times.timed.count, times.timed.median),
            (times.fine_blocks.count, times.blocks_ns),
        )
        return {"other_code_steps": float(sum(others.values())), "other_code_ns": max(kinds)[1]}

    def operation_records(
        self, operations: Sequence[OperationRecord], division: Division | None, means: Sequence[float]
    ) -> tuple[OperationRecord, ...]:
        """Return the operations with their times in the typical step; unchanged without a division."""
        if division is None:
            return tuple(operations)
        parts = self.parts
        averages: Sequence[float | None] = means[: len(operations)] or [None] * len(operations)
        found = tuple(
            replace(operation, samples=parts.steps, typical_ns=time, mean_ns=mean, spread_ns=spread)
            for operation, time, mean, spread in zip(
                operations, division.operations, averages, division.spreads, strict=True
            )
        )
        if not parts.slow_steps:
            return found
        return tuple(
            replace(done, measures=done.measures | {"slow_more_ns": float(max(0.0, ns))})
            for done, ns in zip(found, parts.slow_ns.tolist(), strict=False)
        )


__all__ = ["TierSteps"]
