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
PARTED = 53  # of calls that are passed over one in so many is timed in parts (a prime: programs have rhythms)
ENOUGH_PARTS, SELDOM_PARTED = 64, 211  # after so many one in so many is
CHEAP = 50  # of so much time of calls watching closely takes one part in the long run
LONGEST_GAP = 16_384  # calls between two that are looked at, in any case
SOONEST = 4  # of such a gap so much passes before a slow call ends it
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
    alone : bool
        Whether these go on as if nobody watched.
    passes : bool
        Whether any was passed over since others watch.
    parted : int
        Of calls that are passed over one in so many is timed in parts.

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

    __slots__ = (
        "_alone_ns",
        "_calls",
        "_gap",
        "_more_ns",
        "_observer",
        "_parts",
        "_usual_ns",
        "alone",
        "left",
        "longest_ns",
        "parted",
        "passes",
    )

    def __init__(self) -> None:
        self._observer, self.alone = 0, False
        self._gap = self._more_ns = self._alone_ns = self._parts = 0
        self._calls, self._usual_ns, self.left, self.longest_ns, self.passes = 0, 0, 0, 0, False
        self.parted = PARTED

    def watched_by(self, observer: int) -> None:
        """Look at many calls again where another observer watches, known by ``id``."""
        if observer != self._observer:
            self._observer, self._more_ns, self._alone_ns, self._parts = observer, 0, 0, 0
            self.parted = PARTED
            self._calls, self._usual_ns, self.left, self.longest_ns, self.passes = 0, 0, 0, 0, False

    def took(self, elapsed_ns: int, watching_ns: int = 0, alone: bool = False) -> None:
        """Note a call that was looked at.

        Parameters
        ----------
        elapsed_ns, watching_ns : int
            How long it took, and how long watching it.
        alone : bool
            Whether such calls may go on as if nobody watched.
        """
        self._calls += 1
        self.alone = alone
        # one that was disturbed is not usual
        usual = self._usual_ns = min(elapsed_ns, 2 * self._usual_ns or elapsed_ns)
        more = watching_ns + elapsed_ns - usual
        self._more_ns = min(more, 2 * self._more_ns or more)
        if self._calls >= CLOSE_CALLS:
            rarer = min(1 + (self._calls - CLOSE_CALLS) // 16, RARER)
            count = rarer * min(CLOSE_NS // max(1, usual), MOST_PASSED_OVER)
            if rarer > 1 and count:
                others = min(usual, self._alone_ns or usual)  # what the calls take that are passed over
                count = max(count, min(CHEAP * self._more_ns // max(1, others), LONGEST_GAP))
            self.left = self._gap = count
            self.longest_ns = MUCH_LONGER * usual
            self.passes = True

    def took_alone(self, elapsed_ns: int) -> None:
        """Note how long a call took that was passed over: after one that was much longer than usual the next is looked at.

        A call may be much shorter alone than one that is looked at.
        """
        self._parts += 1
        if self._parts == ENOUGH_PARTS:
            self.parted = SELDOM_PARTED
        if elapsed_ns > self.longest_ns:
            self.slow()
        else:
            self._usual_ns = self._alone_ns = min(elapsed_ns, self._usual_ns)

    def slow(self) -> None:
        """Let the next call be looked at, unless that was done just before: some programs have many slow calls."""
        if self._gap - self.left >= self._gap // SOONEST:
            self.left = 0
