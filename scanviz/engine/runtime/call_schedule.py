"""Which calls of a function have their instructions outside of loops timed, and which are looked at at all.

Timed are all of the first few, every call that is long beside its stamps, and one of :data:`A_SAMPLE` of the others.  Of many short
calls only some are looked at, where observers allow it; those have their instructions timed too.
"""

from __future__ import annotations

FIRST = 8  # calls that are all timed
CLOSE_CALLS = 64  # so many calls of a function are looked at before any is passed over
CLOSE_NS = 1_000_000  # then one in about so many nanoseconds of short calls is
MOST_PASSED_OVER = 63  # calls between two that are looked at
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


class CloseCalls:
    """Which calls of a function are looked at: where many short ones were, most are only counted, with their whole time.

    Threads may share it: a call more or less does no harm.

    Examples
    --------
    >>> schedule = CloseCalls()
    >>> def passed_over() -> bool:
    ...     found = schedule.passes_over(observer=1)
    ...     if not found:
    ...         schedule.took(50_000)
    ...     return found
    >>> [passed_over() for _ in range(CLOSE_CALLS + 2 * 21)].count(True)
    40
    """

    __slots__ = ("_calls", "_left", "_observer", "passes")

    def __init__(self) -> None:
        self._calls, self._left, self._observer = 0, 0, 0
        self.passes = False  # whether any was passed over since another observer came

    def passes_over(self, observer: int) -> bool:
        """Return whether the call that begins now is passed over by whoever watches, known by ``id``."""
        if observer != self._observer:
            self._calls, self._left, self._observer, self.passes = 0, 0, observer, False
        if self._left > 0:
            self._left -= 1
            self.passes = True
            return True
        return False

    def took(self, elapsed_ns: int) -> None:
        """Note how long a call that was looked at took."""
        self._calls += 1
        if self._calls >= CLOSE_CALLS:
            self._left = min(CLOSE_NS // max(1, elapsed_ns), MOST_PASSED_OVER)


__all__ = ["CallSchedule", "CloseCalls"]
