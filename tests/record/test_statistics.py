"""Histograms: exact where they promise it, close where they do not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.record.statistics import LONGEST, Histogram

DURATIONS = st.lists(st.integers(0, 10**15), min_size=1, max_size=60)


def filled(times: list[int]) -> Histogram:
    histogram = Histogram()
    histogram.add(np.array(times, np.int64))
    return histogram


@given(times=DURATIONS, share=st.floats(0.001, 1))
def test_a_percentile_is_right_to_one_percent(times: list[int], share: float) -> None:
    exact = sorted(times)[max(1, math.ceil(share * len(times))) - 1]
    assert filled(times).percentile(share) == pytest.approx(
        exact, rel=0.01, abs=1
    )  # 0 shares the bucket of 1


@given(times=DURATIONS)
def test_count_total_least_and_largest_are_exact(times: list[int]) -> None:
    record = filled(times).record()
    assert (record.count, record.total_ns) == (len(times), sum(times))
    assert (record.min_ns, record.max_ns) == (min(times), max(times))
    assert record.min_ns <= record.p50_ns <= record.p95_ns <= record.p99_ns <= record.max_ns


@given(first=DURATIONS, second=DURATIONS)
def test_merging_is_the_same_as_counting_together(first: list[int], second: list[int]) -> None:
    merged = filled(first)
    merged.merge(filled(second))
    merged.merge(Histogram())
    assert merged.record() == filled([*first, *second]).record()


def test_statistics_without_durations_are_zeros() -> None:
    histogram = Histogram()
    histogram.add(np.zeros(0, np.int64))
    assert histogram.record().count == 0
    assert histogram.percentile(0.5) == 0


def test_a_clock_that_goes_back_counts_as_nothing() -> None:
    assert filled([-5, 10]).record().min_ns == 0
    assert filled([-5, 10]).record().total_ns == 10


def test_totals_beyond_64_bits_are_exact() -> None:
    assert filled([LONGEST] * 4).total == 4 * LONGEST


@given(times=st.lists(st.integers(0, LONGEST), max_size=60))
def test_a_histogram_takes_at_most_40_kilobytes(times: list[int]) -> None:
    assert filled(times)._counts.nbytes <= 40_000


def test_the_histogram_of_a_usual_loop_takes_less_than_10_kilobytes() -> None:
    assert filled([100, 2_000, 10_000_000])._counts.nbytes < 10_000
