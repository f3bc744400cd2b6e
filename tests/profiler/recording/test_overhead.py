"""What recording costs is measured, small, and close to what it says."""

from __future__ import annotations

import pytest

from scanviz.engine.observe import Observer, observed_by
from scanviz.profiler.recording import overhead
from scanviz.profiler.recording.overhead import FREE, chunk_cost, measured_overhead, stamp_cost, telling_cost


def test_prices_are_of_the_size_of_a_python_call() -> None:
    price = measured_overhead()
    assert 1 <= price.stamp_ns <= 5_000
    assert 1 <= price.telling_ns <= 5_000
    assert 100 <= price.chunk_ns <= 500_000


def test_prices_are_measured_once() -> None:
    assert (stamp_cost(), telling_cost(), chunk_cost()) == tuple(measured_overhead())


def test_one_disturbed_round_does_not_change_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = iter([100, 110, 9_000_000, 105, 90, 100, 120])
    times = (each for end in ends for each in (0, end))
    monkeypatch.setattr(overhead, "perf_counter_ns", lambda: next(times))
    assert overhead._typical(lambda: None) == 105


def test_measuring_prices_is_seen_by_no_observer() -> None:
    class Counting(Observer):
        events = 0

        def compiled(self, event: object) -> None:
            self.events += 1

        def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
            self.events += 1

    chunk_cost.cache_clear()
    with observed_by(Counting()) as counting:
        assert chunk_cost() > FREE.chunk_ns
    assert counting.events == 0
