"""Aggregate the sides of branches in loops' steps over calls: their number of takings, period and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from scanviz.engine.observation.events import SideTaken
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction, Program, all_loops
from scanviz.record.operations import SideRecord
from scanviz.record.program_snapshot import operation_records
from scanviz.record.statistics import median_of

REGULAR = 0.8  # least share of the distances, and of the steps, that agree with a period
FEWEST = 3  # distances needed to report a period


def side_record(side: SideTaken, operation: int, both: int) -> SideRecord:
    """Return the record, given the index of the branch in its step and the takings of both sides."""
    program = side.branch.sides[side.side][0]
    whole, typical, means = _times(side, len(program.instructions))
    return SideRecord(
        operation=operation,
        side="then" if side.side == 0 else "else",
        taken=side.taken,
        every=period(side, both),
        timed=len(side.rows),
        typical_ns=whole,
        operations=operation_records(program, typical, means, len(side.rows)),
    )


def _times(side: SideTaken, operations: int) -> tuple[float, list[float], list[float | None]]:
    """Return the median timed taking, the medians of its operations scaled to sum to it, and their means."""
    if not side.rows or not operations:
        return 0.0, [0.0] * operations, [None] * operations
    rows = np.array(side.rows, np.float64)
    whole, parts = float(median_of(rows.sum(axis=1))), median_of(rows)
    scale = whole / parts.sum() if parts.sum() else 0.0
    return whole, (parts * scale).tolist(), rows.mean(axis=0).tolist()


def period(side: SideTaken, both: int) -> int:
    """Return the most frequent distance between takings; 0 if it does not hold throughout."""
    together = side.distances.total()
    if together < FEWEST:
        return 0
    ((distance, count),) = side.distances.most_common(1)
    everywhere = REGULAR * both <= distance * side.taken <= both / REGULAR
    return distance if everywhere and count >= REGULAR * together else 0


class SidesTaken:
    """The sides taken of all branches."""

    def __init__(self) -> None:
        self._sides: dict[tuple[int, int], SideTaken] = {}  # keeps the branch, and so its id

    def add(self, taken: SideTaken) -> None:
        """Add the takings of one side in one call."""
        found = self._sides.setdefault((id(taken.branch), taken.side), taken)
        if found is not taken:
            found.merge(taken)

    def of_loops(self, programs: Iterable[Program]) -> dict[int, tuple[SideRecord, ...]]:
        """Return the sides taken in the steps of the loops of programs, by the key of the loop."""
        if not self._sides:
            return {}

        return {
            loop.key: tuple(self._of_step(loop)) for program in programs for loop, _ in all_loops(program)
        }

    def _of_step(self, loop: LoopInstruction) -> Iterator[SideRecord]:
        for index, instruction in enumerate(loop.body.instructions):
            if isinstance(instruction, BranchInstruction):
                found = [self._sides.get((id(instruction), side)) for side in (0, 1)]
                taken = [side for side in found if side is not None]
                both = sum(side.taken for side in taken)
                yield from (side_record(side, index, both) for side in taken)
