"""Laws of slow steps: their period, and the frequency of a branch's side."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.observation.events import BranchTaken, SideTaken
from scanviz.profiler.recording.sides import FEWEST, REGULAR, period
from scanviz.record.loops import LoopRecord
from scanviz.record.summary.slow_steps import FEWEST as FEWEST_SLOW
from scanviz.record.summary.slow_steps import SLOWEST, period_of
from tests.laws.law import law

_PLACES = st.sets(st.integers(0, 60), max_size=12)
_RUNS = st.lists(_PLACES, min_size=1, max_size=12) | st.builds(
    lambda places, runs: [places] * runs, _PLACES, st.integers(1, 12)
)
_RHYTHM = st.builds(
    lambda period, first, steps: [step % period == first % period for step in range(steps)],
    st.integers(1, 9), st.integers(0, 8), st.integers(0, 60),
)  # fmt: skip
_SIDES = st.lists(st.lists(st.booleans(), max_size=40) | _RHYTHM, min_size=1, max_size=6) | st.builds(
    lambda taken, calls: [taken] * calls, st.lists(st.booleans(), max_size=30) | _RHYTHM, st.integers(1, 6)
)


@law(sample=60, runs=_RUNS)
def a_period_of_slow_steps_needs_different_steps(runs: list[set[int]]) -> None:
    """A step that is slow in every run, such as the first, counts as one place, not as a period."""
    rows = [[run, step, 50_000, SLOWEST] for run, places in enumerate(runs) for step in sorted(places)]
    series = np.array(rows, np.int64).reshape(-1, 4)
    loop = LoopRecord(1, 1, None, "h", None, steps=61 * len(runs), body_ns=1000.0, series=series)
    period = period_of(loop)
    if period:
        different = Counter(step % period for step in set().union(*runs))
        assert max(different.values()) >= FEWEST_SLOW, (period, different)


@law(sample=60, calls=_SIDES)
def a_side_has_a_period_if_taken_regularly(calls: list[list[bool]]) -> None:
    """A side's period times its count is about all steps, and most occurrences are one period apart."""
    tally = SideTaken(None, 0)  # type: ignore[arg-type]  # no branch is read
    for flags in calls:
        branch = BranchTaken(None)  # type: ignore[arg-type]
        for flag in flags:
            branch.take(0 if flag else 1)
        tally.merge(branch.sides[0])
    steps, taken = sum(map(len, calls)), sum(map(sum, calls))
    apart = Counter(
        b - a for flags in calls for a, b in pairwise([k for k, flag in enumerate(flags) if flag])
    )
    found = period(tally, steps)
    if found:
        assert REGULAR * steps <= found * taken <= steps / REGULAR
        assert apart[found] >= REGULAR * apart.total() >= REGULAR * FEWEST
    elif apart.total() >= FEWEST and len(apart) == 1:
        (only,) = apart
        assert not REGULAR * steps <= only * taken <= steps / REGULAR
