"""Aggregate the sides of branches in loops' steps over calls: their number of takings, period and times."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from scanviz.record.statistics import median_of

if TYPE_CHECKING:
    from scanviz.engine.observation.events import SideTaken
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.record.operations import SideRecord

KEPT = 256  # latest takings whose times are kept
REGULAR = 0.8  # least share of the distances, and of the steps, that agree with a period
FEWEST = 3  # distances needed to report a period


class SideTally:
    """Takings of one side of a branch over all calls."""

    __slots__ = ("branch", "distances", "rows", "side", "taken")

    def __init__(self, first: SideTaken) -> None:
        self.branch, self.side = first.branch, first.side
        self.taken = 0
        self.rows: deque[list[int]] = deque(maxlen=KEPT)
        self.distances: Counter[int] = Counter()

    def add(self, taken: SideTaken) -> None:
        """Add the takings of one call."""
        self.taken += taken.taken
        self.rows.extend(taken.rows)
        self.distances.update(taken.distances)

    def record(self, operation: int, both: int) -> SideRecord:
        """Return the record, given the index of the branch in its step and the takings of both sides."""
        from scanviz.record.operations import SideRecord
        from scanviz.record.program_snapshot import operation_records

        program = self.branch.sides[self.side][0]
        whole, typical, means = self._times(len(program.instructions))
        return SideRecord(
            operation=operation,
            side="then" if self.side == 0 else "else",
            taken=self.taken,
            every=self.period(both),
            timed=len(self.rows),
            typical_ns=whole,
            operations=operation_records(program, typical, means, len(self.rows)),
        )

    def _times(self, operations: int) -> tuple[float, list[float], list[float | None]]:
        """Return the median timed taking, the medians of its operations scaled to sum to it, and their means."""
        if not self.rows or not operations:
            return 0.0, [0.0] * operations, [None] * operations
        rows = np.array(self.rows, np.float64)
        whole, parts = float(median_of(rows.sum(axis=1))), median_of(rows)
        scale = whole / parts.sum() if parts.sum() else 0.0
        return whole, (parts * scale).tolist(), rows.mean(axis=0).tolist()

    def period(self, both: int) -> int:
        """Return the most frequent distance between takings; 0 if it does not hold throughout."""
        together = self.distances.total()
        if together < FEWEST:
            return 0
        ((distance, count),) = self.distances.most_common(1)
        everywhere = REGULAR * both <= distance * self.taken <= both / REGULAR
        return distance if everywhere and count >= REGULAR * together else 0


class SidesTaken:
    """The sides taken of all branches."""

    def __init__(self) -> None:
        self._sides: dict[tuple[int, int], SideTally] = {}  # keeps the branch, and so its id

    def add(self, taken: SideTaken) -> None:
        """Add the takings of one side in one call."""
        key = (id(taken.branch), taken.side)
        found = self._sides.get(key)
        if found is None:
            found = self._sides[key] = SideTally(taken)
        found.add(taken)

    def of_loops(self, programs: Iterable[Program]) -> dict[int, tuple[SideRecord, ...]]:
        """Return the sides taken in the steps of the loops of programs, by the key of the loop."""
        if not self._sides:
            return {}
        from scanviz.engine.program.instructions import all_loops

        return {
            loop.key: tuple(self._of_step(loop)) for program in programs for loop, _ in all_loops(program)
        }

    def _of_step(self, loop: LoopInstruction) -> Iterator[SideRecord]:
        from scanviz.engine.program.instructions import BranchInstruction

        for index, instruction in enumerate(loop.body.instructions):
            if isinstance(instruction, BranchInstruction):
                found = [self._sides.get((id(instruction), side)) for side in (0, 1)]
                tallies = [tally for tally in found if tally is not None]
                both = sum(tally.taken for tally in tallies)
                yield from (tally.record(index, both) for tally in tallies)


__all__ = ["SidesTaken"]
