"""What the page's player is told of rows: what they hold, and the same as the terminal's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tui.test_heat import STEPS, run, traced

from scanviz.record.loops import LoopVariableRecord
from scanviz.record.traces import TraceRecord
from scanviz.render.page.rows import spans_of
from scanviz.tui.heat import rows_held


@settings(max_examples=60)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
    st.sets(st.integers(0, STEPS - 1), min_size=1).map(sorted),
)
def test_a_row_holds_what_its_span_says_and_the_terminal_says_the_same(reads, writes, steps):
    variable = LoopVariableRecord("mitmot", "g", reads=tuple(reads), writes=tuple(writes))
    before = max(0, -min(*reads, *writes))
    held, seen = run(reads, writes, before, steps)
    inputs = traced("input", reads, [read for read, _ in seen])
    outputs = traced("output", writes, [written for _, written in seen])
    trace = TraceRecord(1, 0, STEPS, tuple(steps), variables=(*inputs, *outputs))
    spans = spans_of(trace, variable, 0)
    for step in range(STEPS):
        told = {row: mean for row, first, end, mean in spans if first <= step and (end is None or step < end)}
        assert told == {row: held[step + 1][row] for row in told}
        assert told == rows_held([trace], variable, 0, step)


def test_a_row_with_a_nan_says_so():
    variable = LoopVariableRecord("sequence", "x")
    trace = TraceRecord(1, 0, 1, (0,), variables=tuple(traced("input", [None], [[1.0]])))
    trace.variables[0].statistics[0, 3] = 1
    [(row, first, end, mean)] = spans_of(trace, variable, 0)
    assert (row, first, end) == (0, 0, None) and np.isnan(mean)
