"""Sides of the branches in loops' steps, added up over calls: how often each is taken, in what period, and what it does."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from scanviz.record.statistics import median_of

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.engine.runtime.sides import SideTaken
    from scanviz.record.loops import SideRecord

KEPT = 256  # takings whose times are kept
REGULAR = 0.8  # of the distances between takings: so many are the same where a side has a period
FEWEST = 3  # distances from which a period is told


class SideTally:
    """One side of a branch over all calls."""

    __slots__ = ("branch", "distances", "rows", "side", "taken")

    def __init__(self, first: SideTaken) -> None:
        self.branch, self.side = first.branch, first.side
        self.taken = 0
        self.rows: deque[list[int]] = deque(maxlen=KEPT)
        self.distances: Counter[int] = Counter()

    def add(self, taken: SideTaken) -> None:
        """Take what one call did."""
        self.taken += taken.taken
        self.rows.extend(taken.rows)
        self.distances.update(taken.distances)

    def record(self, operation: int) -> SideRecord:
        """Return what is recorded of it; ``operation`` is the place of the branch in its step."""
        from scanviz.record.loops import SideRecord
        from scanviz.record.program_snapshot import operation_records

        program = self.branch.sides[self.side][0]
        whole, times = self._typical(len(program.instructions))
        return SideRecord(
            operation=operation,
            side="then" if self.side == 0 else "else",
            taken=self.taken,
            every=self._period(),
            timed=len(self.rows),
            typical_ns=whole,
            operations=operation_records(program, times, len(self.rows)),
        )

    def _typical(self, operations: int) -> tuple[float, list[float]]:
        """Return the median of the takings that were timed, and the medians of its operations as parts of it."""
        if not self.rows or not operations:
            return 0.0, [0.0] * operations
        rows = np.array(self.rows, np.float64)
        whole, parts = float(median_of(rows.sum(axis=1))), median_of(rows)
        scale = whole / parts.sum() if parts.sum() else 0.0
        return whole, (parts * scale).tolist()

    def _period(self) -> int:
        together = self.distances.total()
        if together < FEWEST:
            return 0
        ((distance, count),) = self.distances.most_common(1)
        return distance if count >= REGULAR * together else 0


class SidesTaken:
    """All sides of all branches that calls took."""

    def __init__(self) -> None:
        self._sides: dict[tuple[int, int], SideTally] = {}  # keeps the branch, and so its id

    def add(self, taken: SideTaken) -> None:
        """Take what one call did of one side."""
        key = (id(taken.branch), taken.side)
        found = self._sides.get(key)
        if found is None:
            found = self._sides[key] = SideTally(taken)
        found.add(taken)

    def of_loops(self, program: Program) -> dict[int, tuple[SideRecord, ...]]:
        """Return the sides taken in the steps of a program's loops, by the key of the loop."""
        from scanviz.engine.program.instructions import all_loops

        found = {}
        for loop, _ in all_loops(program) if self._sides else ():
            sides = tuple(self._of_step(loop))
            if sides:
                found[loop.key] = sides
        return found

    def _of_step(self, loop: LoopInstruction) -> Iterator[SideRecord]:
        from scanviz.engine.program.instructions import BranchInstruction

        for index, instruction in enumerate(loop.body.instructions):
            if isinstance(instruction, BranchInstruction):
                for side in (0, 1):
                    tally = self._sides.get((id(instruction), side))
                    if tally is not None:
                        yield tally.record(index)


__all__ = ["SidesTaken"]
