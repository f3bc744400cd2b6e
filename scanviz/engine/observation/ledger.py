"""The ledger of a call: bytes of arrays that the engine made in it and has not let go, and the most there were at once.

Counted are results of instructions outside of loops as long as something may read them (an array that others look into once, at its
whole size), and while a loop runs its rows, its buffers and the arrays that a step makes anew.  Not counted are what the call was
given, constants, copies that machine code makes of rows which do not lie in order, and what NumPy needs inside of one operation.

It is kept in a few calls of a function alone (:class:`Weighing`): it takes a microsecond or two an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

BRANCHES_WEIGHED = (
    256  # in one call: sides of branches beyond them, in steps of loops, mostly, count their results alone
)
_NBYTES = attrgetter("nbytes")
GROWTH = 1.05  # inputs so much larger than any before are weighed again


class Ledger:
    """Bytes held by one call.

    Attributes
    ----------
    held, peak : int
        Now, and at most so far.
    most : list of int
        For each instruction of the function's program, the most that was held while it ran; then, while results were copied.

    Examples
    --------
    >>> ledger = Ledger(1)
    >>> ledger.hold(100)
    >>> ledger.release(40)
    >>> ledger.held, ledger.peak
    (60, 100)
    """

    __slots__ = ("_since", "held", "inside", "most", "peak")

    def __init__(self, instructions: int) -> None:
        self.held = self.peak = self._since = 0
        self.most = [0] * (instructions + 1)
        self.inside = 0

    def hold(self, size: int) -> None:
        """Count bytes as held."""
        self.held += size
        if self.held > self._since:
            self._since = self.held
            if self.held > self.peak:
                self.peak = self.held

    def release(self, size: int) -> None:
        """Count bytes as let go."""
        self.held -= size

    def done(self, instruction: int) -> None:
        """Note that an instruction of the function's program is done."""
        self.most[instruction] = max(self.most[instruction], self._since)
        self._since = self.held

    def weighs_inside(self) -> bool:
        """Return whether one more side of a branch is weighed."""
        self.inside += 1
        return self.inside <= BRANCHES_WEIGHED

    def frame(self, given: Iterable[Any], outermost: bool) -> ProgramBytes:
        """Return what counts the values of one program that is run."""
        return ProgramBytes(self, given, outermost)


class ProgramBytes:
    """The values of one program while it runs, the function's or one side of a branch.

    Parameters
    ----------
    ledger : Ledger
        Of the call.
    given : iterable of array
        What the program was given: never counted.
    outermost : bool
        Whether the program is the function's.
    """

    __slots__ = ("_given", "_ledger", "_outermost", "_size")

    def __init__(self, ledger: Ledger, given: Iterable[Any], outermost: bool) -> None:
        self._ledger, self._outermost, self._size = ledger, outermost, 0
        self._given = {id(owner(value)) for value in given}

    def weigh(self, instruction: int, values: Sequence[Any], kept: int) -> None:
        """Count what is alive after an instruction, of which the first ``kept`` values stay."""
        ledger = self._ledger
        self._become(self._bytes(values))
        if self._outermost:
            ledger.done(instruction)
        if kept < len(values):
            self._become(self._bytes(values[:kept]))

    def _become(self, size: int) -> None:
        self._ledger.release(self._size)
        self._ledger.hold(size)
        self._size = size

    def _bytes(self, values: Iterable[Any]) -> int:
        owners = {id(one): one for one in map(owner, values)}
        return sum(int(getattr(one, "nbytes", 0)) for key, one in owners.items() if key not in self._given)

    def give(self, results: Sequence[Any]) -> None:
        """Count the results, copied where they look into what was given or into one another: the caller gets arrays of his own."""
        seen, copies = set(self._given), 0
        for one in results:
            whole = id(owner(one))
            copies += int(getattr(one, "nbytes", 0)) if whole in seen else 0
            seen.add(whole)
        self._become(self._bytes(results) + copies)
        self._ledger.done(len(self._ledger.most) - 1)

    def end(self) -> None:
        """Let go of everything: it is the caller's now, or nobody's."""
        self._become(0)


def owner(value: Any) -> Any:
    """Return the array that owns the memory which an array looks into.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.zeros((2, 3))
    >>> owner(rows[1, 1:]) is rows
    True
    """
    base = getattr(value, "base", None)
    while base is not None and hasattr(base, "nbytes"):
        value, base = base, getattr(base, "base", None)
    return value


class Weighing:
    """Which calls of a function have a ledger: the first, second, fourth, eighth …, and those with larger inputs than any before.

    Examples
    --------
    >>> weighing = Weighing(0)
    >>> [weighing.ledger([]) is not None for _ in range(9)]
    [True, True, False, True, False, False, False, True, False]
    """

    __slots__ = ("_calls", "_instructions", "_largest")

    def __init__(self, instructions: int) -> None:
        self._instructions, self._calls, self._largest = instructions, 0, 0

    def ledger(self, inputs: Sequence[Any]) -> Ledger | None:
        """Return a ledger for a call with these inputs, None where it needs none."""
        self._calls += 1
        if self._calls & (self._calls - 1) and not self.is_due(inputs):
            return None
        self._largest = max(self._largest, sum(map(_NBYTES, inputs)))
        return Ledger(self._instructions)

    def is_due(self, inputs: Sequence[Any]) -> bool:
        """Return whether inputs are larger than any before."""
        return bool(sum(map(_NBYTES, inputs)) > GROWTH * self._largest)


Weigh = Callable[[int, Sequence[Any], int], None]
__all__ = ["BRANCHES_WEIGHED", "Ledger", "ProgramBytes", "Weigh", "Weighing", "owner"]
