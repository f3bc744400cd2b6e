"""The sample of steps: which steps are kept, and that they are few."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scanviz.record.traces.sample import FIRST, LAST, SLOWEST, SPREAD, StepSample

CHUNKS = st.lists(st.lists(st.integers(0, 10**9), max_size=400), max_size=12)


def sampled(chunks: list[list[int]]) -> StepSample:
    """Feed chunks of times as the steps of one run."""
    sample, first = StepSample(), 0
    for chunk in chunks:
        steps = np.arange(first, first + len(chunk))
        sample.add(np.zeros(len(chunk), np.int64), steps, np.array(chunk, np.int64))
        first += len(chunk)
    return sample


@given(chunks=CHUNKS)
def test_the_first_the_last_and_the_slowest_are_kept(chunks: list[list[int]]) -> None:
    times = [each for chunk in chunks for each in chunk]
    kept = {step: time for _, step, time, _ in sampled(chunks).rows().tolist()}
    assert all(kept[step] == time for step, time in list(enumerate(times))[:FIRST])
    assert all(kept[step] == time for step, time in list(enumerate(times))[-LAST:])
    slowest = sorted(times, reverse=True)[:SLOWEST]
    assert sorted(kept.values(), reverse=True)[: len(slowest)] == slowest


@given(chunks=CHUNKS)
def test_every_kth_is_kept_wherever_chunks_end(chunks: list[list[int]]) -> None:
    sample = sampled(chunks)
    total = sum(map(len, chunks))
    kept = {step for _, step, _, _ in sample.rows().tolist()}
    assert set(range(0, total, sample.stride)) <= kept
    assert len(range(0, total, sample.stride)) <= SPREAD
    whole = sampled([[each for chunk in chunks for each in chunk]])
    assert sample.rows().tolist() == whole.rows().tolist()


def test_a_million_steps_take_no_more_rows_than_a_thousand() -> None:
    sample = StepSample()
    for first in range(0, 1_000_000, 10_000):
        sample.add(np.zeros(10_000, np.int64), np.arange(first, first + 10_000), np.full(10_000, 500))
    assert sample.seen == 1_000_000
    assert len(sample.rows()) <= FIRST + LAST + SLOWEST + SPREAD
    assert sample.stride == 2048


def test_sampled_rows_are_ordered_and_hold_their_reason() -> None:
    times = np.full(5000, 100)
    times[3000] = 900
    sample = StepSample()
    sample.add(np.ones(5000, np.int64), np.arange(5000), times)
    rows = sample.rows()
    assert rows[0].tolist()[:3] == [1, 0, 100]
    assert [1, 3000, 900, 3] in rows.tolist()
    assert rows[-1].tolist() == [1, 4999, 100, 2]
    assert (np.diff(rows[:, 1]) > 0).all()
    assert set(rows[:, 3].tolist()) == {0, 1, 2, 3}
