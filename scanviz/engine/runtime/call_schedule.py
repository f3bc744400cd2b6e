"""Which calls of a function have their instructions outside of loops timed, and which are looked at at all.

Timed are all of the first few, every call that is long beside its stamps, and one of :data:`A_SAMPLE` of the others.  Of many short
calls only some are looked at, where observers allow it; those have their instructions timed too.
"""

from __future__ import annotations

FIRST = 8  # calls that are all timed
CLOSE_CALLS = 64  # so many calls of a function are looked at before any is passed over
CLOSE_NS = 1_000_000  # then one in about so many nanoseconds of short calls is
MOST_PASSED_OVER = 63  # calls between two that are looked at
RARER = 8  # times as many in the long run, for a look takes a hundred microseconds: one more time after each 16 that were looked at
MUCH_LONGER = 4  # after a call that took so many times what calls take usually, the next is looked at
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

    Attributes
    ----------
    left : int
        How many calls are passed over from here on: whoever passes one over takes one off.
    passes : bool
        Whether any was passed over since others watch.

    Examples
    --------
    >>> schedule, passed_over = CloseCalls(), 0
    >>> for _ in range(CLOSE_CALLS + 2 * 21):
    ...     if schedule.left:
    ...         schedule.left -= 1
    ...         passed_over += 1
    ...     else:
    ...         schedule.took(50_000)
    >>> passed_over
    40
    """

    __slots__ = ("_calls", "_observer", "_usual_ns", "left", "longest_ns", "passes")

    def __init__(self) -> None:
        self._observer = 0
        self._calls, self._usual_ns, self.left, self.longest_ns, self.passes = 0, 0, 0, 0, False

    def watched_by(self, observer: int) -> None:
        """Look at many calls again where another observer watches, known by ``id``."""
        if observer != self._observer:
            self._observer = observer
            self._calls, self._usual_ns, self.left, self.longest_ns, self.passes = 0, 0, 0, 0, False

    def took(self, elapsed_ns: int) -> None:
        """Note how long a call that was looked at took."""
        self._calls += 1
        # one that was disturbed is not usual
        self._usual_ns = min(elapsed_ns, 2 * self._usual_ns or elapsed_ns)
        if self._calls >= CLOSE_CALLS:
            rarer = min(1 + (self._calls - CLOSE_CALLS) // 16, RARER)
            self.left = rarer * min(CLOSE_NS // max(1, self._usual_ns), MOST_PASSED_OVER)
            self.longest_ns = MUCH_LONGER * self._usual_ns
            self.passes = True
