"""Times of operations outside of loops: averages of all calls that were timed, medians of the last ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.observation.events import StepSeries
from scanviz.profiler.recording.division import divided
from scanviz.profiler.recording.operations import RECENT_CALLS, OperationTally, StepTally
from scanviz.profiler.recording.steps import StepTimes
from scanviz.record.model import OperationRecord
from scanviz.record.statistics import FINE, Histogram

THREE = tuple(OperationRecord(k, "exp(x)", "operation", "float64[]", None) for k in range(3))
TIMES = st.lists(st.integers(0, 10**7), min_size=3, max_size=3)


@given(st.lists(st.lists(TIMES, min_size=1, max_size=4), max_size=5))
def test_means_and_medians_do_not_depend_on_how_calls_are_gathered(
    tables: list[list[list[int]]],
) -> None:
    tally = OperationTally(3)
    for row in (row for table in tables for row in table):
        tally.add_call(row)
    calls = np.array([row for table in tables for row in table], np.int64).reshape(-1, 3)
    for k, operation in enumerate(tally.records(THREE)):
        assert operation.samples == len(calls)
        assert operation.mean_ns == (calls[:, k].mean() if len(calls) else None)
        assert operation.typical_ns == (np.median(calls[:, k]) if len(calls) else 0.0)


def test_a_preemption_moves_the_mean_and_not_the_median() -> None:
    tally = OperationTally(3)
    for _ in range(1000):
        tally.add_call([900, 900, 900])
    for call in range(RECENT_CALLS):
        tally.add_call([8_000_000 if call == 7 else 100] * 3)
    (first, *_) = tally.records(THREE)
    assert first.typical_ns == 100.0 and first.mean_ns > 6000.0 and first.samples == 1000 + RECENT_CALLS


def test_operations_timed_one_by_one_have_their_mean_as_typical_time() -> None:
    tally = OperationTally(3)
    tally.add_one(1, 500)
    tally.add_one(1, 700)
    text = tally.records(THREE)
    assert [operation.typical_ns for operation in text] == [0.0, 600.0, 0.0]
    assert [operation.mean_ns for operation in text] == [None, 600.0, None]
    none = OperationTally(0)
    none.add_call([])
    assert none.records(()) == ()


def timed_steps(count: int, operation_ns: int, whole_ns: int) -> StepSeries:
    times = np.full(count, whole_ns, np.int64)
    return StepSeries(1, 0, times, np.full((1, count), operation_ns, np.int64), np.full(count, 5, np.int64))


def blocks_of(tally: StepTally, times: list[int], covers: list[int], plain: bool) -> None:
    series = StepSeries(1, 0, np.array(times, np.int64), covers=np.array(covers, np.int64), plain=plain)
    tally.add(series)
    tally.fine_blocks.add(FINE * series.interval_ns // series.covers, series.covers)


def test_the_median_of_plain_blocks_is_the_typical_step() -> None:
    tally = StepTally(1)
    tally.add(timed_steps(40, 900, 1000))  # another code, which takes many times longer
    blocks_of(tally, [50_000, 2560, 2816, 6000, 9000], [2, 1024, 1024, 1024, 100], plain=True)
    tally.add(StepSeries(1, 0, np.array([900]), covers=np.array([64]), control=True))  # of a run passed over
    found = divided(tally, 10.0)
    assert found is not None and found.in_place and found.tick_ns < 0.1
    assert found.typical_ns == 2.75 == sum(found.operations) + found.copies + found.rest
    assert (tally.totals.ns, tally.totals.steps) == (40 * 1000 + 70_376 + 900, 40 + 3174 + 64)


def test_plain_blocks_of_mostly_entering_the_code_are_ignored() -> None:
    tally = StepTally(1)
    tally.add(timed_steps(40, 60, 100))
    for warm, one, rest in ((4000, 4100, 3900), (4000, 4000, 3500), (3000, 4200, 4100)):
        tally.add(StepSeries(1, 0, np.array([warm, one, rest]), covers=np.array([8, 1, 31]), control=True))
    blocks_of(tally, [736] * 30, [32] * 30, plain=False)
    found = divided(tally, 10.0)
    assert found is not None and found.typical_ns == pytest.approx(23, abs=0.2)
    for rest in (42_000, 44_000, 84_000):  # these are long enough
        tally.add(StepSeries(1, 0, np.array([4000, 4000, rest]), covers=np.array([8, 1, 2001]), control=True))
    found = divided(tally, 10.0)
    assert found is not None and found.typical_ns == 20 and found.tick_ns == pytest.approx(3, abs=0.2)


def test_steps_of_less_than_two_nanoseconds_are_not_rounded_to_whole_ones() -> None:
    times = StepTimes(1)
    times.take(timed_steps(40, 60, 100))
    series = StepSeries(1, 0, np.full(30, 819, np.int64), covers=np.full(30, 512, np.int64))
    times.take(series, run=0)
    times.count_gathered()
    (tally,) = times.tiers.values()
    found = divided(tally, 10.0)
    assert found is not None and found.typical_ns == pytest.approx(1.6, rel=0.01), (
        "two of them are a quarter more"
    )
    text = times.record(found, "", Histogram())
    assert text.p50_ns == 2 and text.count == 30 * 512
    assert text.total_ns == pytest.approx(30 * 819, rel=0.01), "the whole is that of the blocks"


def test_expensive_stamps_do_not_hide_the_time_of_an_inner_loop() -> None:
    tally = StepTally(24)
    operations = np.full((24, 80), 18, np.int64)
    operations[4] += 180  # the loop, counted by its code and unrecorded
    copies = np.full(80, 18, np.int64)
    tally.add(StepSeries(1, 0, operations.sum(axis=0) + copies + 18, operations, copies))
    for _ in range(4):  # plain blocks: 190 ns a step, nearly all of it the loop
        tally.add(StepSeries(1, 0, np.array([190 * 1000]), covers=np.array([1000]), control=True))
    found = divided(tally, 4.0)
    assert found is not None and found.typical_ns == 190
    assert found.operations[4] > 0.6 * 190


def test_many_very_short_operations_share_the_time_of_their_step() -> None:
    tally, stamp, count = StepTally(60), 12, 60
    operations = np.full((count, 40), stamp, np.int64)
    operations[::3] += 1  # a third of a nanosecond each, below any clock's resolution
    copies = np.full(40, stamp, np.int64)
    tally.add(StepSeries(1, 0, operations.sum(axis=0) + copies + stamp, operations, copies))
    tally.single.add(np.full(40, 22, np.int64))  # two of them for the stamp of the step
    found = divided(tally, 4.0)
    assert found is not None and found.typical_ns == 20
    assert found.copies + found.rest < 2 and sum(found.operations) > 18


def test_shares_of_fused_operations_are_not_rounded_to_nanoseconds() -> None:
    count, stamp = 40, 10  # operations that take 20 ns together
    tally, shares = StepTally(count), [1 / count] * count
    operations = np.full((count, 40), (20 + stamp) / count)
    copies = np.full(40, stamp, np.int64)
    tally.add(StepSeries(1, 0, np.full(40, 20 + 3 * stamp), operations, copies, op_stamps=shares))
    tally.single.add(np.full(40, 25, np.int64))  # five of them for the stamp of the step
    found = divided(tally, float(stamp))
    assert found is not None and found.operations == pytest.approx([0.5] * count, rel=0.05)


def test_an_operation_without_a_stamp_takes_no_time() -> None:
    count, stamp = 4, 10  # operations that take 1 ns together, and a size, which holds no stamp
    tally, shares = StepTally(count + 1), [*[1 / count] * count, 0.0]
    operations = np.zeros((count + 1, 40))
    operations[:count] = (1 + stamp) / count
    copies = np.full(40, 1 + stamp, np.int64)
    whole = np.full(40, 3 + 3 * stamp, np.int64)
    tally.add(StepSeries(1, 0, whole, operations, copies, op_stamps=shares))
    tally.single.add(np.full(40, 8, np.int64))  # five of them for the stamp of the step
    found = divided(tally, float(stamp))
    assert found is not None and found.typical_ns == 3
    *done, size = found.operations
    assert size == 0.0 and min(done) > 0.0


def test_fused_operations_share_one_stamp_in_proportion_to_their_times() -> None:
    tally = StepTally(3)
    stamp, group = 60, np.array([[8], [80], [12]], np.int64)  # of the operations; copies take 5, the rest 15
    shares = [0.08, 0.8, 0.12]
    operations = np.rint(group + stamp * np.array(shares)[:, None]).astype(np.int64).repeat(40, axis=1)
    copies = np.full(40, 5 + stamp, np.int64)
    whole = operations.sum(axis=0) + copies + 15 + stamp
    tally.add(StepSeries(1, 0, whole, operations, copies, op_stamps=shares))
    tally.single.add(np.full(40, 120, np.int64))
    found = divided(tally, float(stamp))
    assert found is not None and sum(found.operations) + found.copies + found.rest == found.typical_ns
    assert found.stamp_ns == pytest.approx(stamp, rel=0.25)
    small, large, middle = found.operations
    assert large / small == pytest.approx(10, rel=0.1) and middle / small == pytest.approx(1.5, rel=0.1)


def test_a_plain_block_with_a_disturbed_first_step_is_ignored() -> None:
    tally = StepTally(1)
    for times in ([900, 200, 3_300], [900, 9_000_000, 3_300], [900, 200, 3_100]):
        covers = np.array([8, 1, 31], np.int64)
        tally.add(StepSeries(1, 0, np.array(times, np.int64), covers=covers, control=True))
    assert list(tally.plain) == [(3_100 / 30, 30), (2_900 / 30, 30)]
