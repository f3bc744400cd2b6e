"""Count the bytes that the engine holds in a call, now and at the peak.

The ledger counts results of instructions outside of loops while they are alive; an array with views counts once, at its whole
size.  While a loop runs, it counts the loop's rows, its buffers and the arrays that a step allocates.  It does not count the
arguments, constants, copies that machine code makes of strided rows, and NumPy's temporaries inside one operation.

Only a few calls of a function have a ledger (:class:`Weighing`): it costs 1–2 µs per instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

BRANCHES_WEIGHED = 256  # weighed sides of branches per call; further sides count only their results
_NBYTES = attrgetter("nbytes")
GROWTH = 1.05  # inputs larger by this factor than any before are weighed again


class Ledger:
    """Bytes held by one call.

    Attributes
    ----------
    held, peak : int
        Bytes held now, and at the peak so far.
    most : list of int
        Peak bytes during each instruction of the function's program; the last entry: while results were copied.

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
        """Add held bytes."""
        self.held += size
        self._since = max(self._since, self.held)
        self.peak = max(self.peak, self._since)

    def release(self, size: int) -> None:
        """Subtract released bytes."""
        self.held -= size

    def done(self, instruction: int) -> None:
        """Close an instruction of the function's program."""
        self.most[instruction] = max(self.most[instruction], self._since)
        self._since = self.held

    def weighs_inside(self) -> bool:
        """Return whether to weigh one more side of a branch."""
        self.inside += 1
        return self.inside <= BRANCHES_WEIGHED


class ProgramBytes:
    """Bytes of the values of one running program: the function's, or one side of a branch.

    Parameters
    ----------
    ledger : Ledger
        The ledger of the call.
    given : iterable of array
        Inputs of the program: never counted.
    outermost : bool
        Whether the program is the function's.
    """

    __slots__ = ("_given", "_ledger", "_outermost", "_size")

    def __init__(self, ledger: Ledger, given: Iterable[Any], outermost: bool) -> None:
        self._ledger, self._outermost, self._size = ledger, outermost, 0
        self._given = {id(owner(value)) for value in given}

    def weigh(self, instruction: int, values: Sequence[Any], kept: int) -> None:
        """Count the values alive after an instruction; the first ``kept`` of them stay alive."""
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
        """Count the results and the copies of those that share memory with an input or another result."""
        seen, copies = set(self._given), 0
        for one in results:
            whole = id(owner(one))
            copies += int(getattr(one, "nbytes", 0)) if whole in seen else 0
            seen.add(whole)
        self._become(self._bytes(results) + copies)
        self._ledger.done(len(self._ledger.most) - 1)

    def end(self) -> None:
        """Release everything: the caller owns the results now."""
        self._become(0)


def owner(value: Any) -> Any:
    """Return the array that owns the memory of a view.

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
    """Choose the calls with a ledger: the first, second, fourth, eighth …, and those with larger inputs than any before.

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
        """Return a ledger for a call with these inputs, or None if the call is not weighed."""
        self._calls += 1
        size = sum(map(_NBYTES, inputs))
        if self._calls & (self._calls - 1) and size <= GROWTH * self._largest:
            return None
        self._largest = max(self._largest, size)
        return Ledger(self._instructions)


Weigh = Callable[[int, Sequence[Any], int], None]
