"""The sampling schedule of an observed loop: mostly one stamp a step, now and then a sample of all the ways to run a step.

With detail ``"steps"`` most steps run the *steps* variant.  A sample of the *ops* variant follows the first few steps and
then again and again, for about one step in :data:`SHARE`, more often at the beginning and where steps are long, so that
operations get their share of time without being timed in every step.  Where observers allow it (``control``), a sample is three
blocks in turn: *plain* steps without any stamp, as many with one stamp a step, and steps with one an operation.  What a stamp costs
in this loop is the difference between neighbours.  Parts are long where steps are short, which costs least, and short where
steps are long, so that observers are notified while the loop runs.  Of very short steps most have no time in the long run.  With
detail ``"ops"`` every step is timed so, but those of the control.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

Variant = Literal["plain", "steps", "ops"]
WARM_UP = 2  # steps before the first sample, which pay for what is cold
FIRST_SAMPLE = 16  # steps of the first sample
SHARE = 64  # in the long run one step in so many has its operations timed
EARLY_SHARE = 16  # and at the beginning, so that loops of a thousand steps have enough
LONG_SHARE = 4  # and of long steps, which stamps do not make slower
# but where such a step takes so many times longer with its operations timed: threads take it that one takes then
APART = 1.3
LONG_NS = 200_000  # nanoseconds of a long step
NOTIFY_NS = 50_000_000  # observers are notified of long steps about so often
PERIOD = 1024  # steps of a part in which every operation is timed
CLOSE_RUNS = 64  # so many runs of a loop are looked at closely before any is passed over
CLOSE_NS = 1_000_000  # then one in about so many nanoseconds of short runs is: a close look takes some ten microseconds
VERY_SHORT_NS = 8_000  # of shorter steps, in the long run, most have no time
COMPARED = 4  # one sample in so many has blocks that are compared, where stamps are cheap
SHORT_NESTED_NS = 50_000  # and of shorter steps with loops inside, for watching these takes microseconds
PAUSE_NS = 5_000_000  # a pause between samples may be so long, however few steps that are
UNTIMED = 20  # as many of these follow one that has a time, and twice as many of steps of nanoseconds
MUCH_LONGER = (
    4  # times as many steps as any run that was looked at closely, or as long: then one is looked at
)
MOST_SKIPPED = 127  # runs between two that are looked at closely
# A block that is compared takes at least and at most about so long: entering its code must not count, nor drift.
BLOCK_NS = 50_000, 2_000_000
BLOCK = 40  # steps of a block, more of very short ones
LONGEST_BLOCK = 512
NANOSECONDS = 1000  # shorter steps take nanoseconds
# Where they do, parts are counted by time: each costs some ten microseconds, whatever it holds.
SHORT_PART_NS = 20_000, 2_000_000  # a pause at the beginning, and in the long run
PLAIN_PART_NS = 1_000_000, 100_000_000  # such a pause where steps with times run the usual code
TOGETHER = 4  # pauses in one part without times: a part costs some ten microseconds
CHANGED = 2  # times as long or as short
# A pause is no longer than that part of the steps done, for steps may change as a loop goes on; or so many nanoseconds.
PART_DONE, CHANGING_NS = 4, 500_000
FEW = 4  # a part of so many times fewer steps says less of how long a step is
LONGEST_SAMPLE = 32  # steps of a sample whose operations are timed


class Pace(NamedTuple):
    """How often and how much a loop is sampled, in steps.

    Attributes
    ----------
    first_pause, longest_pause : int
        Between samples; each is twice the one before.
    block : int
        The most of a block that is compared, of steps that are not very short.
    timed : int
        The fewest whose operations are timed in a sample.
    untimed_ns : int
        Of shorter steps, in the long run, most have no time.
    """

    first_pause: int
    longest_pause: int
    block: int
    timed: int
    untimed_ns: int


USUAL = Pace(64, (SHARE - 1) * LONGEST_SAMPLE, BLOCK, 4, VERY_SHORT_NS)
# loops inside make steps long and cost much to record: it takes few steps to see how much
NESTED = Pace(8, 32, 16, 4, SHORT_NESTED_NS)


class Part(NamedTuple):
    """What is to be done next.

    Attributes
    ----------
    variant : str
        Which code runs.
    steps : int
        For how many steps.
    in_pairs : bool
        Whether its time is compared with a neighbour's: it ends with its run, so that both are of one length.
    """

    variant: Variant
    steps: int
    in_pairs: bool = False


class StepSampler:
    """Where a loop stands between samples, from run to run: short runs are one part, most of them.

    A run has it to itself while it goes on: runs of the same loop in other threads have others.

    Parameters
    ----------
    nested : bool
        Whether the loop has loops inside: samples are smaller then and follow one another sooner.

    Attributes
    ----------
    nested, control : bool
        Whether the loop has loops inside, and whether samples have plain steps.
    observer : int
        Who watches, by ``id``; 0 while nobody did.
    step_ns : int
        What a step took lately, 0 while that is not known.
    cheap_stamps : bool
        Whether a stamp takes some ten nanoseconds: the code itself takes it.
    plain_times : bool
        Whether steps with times run the code that runs while nobody watches: samples have no plain steps then.
    timed_ns : int
        What a step took lately whose operations were timed, 0 while that is not known.
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
        """Know nothing of the steps, and begin with a sample."""
        self.step_ns = self.timed_ns = self._known_by = 0
        self._pause, self._timed = self._pace.first_pause, self._pace.timed if self.nested else FIRST_SAMPLE
        self._wanted = self._timed  # steps of a sample whose operations are timed
        self._parts = [Part("ops", self._timed), Part("steps", WARM_UP)]  # the next one last

    def runs_on(self, tier: str) -> None:
        """Begin with a sample again where a tier's code runs for the first time, after another's: its steps are others."""
        if self._tiers and tier not in self._tiers:
            self._begin()
        self._tiers.add(tier)

    def ran(self, steps: int, elapsed_ns: int) -> None:
        """Note that a run was looked at closely, and how long it took: many short ones need no times of their steps."""
        self._close_runs += 1
        self._most_steps = max(self._most_steps, MUCH_LONGER * steps)
        if self._close_runs >= CLOSE_RUNS:
            usual = self._usual_ns = min(elapsed_ns, self._run_ns or elapsed_ns)
            self._skipped = min(CLOSE_NS // max(1, usual), MOST_SKIPPED)

    def passes_over(self, steps: int) -> bool:
        """Return whether a run of at most so many steps needs no times of them."""
        return self._skipped > 0 and steps <= self._most_steps

    def took(self, steps: int, span_ns: int) -> None:
        """Note what the steps of a part took; of one with few steps much may be what entering its code takes.

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
            self._known_by //= 2  # where no more parts of many steps come, those of few are what there is

    def _end_pause(self) -> None:
        """Go on with a small sample: the one before says nothing of steps that became much longer or shorter."""
        while self._parts and self._parts[-1].variant != "ops" and not self._parts[-1].in_pairs:
            self._parts.pop()
        if not self._parts or self._parts[-1].variant != "ops":
            self._parts.append(Part("ops", self._pace.timed))

    def passed(self, elapsed_ns: int) -> None:
        """Note that a run was passed over, and how long it took: where that is much longer than usual the next one is not."""
        self._skipped = 0 if elapsed_ns > MUCH_LONGER * self._usual_ns else self._skipped - 1
        self._run_ns = elapsed_ns

    def part(self, steps: int) -> Part:
        """Return what to do next in a run that has so many steps left, and count it as done."""
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
        """Return for how many steps one sample may stand: a part of those done, and of the only run half of those left."""
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
        is_cut = self._timed < self._wanted  # runs that ended early left the sample smaller
        if is_cut:
            pause = min(pause, (SHARE - 1) * max(1, self._timed))
        self._pause, self._timed, self._wanted = min(2 * max(self._pause, first), longest_pause), 0, timed
        if not self.control:
            return [Part("ops", timed), Part("steps", pause)]
        compared = [Part("steps", block, True), Part("plain", block, True)]
        self._samples += not is_early
        if self.cheap_stamps and self._samples % COMPARED:
            compared = []  # what a stamp costs is known by then, and a part costs more than many stamps
        rarely = (
            2 * UNTIMED if 0 < last <= 2 * pause else UNTIMED
        )  # beside steps of nanoseconds a stamp is much
        more = (
            [] if is_early or is_cut else self._more(min(rarely, 2 * self._unchanged(left) // pause), pause)
        )
        if more and more[0].variant == "steps":
            pause, more = pause + more[0].steps, []
        return [Part("ops", timed, True), *compared, *more, Part("steps", pause)]

    def _more(self, times: int, pause: int) -> list[Part]:
        """Return so many more pauses: of steps without times where a stamp is much beside them; where it is nothing, with times."""
        is_cheap = self.cheap_stamps and not self.nested
        if self.step_ns < (VERY_SHORT_NS if is_cheap else self._pace.untimed_ns):
            together = min(times, TOGETHER)
            return [Part("plain", together * pause)] * (times // max(1, together))
        with_times = min(times * pause, PLAIN_PART_NS[1] // self.step_ns) if is_cheap else 0
        return [Part("steps", with_times)] if with_times else []

    def _after_plain_times(self) -> list[Part]:
        """Return the same where times cost nothing, but a step whose operations are timed may take many times longer."""
        shortest, longest = PLAIN_PART_NS
        span = max(shortest, min(self._span_ns, longest))
        self._span_ns, step_ns = 2 * span, max(1, self.step_ns)
        timed = min(span // (SHARE * max(step_ns, self.timed_ns)), LONGEST_SAMPLE)
        return [Part("ops", max(1, timed)), Part("steps", max(1, span // step_ns))]


def scheduled(
    steps: int, samples: bool = True, schedule: StepSampler | None = None
) -> Iterator[tuple[Variant, int, int]]:
    """Iterate over (variant, first step, end) for a run of at most ``steps`` steps, moving ``schedule`` on.

    ``samples`` says whether operations are timed in a sample of the steps, else they are in all.

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
    """Iterate over parts in which every operation is timed, with a few plain steps between them where that is allowed."""
    first = 0
    while first < steps:
        end = min(first + PERIOD, steps)
        yield "ops", first, end
        first = end
        if control and first + 2 * BLOCK < steps:
            yield "plain", first, first + BLOCK
            yield "steps", first + BLOCK, first + 2 * BLOCK
            first += 2 * BLOCK
