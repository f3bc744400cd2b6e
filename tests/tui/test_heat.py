"""What a ruler tells of rows that it does not see: never a number that the row does not hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scanviz.record.loops import LoopVariableRecord
from scanviz.record.traces import TracedVariableRecord, TraceRecord
from scanviz.tui.heat import rows_held

STEPS = 6


def run(reads, writes, before, steps):
    """Run a loop that adds to rows; return what rows hold before and after each step, and what each step read and wrote."""
    rows = [float(k) for k in range(before + STEPS + max(*reads, *writes) + 1)]
    held, seen = [list(rows)], []
    for step in range(STEPS):
        read = [rows[step + tap + before] for tap in reads]
        for tap in writes:
            rows[step + tap + before] += 100 + sum(read)
        held.append(list(rows))
        seen.append((read, [rows[step + tap + before] for tap in writes]))
    return held, [seen[step] for step in steps]


def traced(role, taps, values):
    return [
        TracedVariableRecord(
            f"{role}{k}", role, 0, tap, statistics=np.array([[0, 0, step[k], 0, 0] for step in values])
        )
        for k, tap in enumerate(taps)
    ]


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
    st.sets(st.integers(0, STEPS - 1), min_size=1).map(sorted),
)
def test_a_row_holds_what_is_told_of_it_also_where_steps_are_missing(reads, writes, steps):
    variable = LoopVariableRecord("mitmot", "g", reads=tuple(reads), writes=tuple(writes))
    before = max(0, -min(*reads, *writes))
    held, seen = run(reads, writes, before, steps)
    variables = traced("input", reads, [read for read, _ in seen]) + traced(
        "output", writes, [w for _, w in seen]
    )
    trace = TraceRecord(1, 0, STEPS, tuple(steps), variables=tuple(variables))
    for step in range(-1, STEPS):
        told = rows_held([trace], variable, 0, step)
        assert told == {row: held[step + 1][row] for row in told}
        if step in steps:
            assert {step + tap + before for tap in writes} <= told.keys()
        if step + 1 in steps:
            assert {step + 1 + tap + before for tap in reads} <= told.keys()
