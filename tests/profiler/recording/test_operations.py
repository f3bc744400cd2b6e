"""Times of operations outside of loops: averages of all calls that were timed, medians of the last ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scanviz.profiler.recording.operations import RECENT_CALLS, OperationTally
from scanviz.record.model import OperationRecord

THREE = tuple(OperationRecord(k, "exp(x)", "operation", "float64[]", None) for k in range(3))
TIMES = st.lists(st.integers(0, 10**7), min_size=3, max_size=3)


@given(st.lists(st.lists(TIMES, min_size=1, max_size=4), max_size=5))
def test_averages_and_medians_are_those_of_all_calls_whatever_tables_they_come_in(
    tables: list[list[list[int]]],
) -> None:
    tally = OperationTally(3)
    for table in tables:
        tally.add_table(np.array(table, np.int64))
    calls = np.array([row for table in tables for row in table], np.int64).reshape(-1, 3)
    for k, operation in enumerate(tally.records(THREE)):
        assert operation.samples == len(calls)
        assert operation.mean_ns == (calls[:, k].mean() if len(calls) else None)
        assert operation.typical_ns == (np.median(calls[:, k]) if len(calls) else 0.0)


def test_a_preemption_moves_the_average_and_not_the_median_and_old_calls_are_forgotten() -> None:
    tally = OperationTally(3)
    tally.add_table(np.full((1000, 3), 900, np.int64))
    usual = np.full((RECENT_CALLS, 3), 100, np.int64)
    usual[7] = 8_000_000
    tally.add_table(usual)
    (first, *_) = tally.records(THREE)
    assert first.typical_ns == 100.0 and first.mean_ns > 6000.0 and first.samples == 1000 + RECENT_CALLS


def test_operations_that_are_told_one_by_one_take_typically_their_average_and_none_at_all_is_no_error() -> (
    None
):
    tally = OperationTally(3)
    tally.add_one(1, 500)
    tally.add_one(1, 700)
    told = tally.records(THREE)
    assert [operation.typical_ns for operation in told] == [0.0, 600.0, 0.0]
    assert [operation.mean_ns for operation in told] == [None, 600.0, None]
    none = OperationTally(0)
    none.add_table(np.zeros((4, 0), np.int64))
    assert none.records(()) == ()
