"""Sample closely observed events: calls of a function, runs of a loop, steps of a run, and their operations.

If observers allow sampling, most of many short calls and runs are only counted, and most very short steps run unobserved.  What is
not measured is estimated from what was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

Variant = Literal["plain", "steps", "ops"]

# calls and runs
FIRST = 8  # calls with timed instructions before sampling begins
CLOSE_CALLS = 64  # observed calls of a function, or runs of a loop, before any is skipped
CLOSE_NS = 1_000_000  # then about one observed call per so many nanoseconds of short calls
MOST_SKIPPED = 63  # skipped calls between two observed ones, at first
RARER = 8  # largest growth of that gap, since observing takes 0.1 ms per call: one more time after each 16 observed calls
CHEAP = 50  # in the long run, time of calls per unit of observer overhead
LONGEST_GAP = 16_384  # skipped calls between two observed ones, at most
SOONEST = 4  # a slow call ends the gap only after one part in so many of it
MUCH_LONGER = 4  # a call that takes so many times the usual time has the next call observed; so has a run of so many steps
A_SAMPLE = 16  # one in so many short calls has its instructions timed
LONG_NS = 20_000  # nanoseconds per instruction from which stamps are cheap

# steps
WARM_UP = 2  # steps before the first sample, which pay for cold caches
FIRST_SAMPLE = 16  # steps of the first sample
SHARE = 64  # one part in so many of the time goes to steps with timed operations
SHORT_NS = {False: 8_000, True: 50_000}  # most shorter steps run unobserved; True for steps with inner loops
STAMPED = 20  # then one step in so many has a time
EARLY = 1000  # first steps of a loop: half have a time, however short they are
FEWEST_STAMPED = 8  # steps with a time between two samples
PAUSE_NS = 500_000  # least time between two samples: each part costs about 10 µs
GROWTH = 4  # but at first at most so many times the steps done
PART_DONE = 4  # later one part in so many of the steps done, since steps may change as a loop goes on
NOTIFY_NS = 50_000_000  # longest time between two samples, and between two notifications
UNKNOWN_NS = 10_000  # nanoseconds of a step before any is known
CHANGED = 2  # a step that becomes so many times longer or shorter ends the pause
FEW = 4  # a part with so many times fewer steps is weaker evidence of the step time
PERIOD = 1024  # steps with all operations timed, if observers ask for it, between two blocks of other steps
BLOCK = 40  # steps of such a block


class CallSampler:
    """Sample the calls of a function that are observed; after many short calls, most only count the runs of their loops.

    Threads may share a sampler: one call more or less does no harm.

    Attributes
    ----------
    left : int
        Number of calls to skip from now on; the caller subtracts one per skipped call.
    passes : bool
        Whether any call was skipped for the current observer.
    latest_ns : int
        Time of the latest observed call.
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

    def __init__(self) -> None:
        self._observer = self.latest_ns = 0
        self._begin()

    def _begin(self) -> None:
        self._gap = self._more_ns = self._calls = self._begun = self.usual_ns = self.left = (
            self.longest_ns
        ) = 0
        self.passes = False

    def observed_by(self, observer: int) -> None:
        """Restart sampling for a new observer, identified by ``id``."""
        if observer != self._observer:
            self._observer = observer
            self._begin()

    def times_operations(self, instructions: int) -> bool:
        """Return whether to time the instructions of the observed call that begins now.

        Examples
        --------
        >>> sampler = CallSampler()
        >>> sum(sampler.times_operations(3) for _ in range(8 + 160))
        18
        """
        self._begun += 1
        is_long = self.latest_ns >= LONG_NS * instructions > 0
        return self.passes or is_long or self._begun <= FIRST or not self._begun % A_SAMPLE

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


class Part(NamedTuple):
    """The next part of a schedule: a variant of the code, and a number of steps."""

    variant: Variant
    steps: int


