"""The cost of a time stamp is measured on demand, once, and no disturbed round changes it."""

import itertools
from collections.abc import Iterator

import pytest

from scanviz.profiler.recording import overhead
from scanviz.profiler.recording.overhead import stamp_cost
from scanviz.profiler.recording.recorder import Recorder


@pytest.fixture(autouse=True)
def measured_anew() -> Iterator[None]:
    stamp_cost.cache_clear()
    yield
    stamp_cost.cache_clear()


def test_a_stamp_costs_at_most_a_few_python_calls() -> None:
    assert 1 <= stamp_cost() <= 100_000


def test_observer_overhead_is_measured_once() -> None:
    assert stamp_cost() == stamp_cost()


def test_starting_to_record_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "_timed", lambda work: pytest.fail("it was measured"))
    recorder = Recorder()
    assert recorder.progress() == (0, 0)


def fake_rounds(monkeypatch: pytest.MonkeyPatch, rounds: list[tuple[int, int, int]]) -> None:
    """Let rounds take so long: work with stamps, work without, stamps alone; the last round is repeated."""
    times = itertools.chain(*rounds, itertools.cycle(rounds[-1]))
    monkeypatch.setattr(overhead, "_timed", lambda work: next(times))


def test_disturbed_rounds_do_not_change_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither do those that disturb the work without stamps, nor a processor that becomes slower for some of them."""
    disturbed = [(9_000_000, 24_000, 2_400), (28_200, 9_000_000, 2_400)] * 6
    slower = [(56_400, 48_000, 4_800)] * 2
    fake_rounds(monkeypatch, [*disturbed, *slower, (28_200, 24_000, 2_400)])
    assert stamp_cost() == 4_200 / 40


def test_a_stamp_costs_at_least_its_isolated_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even in disturbed rounds: a price of nothing would charge all profiler overhead to the script."""
    fake_rounds(monkeypatch, [(28_200, 29_000, 2_200), (28_200, 29_000, 2_800)])
    assert stamp_cost() == 2_200 / 40
