"""Which side of a branch calls took, how often and how long: counted while a function is watched.

Every taking is counted; of each side the first few are timed, with a stamp after each of its operations, and then one of
:data:`A_SAMPLE`, so that a side which is rarely taken is timed as well as one that is taken in every step.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import BranchInstruction

FIRST = 16  # takings of a side that are all timed
A_SAMPLE = 16  # then one of so many
KEPT = 64  # takings whose times are kept
DISTANCES = 16  # different ones that are told apart


class SideTaken:
    """One side of a branch.

    Attributes
    ----------
    branch : BranchInstruction
        The branch.
    side : int
        0 for the side where the condition holds, 1 for the other.
    taken : int
        How often it was taken.
    rows : list of list of int
        Nanoseconds of each instruction of the side, in the takings that were timed: in the last :data:`KEPT` of them.
    distances : dict of int to int
        How many takings of the branch lie between two of this side → how often.
    """

    __slots__ = ("branch", "distances", "last", "rows", "side", "taken")

    def __init__(self, branch: BranchInstruction, side: int) -> None:
        self.branch, self.side = branch, side
        self.taken = 0
        self.rows: deque[list[int]] = deque(maxlen=KEPT)
        self.distances: dict[int, int] = {}
        self.last = -1

    def take(self, number: int) -> bool:
        """Count taking number so much of the branch, and return whether it is to be timed."""
        self.taken += 1
        if self.last >= 0:
            distance = number - self.last
            if distance in self.distances or len(self.distances) < DISTANCES:
                self.distances[distance] = self.distances.get(distance, 0) + 1
        self.last = number
        return self.taken <= FIRST or not self.taken % A_SAMPLE

    def add(self, stamps: Sequence[int]) -> None:
        """Count the times before the first operation and after each of them."""
        self.rows.append([after - before for before, after in itertools.pairwise(stamps)])


class BranchTaken:
    """Both sides of a branch in one call of a function."""

    __slots__ = ("number", "sides")

    def __init__(self, branch: BranchInstruction) -> None:
        self.number = 0
        self.sides = (SideTaken(branch, 0), SideTaken(branch, 1))

    def take(self, side: int) -> SideTaken | None:
        """Count that a side is taken; return what times it is added to, None where it is not to be timed."""
        found = self.sides[side]
        self.number += 1
        return found if found.take(self.number) else None
