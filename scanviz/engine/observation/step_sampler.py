"""The sampling schedule of an observed loop: usually one stamp per step, sometimes a sample of all variants of a step.

With detail ``"steps"`` most steps run the *steps* variant.  A sample of the *ops* variant follows the first few steps and recurs
for about one step in :data:`SHARE`, more often at the beginning and for long steps: operations get their share of time without
being timed in every step.  If observers allow it (``control``), a sample has three blocks: *plain* steps without stamps, as many
steps with one stamp each, and steps with one stamp per operation.  The difference between neighbours is the cost of a stamp in this
loop.  Parts are long for short steps, which costs least, and short for long steps, so that observers are notified during the run.
In the long run, most very short steps have no time.  With detail ``"ops"`` every step outside control blocks has timed operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

Variant = Literal["plain", "steps", "ops"]
WARM_UP = 2  # steps before the first sample, which pay for cold caches
FIRST_SAMPLE = 16  # steps of the first sample
SHARE = 64  # in the long run one step in so many has timed operations
EARLY_SHARE = 16  # the same at the beginning, so that loops of a thousand steps have enough samples
LONG_SHARE = 4  # the same for long steps, which stamps do not slow down
# unless timed operations make a long step so many times slower: one thread then runs what several ran
APART = 1.3
LONG_NS = 200_000  # nanoseconds of a long step
NOTIFY_NS = 50_000_000  # interval of notifications about long steps
PERIOD = 1024  # steps of a part with all operations timed
CLOSE_RUNS = 64  # observed runs of a loop before any is skipped
CLOSE_NS = 1_000_000  # then about one observed run per so many nanoseconds of short runs: observing costs about 10 µs
VERY_SHORT_NS = 8_000  # most shorter steps, in the long run, have no time
COMPARED = 4  # with cheap stamps, one sample in so many has blocks for comparison
SHORT_NESTED_NS = 50_000  # as VERY_SHORT_NS for steps with inner loops, whose observation costs microseconds
PAUSE_NS = 5_000_000  # longest pause between samples in nanoseconds, however few steps that are
UNTIMED = 20  # untimed steps per timed one; twice as many for steps of nanoseconds
MUCH_LONGER = 4  # a run with so many times the steps, or the time, of usual runs is observed, or has the next one observed
MOST_SKIPPED = 127  # skipped runs between two observed ones
# Shortest and longest block for comparison: longer than entering its code takes, shorter than drift.
BLOCK_NS = 50_000, 2_000_000
BLOCK = 40  # steps of a block, more for very short steps
LONGEST_BLOCK = 512
NANOSECONDS = 1000  # shorter steps take nanoseconds
# For such steps, parts are planned by time: each costs about 10 µs, whatever its length.
SHORT_PART_NS = 20_000, 2_000_000  # a pause at the beginning, and in the long run
PLAIN_PART_NS = 1_000_000, 100_000_000  # such a pause if timed steps run the usual code
TOGETHER = 4  # pauses merged into one untimed part: a part costs about 10 µs
CHANGED = 2  # a step that becomes so many times longer or shorter has changed
# Steps may change as a loop goes on: a pause is at most one part in so many of the steps done, or so many nanoseconds.
PART_DONE, CHANGING_NS = 4, 500_000
FEW = 4  # a part with so many times fewer steps is weaker evidence of the step time
LONGEST_SAMPLE = 32  # steps of a sample with timed operations


class Pace(NamedTuple):
    """The pace of sampling a loop, in steps.

    Attributes
    ----------
    first_pause, longest_pause : int
        Pauses between samples; each is twice the one before.
    block : int
        Largest block for comparison, unless steps are very short.
    timed : int
        Fewest steps with timed operations in a sample.
    untimed_ns : int
        Most shorter steps, in the long run, have no time.
    """

    first_pause: int
    longest_pause: int
    block: int
    timed: int
    untimed_ns: int


USUAL = Pace(64, (SHARE - 1) * LONGEST_SAMPLE, BLOCK, 4, VERY_SHORT_NS)
# inner loops make steps long and expensive to record: a few steps are enough
NESTED = Pace(8, 32, 16, 4, SHORT_NESTED_NS)


class Part(NamedTuple):
    """The next part of a schedule.

    Attributes
    ----------
    variant : str
        The variant of the code.
    steps : int
        Number of steps.
    in_pairs : bool
        Whether the part is compared with its neighbour; such a part does not continue in the next run, to keep equal lengths.
    """

    variant: Variant
    steps: int
    in_pairs: bool = False


class StepSampler:
    """The state of a loop's schedule across runs: most short runs consist of one part.

    A run uses its sampler exclusively; concurrent runs of the same loop in other threads use others.

    Parameters
    ----------
    nested : bool
        Whether the loop has inner loops: samples are then smaller and more frequent.

    Attributes
    ----------
    nested, control : bool
        Whether the loop has inner loops, and whether samples have plain steps.
    observer : int
        ``id`` of the observer; 0 before any.
    step_ns : int
        Latest time of a step; 0 if unknown.
    cheap_stamps : bool
        Whether a stamp costs about 10 ns: the code itself takes it.
    plain_times : bool
        Whether timed steps run the unobserved code: samples then have no plain steps.
    timed_ns : int
        Latest time of a step with timed operations; 0 if unknown.
    """

    __slots__ = (
        "_close_runs", "_done", "_known_by", "_most_steps", "_pace", "_parts", "_pause", "_run_ns", "_samples", "_skipped",
        "_span_ns", "_tiers", "_timed", "_usual_ns", "_wanted", "cheap_stamps", "control", "nested", "observer", "plain_times",
        "step_ns", "timed_ns",
    )  # fmt: skip

    def __init__(self, nested: bool = False, control: bool = False) -> None:
        self.nested, self.control, self.observer = nested, control, 0
        self.plain_times = self.cheap_stamps = False
        self._span_ns = self._samples = self._usual_ns = 0
        self._done = 0  # steps
        self._close_runs, self._skipped, self._run_ns, self._most_steps = 0, 0, 0, 0
        self._pace = NESTED if nested else USUAL
        self._tiers: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """Forget the step times and begin with a sample."""
        self.step_ns = self.timed_ns = self._known_by = 0
        self._pause, self._timed = self._pace.first_pause, self._pace.timed if self.nested else FIRST_SAMPLE
        self._wanted = self._timed  # steps of a sample with timed operations
        self._parts = [Part("ops", self._timed), Part("steps", WARM_UP)]  # the next one last

    def runs_on(self, tier: str) -> None:
        """Restart with a sample when another tier's code runs for the first time: its steps differ."""
        if self._tiers and tier not in self._tiers:
            self._begin()
        self._tiers.add(tier)

    def ran(self, steps: int, elapsed_ns: int) -> None:
        """Take the time of an observed run: after many short ones, most runs are skipped."""
        self._close_runs += 1
        self._most_steps = max(self._most_steps, MUCH_LONGER * steps)
        if self._close_runs >= CLOSE_RUNS:
            usual = self._usual_ns = min(elapsed_ns, self._run_ns or elapsed_ns)
            self._skipped = min(CLOSE_NS // max(1, usual), MOST_SKIPPED)

    def passes_over(self, steps: int) -> bool:
        """Return whether to skip a run of at most so many steps."""
        return self._skipped > 0 and steps <= self._most_steps

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
        step_ns = span_ns // steps
        if steps * FEW >= self._known_by:
            if not self.step_ns <= CHANGED * step_ns <= CHANGED**2 * self.step_ns:
                self._end_pause()
            self.step_ns, self._known_by = step_ns, steps
        else:
            self.step_ns = min(self.step_ns, step_ns)
            self._known_by //= 2  # if no long parts follow, short ones count in the end

    def _end_pause(self) -> None:
        """Continue with a small sample: the previous one does not represent steps that became much longer or shorter."""
        while self._parts and self._parts[-1].variant != "ops" and not self._parts[-1].in_pairs:
            self._parts.pop()
        if not self._parts or self._parts[-1].variant != "ops":
            self._parts.append(Part("ops", self._pace.timed))

    def passed(self, elapsed_ns: int) -> None:
        """Take the time of a skipped run; after an unusually long one, observe the next."""
        self._skipped = 0 if elapsed_ns > MUCH_LONGER * self._usual_ns else self._skipped - 1
        self._run_ns = elapsed_ns

    def part(self, steps: int) -> Part:
        """Return the next part of a run with so many steps left, and count it as done."""
        if not self._parts:
            self._parts = self._after_a_sample(steps)
        part = self._parts.pop()
        count = min(part.steps, steps)
        if count < part.steps and not part.in_pairs:
            self._parts.append(Part(part.variant, part.steps - count))
        self._done += count
        self._timed += count if part.variant == "ops" else 0
        return part if count == part.steps else Part(part.variant, count, part.in_pairs)

    def _unchanged(self, left: int) -> int:
        """Return the number of steps that one sample may represent: a part of those done, in the only run half of those left."""
        return min(self._done // PART_DONE, max(left // 2, self._done // (2 * PART_DONE)))

    def _after_a_sample(self, left: int) -> list[Part]:
        """Return the pause after a sample and the next sample, the pause last."""
        if self.plain_times:
            return self._after_plain_times()
        step_ns, pace = max(1, self.step_ns), self._pace
        first, last = (limit // step_ns if 0 < self.step_ns < NANOSECONDS else 0 for limit in SHORT_PART_NS)
        longest_pause = max(pace.longest_pause, min(PAUSE_NS // step_ns, USUAL.longest_pause), last)
        is_long, is_early = step_ns >= LONG_NS, self._pause < max(pace.longest_pause, last // 2)
        most = max(1, NOTIFY_NS // step_ns)
        pause = min(LONGEST_SAMPLE if is_long else max(self._pause, first), most)
        pause = min(pause, max(pace.first_pause, CHANGING_NS // step_ns, self._unchanged(left)))
        shortest, longest = (limit // step_ns for limit in BLOCK_NS)
        block = max(1, min(max(pace.block, min(shortest, pause // 4)), longest))
        share = LONG_SHARE if is_long else EARLY_SHARE if is_early else SHARE
        timed = min(max(pace.timed, pause // (share - 1)), block, LONGEST_SAMPLE)
        if is_long and self.timed_ns > APART * step_ns:
            pause = min(pace.timed * (SHARE - 1), most)
            timed = max(1, pause // (SHARE - 1))
        is_cut = self._timed < self._wanted  # runs that ended early cut the sample short
        if is_cut:
            pause = min(pause, (SHARE - 1) * max(1, self._timed))
        self._pause, self._timed, self._wanted = min(2 * max(self._pause, first), longest_pause), 0, timed
        if not self.control:
            return [Part("ops", timed), Part("steps", pause)]
        compared = [Part("steps", block, True), Part("plain", block, True)]
        self._samples += not is_early
        if self.cheap_stamps and self._samples % COMPARED:
            compared = []  # the cost of a stamp is known by then, and a part costs more than many stamps
        rarely = 2 * UNTIMED if 0 < last <= 2 * pause else UNTIMED  # against the cost of stamps
        more = (
            [] if is_early or is_cut else self._more(min(rarely, 2 * self._unchanged(left) // pause), pause)
        )
        if more and more[0].variant == "steps":
            pause, more = pause + more[0].steps, []
        return [Part("ops", timed, True), *compared, *more, Part("steps", pause)]

    def _more(self, times: int, pause: int) -> list[Part]:
        """Return further pauses: without times if stamps are expensive for such steps, with times if they cost nothing."""
        is_cheap = self.cheap_stamps and not self.nested
        if self.step_ns < (VERY_SHORT_NS if is_cheap else self._pace.untimed_ns):
            together = min(times, TOGETHER)
            return [Part("plain", together * pause)] * (times // max(1, together))
        with_times = min(times * pause, PLAIN_PART_NS[1] // self.step_ns) if is_cheap else 0
        return [Part("steps", with_times)] if with_times else []

    def _after_plain_times(self) -> list[Part]:
        """Return the same if times cost nothing, but timed operations may make a step many times longer."""
        shortest, longest = PLAIN_PART_NS
        span = max(shortest, min(self._span_ns, longest))
        self._span_ns, step_ns = 2 * span, max(1, self.step_ns)
        timed = min(span // (SHARE * max(step_ns, self.timed_ns)), LONGEST_SAMPLE)
        return [Part("ops", max(1, timed)), Part("steps", max(1, span // step_ns))]


def scheduled(
    steps: int, samples: bool = True, schedule: StepSampler | None = None
) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over (variant, first step, end) for a run of at most ``steps`` steps, moving ``schedule`` on.

    ``samples`` says whether only a sample of the steps has timed operations, else all have.

    Examples
    --------
    >>> list(scheduled(100))
    [('steps', 0, 2), ('ops', 2, 18), ('steps', 18, 82), ('ops', 82, 86), ('steps', 86, 100)]
    >>> list(scheduled(200, schedule=StepSampler(control=True)))[3:]
    [('plain', 82, 122), ('steps', 122, 162), ('ops', 162, 166), ('steps', 166, 200)]
    """
    if not samples:
        yield from _all_timed(steps, schedule is not None and schedule.control and not schedule.plain_times)
        return
    schedule, first = schedule or StepSampler(), 0
    while first < steps:
        part = schedule.part(steps - first)
        yield part.variant, first, first + part.steps
        first += part.steps


def _all_timed(steps: int, control: bool) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over parts with all operations timed, with a few plain steps in between if ``control`` allows it."""
    first = 0
    while first < steps:
        end = min(first + PERIOD, steps)
        yield "ops", first, end
        first = end
        if control and first + 2 * BLOCK < steps:
            yield "plain", first, first + BLOCK
            yield "steps", first + BLOCK, first + 2 * BLOCK
            first += 2 * BLOCK
