"""What a time stamp costs is measured when it is asked for, once, and no disturbed round changes it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scanviz.engine.observe import Observer, observed_by
from scanviz.profiler.recording import overhead
from scanviz.profiler.recording.alone_cost import alone_cost
from scanviz.profiler.recording.overhead import MeasuredOverhead, call_cost, stamp_cost
from scanviz.profiler.recording.recorder import Recorder


@pytest.fixture(autouse=True)
def measured_anew() -> Iterator[None]:
    stamp_cost.cache_clear()
    yield
    stamp_cost.cache_clear()


def test_the_price_of_a_stamp_is_that_of_some_python_calls_at_most_on_any_machine() -> None:
    assert 1 <= MeasuredOverhead().stamp_ns <= 100_000


def test_entering_and_leaving_a_call_takes_what_python_calls_take() -> None:
    assert 1 <= MeasuredOverhead().call_ns == call_cost() <= 100_000


def test_it_is_measured_once() -> None:
    assert MeasuredOverhead().stamp_ns == stamp_cost() == MeasuredOverhead().stamp_ns


def test_starting_to_record_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "_timed", lambda work: pytest.fail("it was measured"))
    recorder = Recorder()
    assert recorder.progress() == (0, 0)


def test_disturbed_rounds_do_not_change_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither do those that disturb the work without stamps: a median of differences was 0 beside a busy process."""
    quiet = [(141_000, 120_000)] * 5
    disturbed = [(9_000_000, 120_000), (141_000, 9_000_000), (150_000, 180_000)] * 3
    times = iter([time for pair in (*disturbed, *quiet) for time in pair])
    monkeypatch.setattr(overhead, "_timed", lambda work: next(times))
    assert stamp_cost() == 21_000 / 200


def test_what_a_call_takes_more_that_is_passed_over_is_measured_where_nobody_else_is_told_of_it():
    with observed_by(Observer()):
        assert alone_cost() == 0
    assert 0 <= alone_cost() == MeasuredOverhead().alone_ns <= 2_000_000
