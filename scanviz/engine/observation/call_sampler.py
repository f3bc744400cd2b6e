"""Which calls of a function are looked at, and which of these have their instructions outside of loops timed.

Of many short calls most are at the level of runs, where observers allow it.  Timed are the instructions of the first few calls, of
every call that is long beside its stamps, and of one of :data:`A_SAMPLE` of the others.
"""

from __future__ import annotations

FIRST = 8  # calls that are all timed
CLOSE_CALLS = 64  # so many calls of a function are looked at before any is not
CLOSE_NS = 1_000_000  # then one in about so many nanoseconds of short calls is
MOST_SKIPPED = 63  # calls between two that are looked at
RARER = 8  # times as many in the long run, for a look takes a hundred microseconds: one more time after each 16 that were looked at
CHEAP = 50  # of so much time of calls observing closely takes one part in the long run
LONGEST_GAP = 16_384  # calls between two that are looked at, in any case
SOONEST = 4  # of such a gap so much passes before a slow call ends it
MUCH_LONGER = 4  # after a call that took so many times what calls take usually, the next is looked at
A_SAMPLE = 16  # then one of so many, where calls are short
LONG_NS = 20_000  # an instruction's share of a call from which on stamps cost little


class OperationSampler:
    """Which calls that are looked at have their instructions timed.

    Threads may share it: a sample more or less does no harm.
    """

    __slots__ = ("_count", "_long")

    def __init__(self) -> None:
        self._count, self._long = 0, False

    def timed(self) -> bool:
        """Return whether the call that begins now is timed so.

        Examples
        --------
        >>> sampler = OperationSampler()
        >>> sum(sampler.timed() for _ in range(8 + 160))
        18
        """
        self._count += 1
        return self._long or self._count <= FIRST or not self._count % A_SAMPLE

    def took(self, elapsed_ns: int, instructions: int) -> None:
        """Note how long a call that was timed so took."""
        self._long = elapsed_ns >= LONG_NS * instructions


class CallSampler:
    """Which calls of a function are looked at: where many short ones were, most only note the runs of their loops.

    Threads may share it: a call more or less does no harm.

    Attributes
    ----------
    left : int
        How many calls are passed over from here on: whoever passes one over takes one off.
    passes : bool
        Whether any was passed over since others observe.
    usual_ns, longest_ns : int
        Of calls that take so long at least and at most there is nothing to note.

    Examples
    --------
    >>> sampler, skipped = CallSampler(), 0
    >>> for _ in range(CLOSE_CALLS + 2 * 21):
    ...     if sampler.left:
    ...         sampler.left -= 1
    ...         skipped += 1
    ...     else:
    ...         sampler.took(50_000)
    >>> skipped
    40
    """

    __slots__ = ("_calls", "_gap", "_more_ns", "_observer", "left", "longest_ns", "passes", "usual_ns")

    def __init__(self) -> None:
        self._observer = 0
        self._begin()

    def _begin(self) -> None:
        self._gap = self._more_ns = self._calls = self.usual_ns = self.left = self.longest_ns = 0
        self.passes = False

    def observed_by(self, observer: int) -> None:
        """Look at many calls again where another one observes, known by ``id``."""
        if observer != self._observer:
            self._observer = observer
            self._begin()

    def took(self, elapsed_ns: int, observing_ns: int = 0) -> None:
        """Note how long a call took that was looked at, and how long observing it."""
        self._calls += 1
        # one that was disturbed is not usual
        usual = self.usual_ns = min(elapsed_ns, 2 * self.usual_ns or elapsed_ns)
        more = observing_ns + elapsed_ns - usual
        self._more_ns = min(more, 2 * self._more_ns or more)
        if self._calls >= CLOSE_CALLS:
            rarer = min(1 + (self._calls - CLOSE_CALLS) // 16, RARER)
            count = rarer * min(CLOSE_NS // max(1, usual), MOST_SKIPPED)
            if rarer > 1 and count:
                count = max(count, min(CHEAP * self._more_ns // max(1, usual), LONGEST_GAP))
            self.left = self._gap = count
            self.longest_ns = MUCH_LONGER * usual
            self.passes = True

    def passed(self, elapsed_ns: int) -> None:
        """Note that a call that was not looked at took no usual time: after a slow one the next is, unless one was just before.

        Such a call may be much shorter than one that is looked at.
        """
        if elapsed_ns <= self.longest_ns:
            self.usual_ns = min(elapsed_ns, self.usual_ns)
        elif self._gap - self.left >= self._gap // SOONEST:
            self.left = 0
