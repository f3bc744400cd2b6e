"""Why slow steps are slow, of loops whose slow steps were planted: at a period, in an operation, in memory, off the processor."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from scanviz.engine.observation.events import StepSeries
from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.profiler.recording.overhead import FREE
from scanviz.record.loops import INSIDE, LoopRecord, TierRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.slow_steps import SLOWEST, in_other_code, period_of, slow_in_words
from scanviz.record.traces.sample import StepSample

STEPS = 20_000


def sampled(slow: list[int], runs: int = 1) -> LoopRecord:
    """Return a loop with these slow steps in each run."""
    sample = StepSample()
    times = np.random.default_rng(0).integers(900, 1100, STEPS)
    times[slow] = 50_000
    for run in range(runs):
        sample.add(np.full(STEPS, run), np.arange(STEPS), times)
    return LoopRecord(1, 1, None, "h", None, steps=STEPS * runs, body_ns=1000.0, series=sample.rows())


@pytest.mark.parametrize("period", [2, 7, 100, 1000])
def test_periodically_slow_steps_are_reported_with_their_period(period: int) -> None:
    assert period_of(sampled(list(range(3, STEPS, period)))) == period
    disturbed = [*list(range(3, STEPS, period))[:20], 17, 4711]  # two that something else interrupted
    assert period_of(sampled(disturbed)) == period


def test_slow_steps_at_random_places_have_no_period() -> None:
    random = np.random.default_rng(1)
    for count in (2, 5, 12, 32, 300):
        for _ in range(20):
            assert not period_of(sampled(random.choice(STEPS, count, replace=False).tolist()))


def test_the_operation_that_took_longer_in_slow_steps_is_named() -> None:
    operations = tuple(
        OperationRecord(k, label, "operation", "", None) for k, label in enumerate(("dot(h, U)", "sort(row)"))
    )
    text = LoopAggregate(LoopRecord(1, 1, None, "h", None, operations=operations), FREE)
    text.begin(1, 0, 0)
    loop: Any = SimpleNamespace(key=1)
    for first in range(0, 640, 64):
        times = np.full((2, 64), 500)
        times[1, 40] = 9_000 if first else 500
        whole = times.sum(axis=0) + 100
        text.take(1, StepSeries(loop.key, first, whole, times))
    record = text.snapshot(0)
    assert record.measures["slow_timed_steps"] == 9
    words = slow_in_words(record, 1e5)
    assert words == "sort(row) took 100 % of the excess in the 9 slow steps whose operations were timed"


def test_missing_pages_and_a_lost_processor_are_reasons_and_nothing_is_made_up() -> None:
    def words(**numbers: float) -> str:
        return slow_in_words(LoopRecord(1, 1, None, "h", None, total_ns=9_000_000, measures=numbers), 4e6)

    assert "20,000 page faults" in words(page_faults=20_000.0)
    assert "the loop was off the CPU for 5.00 ms" in words(cpu_ns=4e6)
    assert words(page_faults=30.0, cpu_ns=8.9e6, slow_timed_steps=4.0) == (
        "why is not known: no branch, no period, and no operation stands out"
    )
    assert SLOWEST == 3


def test_steps_of_two_codes_have_no_typical_step_together() -> None:
    operations = (OperationRecord(0, "tanh(h)", "operation", "", None),)
    text = LoopAggregate(LoopRecord(1, 1, None, "h", None, operations=operations), FREE)
    text.detailed = True
    text.begin(1, 0, 0)
    no_times = np.empty(0, np.int64)
    for tier, ns, unobserved in (("numpy", 14_000, 0), ("native", 200, 5_000)):
        for first in range(0, 1280, 64):
            times = np.full((1, 64), ns)
            text.take(1, StepSeries(1, first, times.sum(axis=0) + 10, times, np.full(64, 5), tier=tier))
            text.take(1, StepSeries(1, first, np.full(500 if tier == "numpy" else 20, ns + 10), tier=tier))
            text.take(1, StepSeries(1, first, no_times, steps=unobserved, span_ns=unobserved * ns, tier=tier))
    record = text.snapshot(0)
    assert record.step_times.p50_ns == pytest.approx(
        210, abs=15
    )  # though most of those with a time ran on NumPy
    assert record.operations[0].typical_ns == pytest.approx(200, abs=15)
    assert record.measures["other_code_steps"] == 20 * 564
    assert "11,280 steps ran in other code, 14.0 µs each" in slow_in_words(record, 1e8)


def test_steps_of_counted_runs_belong_to_the_latest_code() -> None:
    operations = (OperationRecord(0, "tanh(h)", "operation", "", None),)
    text = LoopAggregate(LoopRecord(1, 1, None, "h", None, operations=operations), FREE)
    text.detailed = True
    for tier, ns, closely, counted in (("numpy", 14_000, 20, 5), ("native", 200, 4, 900)):
        text.made(tier, "machine code for the shapes met", 0)
        text.begin(1, 0, 0)
        for first in range(0, 64 * closely, 64):
            times = np.full((1, 64), ns)
            text.take(1, StepSeries(1, first, times.sum(axis=0) + 10, times, np.full(64, 5), tier=tier))
            text.take(1, StepSeries(1, first, np.full(64, ns + 10), tier=tier))
        text.end(1, 128 * closely, 128 * closely * ns, 0, False)
        for _ in range(counted):
            text.count((1, 1, 100, 100, 0, 100 * ns, ""))
    record = text.snapshot(0)
    assert record.step_times.p50_ns == pytest.approx(210, abs=15)  # though fewer of those with a time
    assert record.measures["other_code_steps"] == 20 * 128 + 5 * 100


def test_later_numpy_steps_of_other_shapes_do_not_precede_machine_code() -> None:
    tiers = tuple(
        TierRecord(tier, why, 1, 0) for tier, why in (("numpy", "a"), ("native", "b"), ("numpy", "c"))
    )
    loop = LoopRecord(
        1, 1, None, "h", None, measures={"other_code_steps": 4e4, "other_code_ns": 14_500.0}, tiers=tiers
    )
    assert in_other_code(loop) == "about 40,000 steps ran in other code, 14.5 µs each"
    assert "before there was machine code, 14" in in_other_code(replace(loop, tiers=tiers[:2]))
    inside = (tiers[0], replace(tiers[1], why=INSIDE))
    assert "before there was machine code, or when they were looked at" in in_other_code(
        replace(loop, tiers=inside)
    )


def test_steps_in_other_code_are_a_cause_only_if_they_are_most_of_the_slow_time() -> None:
    numbers = {"other_code_steps": 80.0, "other_code_ns": 40_000.0}
    loop = LoopRecord(1, 1, None, "h", None, total_ns=9_000_000, measures=numbers)
    assert slow_in_words(loop, 4e6) == "80 steps ran in other code, 40.0 µs each"
    assert slow_in_words(loop, 9e6).startswith("why is not known")
