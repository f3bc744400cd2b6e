"""Which calls of a function have their instructions outside of loops timed.

All of the first few, every call that is long beside its stamps, and one of :data:`A_SAMPLE` of the others.
"""

from __future__ import annotations

FIRST = 8  # calls that are all timed
A_SAMPLE = 16  # then one of so many, where calls are short
LONG_NS = 20_000  # an instruction's share of a call from which on stamps cost little


class CallSchedule:
    """Where a function stands between samples.

    Threads may share it: a sample more or less does no harm.
    """

    __slots__ = ("_count", "_long")

    def __init__(self) -> None:
        self._count, self._long = 0, False

    def timed(self) -> bool:
        """Return whether the call that begins now is timed so.

        Examples
        --------
        >>> schedule = CallSchedule()
        >>> sum(schedule.timed() for _ in range(8 + 160))
        18
        """
        self._count += 1
        return self._long or self._count <= FIRST or not self._count % A_SAMPLE

    def took(self, elapsed_ns: int, instructions: int) -> None:
        """Note how long a call that was timed so took."""
        self._long = elapsed_ns >= LONG_NS * instructions


__all__ = ["CallSchedule"]
