"""Sample the calls of a function that are observed, and those whose instructions outside of loops are timed.

If observers allow sampling, most of many short calls are only counted.  The instructions of the first few calls are timed, of every
call that is long compared with its stamps, and of one in :data:`A_SAMPLE` of the others.
"""

from __future__ import annotations

FIRST = 8  # calls with timed instructions before sampling begins
CLOSE_CALLS = 64  # observed calls of a function before any is skipped
CLOSE_NS = 1_000_000  # then about one observed call per so many nanoseconds of short calls
MOST_SKIPPED = 63  # skipped calls between two observed ones, at first
RARER = 8  # largest growth of that gap, since observing takes 0.1 ms per call: one more time after each 16 observed calls
CHEAP = 50  # in the long run, time of calls per unit of observer overhead
LONGEST_GAP = 16_384  # skipped calls between two observed ones, at most
SOONEST = 4  # a slow call ends the gap only after one part in so many of it
MUCH_LONGER = 4  # a call that takes so many times the usual time has the next call observed
A_SAMPLE = 16  # one in so many short calls has its instructions timed
LONG_NS = 20_000  # nanoseconds per instruction from which stamps are cheap


class OperationSampler:
    """Sample the observed calls whose instructions are timed.

    Threads may share a sampler: one sample more or less does no harm.
    """

    __slots__ = ("_count", "_long")

    def __init__(self) -> None:
        self._count, self._long = 0, False

    def timed(self) -> bool:
        """Return whether to time the instructions of the call that begins now.

        Examples
        --------
        >>> sampler = OperationSampler()
        >>> sum(sampler.timed() for _ in range(8 + 160))
        18
        """
        self._count += 1
        return self._long or self._count <= FIRST or not self._count % A_SAMPLE

    def took(self, elapsed_ns: int, instructions: int) -> None:
        """Take the time of a call with timed instructions."""
        self._long = elapsed_ns >= LONG_NS * instructions


class CallSampler:
    """Sample the calls of a function that are observed; after many short calls, most only count the runs of their loops.

    Threads may share a sampler: one call more or less does no harm.

    Attributes
    ----------
    left : int
        Number of calls to skip from now on; the caller subtracts one per skipped call.
    passes : bool
        Whether any call was skipped for the current observer.
    usual_ns, longest_ns : int
        A skipped call within these times needs no :meth:`passed`.

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
        """Restart sampling for a new observer, identified by ``id``."""
        if observer != self._observer:
            self._observer = observer
            self._begin()

    def took(self, elapsed_ns: int, observing_ns: int = 0) -> None:
        """Take the time of an observed call and its observer overhead."""
        self._calls += 1
        # at most twice the previous value: a disturbed call is no usual one
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
        """Take the unusual time of a skipped call; after a slow call the next is observed, unless another was observed just before.

        A skipped call may be much shorter than an observed one.
        """
        if elapsed_ns <= self.longest_ns:
            self.usual_ns = min(elapsed_ns, self.usual_ns)
        elif self._gap - self.left >= self._gap // SOONEST:
            self.left = 0
