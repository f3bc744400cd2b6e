"""Steps of a loop by the tier whose code ran them: steps on NumPy and of machine code have no typical step together."""

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
    """How many steps each tier's code has done, and the times of their parts.

    Parameters
    ----------
    operations : int
        How many operations a step has whose times are kept.
    around : TierSteps, optional
        Those of the loop around.
    """

    __slots__ = ("_around", "_inside", "_latest", "_operations", "_parts", "_steps")

    def __init__(self, operations: int, around: TierSteps | None = None) -> None:
        self._operations, self._latest, self._around = operations, "", around
        self._inside: dict[str, tuple[int, int]] = {}  # steps that have a time, and nanoseconds
        self._parts: dict[str, StepTally] = {}
        self._steps: dict[str, int] = {}

    def take(self, series: StepSeries) -> None:
        """Take a chunk of steps."""
        tally = self._parts.get(series.tier)
        if tally is None:
            tally = self._parts[series.tier] = StepTally(self._operations)
        tally.add(series)
        self._latest = series.tier
        self._steps[series.tier] = self._steps.get(series.tier, 0) + series.steps

    def made(self, tier: str) -> None:
        """Note that a tier has code now, which runs mostly from then on."""
        self._latest = tier

    @property
    def now(self) -> str:
        """The tier whose code runs steps now: the one made or seen last, or that of the loop around if they were part of it."""
        around = "" if self._around is None else self._around.now
        return around if around in self._inside else self._latest

    def unobserved(self, steps: int, elapsed_ns: int) -> None:
        """Count steps of runs of which nothing but their whole time was told."""
        if tier := self.now:
            self._steps[tier] = self._steps.get(tier, 0) + steps
            if steps and tier in self._parts:
                self._parts[tier].pass_by(Stretch(steps, elapsed_ns))

    def inside(self, tier: str, steps: int, elapsed_ns: int) -> None:
        """Count steps that were part of a tier's code of the loop around, and their time where it is known."""
        timed, known_ns = self._inside.get(tier, (0, 0))
        is_known = elapsed_ns > 0
        self._inside[tier] = timed + steps * is_known, known_ns + elapsed_ns * is_known
        self._steps[tier] = self._steps.get(tier, 0) + steps

    @property
    def part_of(self) -> str:
        """The tier whose code of the loop around did most steps, where no code of its own was seen to run: else nothing."""
        most = max(self._steps, key=self._steps.__getitem__, default="")
        return most if most in self._inside and most not in self._parts else ""

    def inside_times(self) -> Histogram:
        """Return the times of the steps of that code: of each the average of all."""
        found = Histogram()
        steps, elapsed_ns = self._inside.get(self.part_of, (0, 0))
        if steps:
            found.add(np.array([round(elapsed_ns / steps)]), np.array([steps]))
        return found

    @property
    def usual(self) -> str:
        """The tier whose code did most steps, of those of which some had their operations timed where there are such.

        Where most steps were part of the code of the loop around it is the tier of that: steps of other code say nothing of them.
        """
        if self.part_of:
            return self.part_of
        told = [tier for tier, parts in self._parts.items() if parts.steps] or self._parts
        return max(told, key=self._steps.__getitem__, default="")

    @property
    def parts(self) -> StepTally:
        """Times of the parts of the usual tier's steps."""
        return self._parts.get(self.usual) or StepTally(self._operations)

    def means(
        self, divisions: Mapping[str, Division], unobserved_steps: int, unobserved_ns: float
    ) -> tuple[float, ...]:
        """Return the average of each part over all steps, whatever code ran them; nothing where that is not known.

        Parameters
        ----------
        divisions : mapping of str to Division
            By tier the division of its steps, where there is one.
        unobserved_steps, unobserved_ns : int, float
            Steps that have no time of their own, and what they took together.
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
        """Return how many steps were much longer than the usual one, and by how much together."""
        parts = self.parts
        if not parts.slow_steps:
            return {}
        longer = max(0.0, parts.slow_ns[-1])
        return {"slow_timed_steps": float(parts.slow_steps), "slow_timed_ns": float(longer)}

    def others_measures(self, tiers: Mapping[str, TierTimes]) -> dict[str, float]:
        """Return how many steps other code than the usual one has run, and how long one takes of that which ran most of them."""
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
        self, told: Sequence[OperationRecord], division: Division | None, means: Sequence[float]
    ) -> tuple[OperationRecord, ...]:
        """Return operations with their times in the typical step; as they were told one by one where there is none."""
        if division is None:
            return tuple(told)
        parts = self.parts
        averages: Sequence[float | None] = means[: len(told)] or [None] * len(told)
        found = tuple(
            replace(operation, samples=parts.steps, typical_ns=time, mean_ns=mean, spread_ns=spread)
            for operation, time, mean, spread in zip(
                told, division.operations, averages, division.spreads, strict=True
            )
        )
        if not parts.slow_steps:
            return found
        return tuple(
            replace(done, measures=done.measures | {"slow_more_ns": float(max(0.0, ns))})
            for done, ns in zip(found, parts.slow_ns.tolist(), strict=False)
        )


__all__ = ["TierSteps"]
