"""Sides of the branches in loops' steps, added up over calls: how often each is taken, in what period, and what it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction, Program, all_loops
from scanviz.engine.runtime.sides import SideTaken
from scanviz.record.loops import SideRecord
from scanviz.record.program_snapshot import operation_records

REGULAR = 0.8  # of the distances between takings: so many are the same where a side has a period
FEWEST = 3  # distances from which a period is told


class SideTally:
    """One side of a branch over all calls."""

    __slots__ = ("branch", "distances", "operations_ns", "side", "taken", "timed", "total_ns")

    def __init__(self, first: SideTaken) -> None:
        self.branch, self.side = first.branch, first.side
        self.taken = self.timed = self.total_ns = 0
        self.operations_ns = [0] * len(first.operations_ns)
        self.distances: Counter[int] = Counter()

    def add(self, taken: SideTaken) -> None:
        """Take what one call did."""
        self.taken += taken.taken
        self.timed += taken.timed
        self.total_ns += taken.total_ns
        self.operations_ns = [a + b for a, b in zip(self.operations_ns, taken.operations_ns, strict=True)]
        self.distances.update(taken.distances)

    def record(self, operation: int) -> SideRecord:
        """Return what is recorded of it; ``operation`` is the place of the branch in its step."""
        program = self.branch.sides[self.side][0]
        mean = self.total_ns / self.timed if self.timed else 0.0
        times = [spent / self.timed if self.timed else 0.0 for spent in self.operations_ns]
        return SideRecord(
            operation=operation,
            side="then" if self.side == 0 else "else",
            taken=self.taken,
            every=self._period(),
            timed=self.timed,
            mean_ns=mean,
            operations=operation_records(program, times, self.timed),
        )

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
        found = {}
        for loop, _ in all_loops(program) if self._sides else ():
            sides = tuple(self._of_step(loop))
            if sides:
                found[loop.key] = sides
        return found

    def _of_step(self, loop: LoopInstruction) -> Iterator[SideRecord]:
        for index, instruction in enumerate(loop.body.instructions):
            if isinstance(instruction, BranchInstruction):
                for side in (0, 1):
                    tally = self._sides.get((id(instruction), side))
                    if tally is not None:
                        yield tally.record(index)


__all__ = ["SidesTaken"]
