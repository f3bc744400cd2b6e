"""Count and time the sides of branches that observed calls take.

Every taking is counted.  The first few takings of each side are timed, with a stamp after each operation, then one in
:data:`A_SAMPLE`: a rarely taken side is timed as well as one that every step takes.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import BranchInstruction

FIRST = 16  # timed takings of a side before sampling begins
A_SAMPLE = 16  # then one in so many is timed
KEPT = 64  # latest timed takings whose times are kept
DISTANCES = 16  # distinct distances counted per side


class SideTaken:
    """Takings of one side of a branch.

    Attributes
    ----------
    branch : BranchInstruction
        The branch.
    side : int
        0 for the side where the condition holds, 1 for the other.
    taken : int
        Number of takings.
    rows : list of list of int
        Nanoseconds of each instruction of the side, for each of the last :data:`KEPT` timed takings.
    distances : dict of int to int
        Distance between two takings of this side, in takings of the branch → number of occurrences.
    """

    __slots__ = ("branch", "distances", "last", "rows", "side", "taken")

    def __init__(self, branch: BranchInstruction, side: int) -> None:
        self.branch, self.side = branch, side
        self.taken = 0
        self.rows: deque[list[int]] = deque(maxlen=KEPT)
        self.distances: dict[int, int] = {}
        self.last = -1

    def take(self, number: int) -> bool:
        """Count the taking with this number in the branch; return whether to time it."""
        self.taken += 1
        if self.last >= 0:
            distance = number - self.last
            if distance in self.distances or len(self.distances) < DISTANCES:
                self.distances[distance] = self.distances.get(distance, 0) + 1
        self.last = number
        return self.taken <= FIRST or not self.taken % A_SAMPLE

    def add(self, stamps: Sequence[int]) -> None:
        """Take the stamps before the first operation and after each."""
        self.rows.append([after - before for before, after in itertools.pairwise(stamps)])


class BranchTaken:
    """Both sides of a branch in one call of a function."""

    __slots__ = ("number", "sides")

    def __init__(self, branch: BranchInstruction) -> None:
        self.number = 0
        self.sides = (SideTaken(branch, 0), SideTaken(branch, 1))

    def take(self, side: int) -> SideTaken | None:
        """Count a taking of a side; return the side if this taking is timed, else None."""
        found = self.sides[side]
        self.number += 1
        return found if found.take(self.number) else None