class StepSampler:
    """The sampling schedule of a loop, across its runs.

    A sample of steps with timed operations is followed by a pause, whose steps have one stamp each or none.  A run uses its sampler
    exclusively; concurrent runs of the same loop in other threads use others.

    Parameters
    ----------
    nested : bool
        Whether the loop has inner loops: observing its steps is then expensive.
    control : bool
        Whether observers allow unobserved steps.

    Attributes
    ----------
    observer : int
        ``id`` of the observer; 0 before any.
    runs : CallSampler
        Chooses the observed runs.
    step_ns, timed_ns : int
        Latest time of a step, and of one with timed operations; 0 if unknown.
    plain_times : bool
        Whether timed steps run the unobserved code.
    """

    def __init__(self, nested: bool = False, control: bool = False) -> None:
        self.nested, self.control, self.observer = nested, control, 0
        self.runs, self._most_steps = CallSampler(), 0
        self.plain_times = False
        self._tiers: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """Forget the step times and begin with a sample."""
        self.step_ns = self.timed_ns = self._known_by = self._done = 0
        self._parts = [Part("ops", FIRST_SAMPLE), Part("steps", WARM_UP)]  # the next one last

    def runs_on(self, tier: str) -> None:
        """Restart with a sample when another tier's code runs for the first time: its steps differ."""
        if self._tiers and tier not in self._tiers:
            self._begin()
        self._tiers.add(tier)

    # runs

    def ran(self, steps: int, elapsed_ns: int) -> None:
        """Take the time of an observed run: after many short ones, most runs are skipped."""
        self._most_steps = max(self._most_steps, MUCH_LONGER * steps)
        self.runs.took(elapsed_ns)

    def skips(self, steps: int) -> bool:
        """Return whether to skip a run of at most ``steps`` steps."""
        return self.runs.left > 0 and steps <= self._most_steps

    def passed(self, elapsed_ns: int) -> None:
        """Take the time of a skipped run."""
        self.runs.left -= 1
        self.runs.passed(elapsed_ns)

    # steps

    def took(self, steps: int, span_ns: int) -> None:
        """Take the time of a part; in a part of few steps much of it may be entering the code.

        Examples
        --------
        >>> schedule = StepSampler()
        >>> for steps, span_ns in [(2000, 1_000_000), (40, 90_000), (2000, 1_200_000)]:
        ...     schedule.took(steps, span_ns)
        ...     schedule.step_ns
        500
        500
        600
        """
        step_ns = (
            max(0, span_ns) // steps
        )  # less observer overhead, so a clock of few digits may leave less than none
        if steps * FEW >= self._known_by:
            if not self.step_ns <= CHANGED * step_ns <= CHANGED**2 * self.step_ns:
                # the previous sample does not represent such steps
                self._parts = [part for part in self._parts if part.variant == "ops"] or [Part("ops", 4)]
            self.step_ns, self._known_by = step_ns, steps
        else:
            self.step_ns = min(self.step_ns, step_ns)
            self._known_by //= 2  # if no long parts follow, short ones count in the end

    def part(self, steps: int) -> Part:
        """Return the next part of a run with so many steps left, and count it as done."""
        if not self._parts:
            self._parts = self._after_a_sample()
        part = self._parts.pop()
        count = min(part.steps, steps)
        if count < part.steps:
            self._parts.append(Part(part.variant, part.steps - count))
        self._done += count
        return Part(part.variant, count)

    def _after_a_sample(self) -> list[Part]:
        """Return the pause after a sample and the next sample, in reverse order."""
        step_ns = self.step_ns or UNKNOWN_NS
        timed_ns = max(step_ns, self.timed_ns)
        least = min(PAUSE_NS // step_ns, GROWTH * self._done)
        pause = max(SHARE * timed_ns // step_ns, least, self._done // PART_DONE)
        pause = max(1, min(pause, NOTIFY_NS // step_ns))
        timed = max(1, pause * step_ns // (SHARE * timed_ns))
        stamped = pause
        if self.control and not self.plain_times:
            # stamps, and recording inner loops, change the step: some steps run plain
            is_short = step_ns < SHORT_NS[self.nested]
            if is_short and (self.nested or self._done >= EARLY):
                stamped = min(pause, max(FEWEST_STAMPED, pause // STAMPED))
            elif is_short or self.nested:
                stamped = (pause + 1) // 2
        parts = [Part("ops", timed), Part("plain", pause - stamped), Part("steps", stamped)]
        return [part for part in parts if part.steps]


def scheduled(
    steps: int, samples: bool = True, schedule: StepSampler | None = None
) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over (variant, first step, end) for a run of at most ``steps`` steps, moving ``schedule`` on.

    With ``samples`` only a sample of the steps has timed operations, else all have, except for a few plain ones.

    Examples
    --------
    >>> list(scheduled(100))
    [('steps', 0, 2), ('ops', 2, 18), ('steps', 18, 82), ('ops', 82, 83), ('steps', 83, 100)]
    >>> schedule = StepSampler(control=True)
    >>> schedule.took(10, 10_000)  # steps of 1 µs
    >>> list(scheduled(100, schedule=schedule))
    [('ops', 0, 16), ('steps', 16, 48), ('plain', 48, 80), ('ops', 80, 81), ('steps', 81, 100)]
    """
    schedule, first = schedule or StepSampler(), 0
    compares = schedule.control and not schedule.plain_times
    while first < steps:
        if samples:
            parts = [schedule.part(steps - first)]
        else:
            parts = [Part("ops", PERIOD), *([Part("plain", BLOCK), Part("steps", BLOCK)] if compares else [])]
        for part in parts:
            end = min(first + part.steps, steps)
            if first < end:
                yield part.variant, first, end
            first = end
