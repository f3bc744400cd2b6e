"""Laws of rulers: a row of a buffer is shown with its true value, or not at all.

scanviz never ran the loop: a plain list of numbers is read and added to, and a view sees some of the steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from tests.laws.law import law

STEPS = 6


@dataclass(frozen=True, slots=True)
class SeenLoop:
    """A loop that adds to rows of one buffer, and the steps whose values were kept.

    Attributes
    ----------
    reads, writes : tuple of int
        Its taps.
    kept : tuple of int
        The steps.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def variable(self) -> LoopVariableRecord:
        """The buffer."""
        return LoopVariableRecord("mitmot", "g", reads=self.reads, writes=self.writes)

    @property
    def before(self) -> int:
        """How many rows there are before that of step 0."""
        return max(0, -min(*self.reads, *self.writes))

    def rows(self, taps: Sequence[int], step: int) -> list[int]:
        """Return the rows of taps in a step."""
        return [step + tap + self.before for tap in taps]

    def run(self) -> tuple[list[list[float]], list[tuple[list[float], list[float]]]]:
        """Return what all rows hold before the first step and after each, and what each step read and wrote."""
        held = [float(k) for k in range(self.before + STEPS + max(*self.reads, *self.writes) + 1)]
        after, seen = [list(held)], []
        for step in range(STEPS):
            read = [held[row] for row in self.rows(self.reads, step)]
            for row in self.rows(self.writes, step):
                held[row] += 100 + sum(read)
            after.append(list(held))
            seen.append((read, [held[row] for row in self.rows(self.writes, step)]))
        return after, seen


def _taps(lowest: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(lowest, 3), min_size=1, max_size=most, unique=True).map(tuple)


SEEN = st.builds(
    SeenLoop,
    _taps(-3, 3),
    _taps(-3, 3),
    st.sets(st.integers(0, STEPS - 1), min_size=1).map(lambda kept: tuple(sorted(kept))),
)


def traced(role: str, taps: Sequence[int], values: Sequence[Sequence[float]]) -> list[TracedVariableRecord]:
    """Return the record of the rows of taps, from their numbers in each step that was kept."""
    statistics = [np.array([[0, 0, step[k], 0, 0] for step in values]) for k in range(len(taps))]
    return [
        TracedVariableRecord(f"{role}{k}", role, 0, tap, statistics=statistics[k])  # type: ignore[arg-type]
        for k, tap in enumerate(taps)
    ]


def trace_of(seen: SeenLoop) -> TraceRecord:
    """Return the record of the steps that were kept."""
    _, values = seen.run()
    kept = [values[step] for step in seen.kept]
    variables = (
        *traced("input", seen.reads, [read for read, _ in kept]),
        *traced("output", seen.writes, [written for _, written in kept]),
    )
    return TraceRecord(1, 0, STEPS, seen.kept, variables=variables)


@law(sample=40, seen=SEEN)
def a_row_is_shown_with_its_value_or_as_unknown(seen: SeenLoop) -> None:
    """A ruler shows the true value of a row or marks it unknown; rows touched by a kept step are known."""
    from scanviz.render.row_values import rows_held

    after, _ = seen.run()
    trace = trace_of(seen)
    for step in range(-1, STEPS):
        text = {row: value.mean for row, value in rows_held([trace], seen.variable, 0, step).items()}
        assert text == {row: after[step + 1][row] for row in text}, (step, text)
        if step in seen.kept:
            assert set(seen.rows(seen.writes, step)) <= text.keys()
        if step + 1 in seen.kept:
            assert set(seen.rows(seen.reads, step + 1)) <= text.keys()
