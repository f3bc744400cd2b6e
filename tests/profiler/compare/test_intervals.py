"""Intervals of several runs: rates of false and of true findings."""

import numpy as np
import pytest

from scanviz.profiler.compare.intervals import between_rounds, between_series, drift


def values_of(random: np.random.Generator, count: int, effect: float = 0.0) -> list[float]:
    """Differences between two programs: noise of each round, some rounds far off."""
    values = random.normal(effect, 0.05, count)
    return (values + (random.random(count) < 0.05) * random.normal(0, 1, count)).tolist()


@pytest.mark.parametrize("count", [3, 6, 8, 12])
def test_runs_of_one_program_differ_in_at_most_the_stated_share(count: int) -> None:
    random = np.random.default_rng(count)
    rounds = [between_rounds(values_of(random, count), 0.05) for _ in range(200)]
    series = [between_series(values_of(random, count), values_of(random, count), 0.05) for _ in range(200)]
    for found in (rounds, series):
        assert sum(abs(middle) > error for middle, error in found) <= 20  # of 10 expected


def test_a_slowdown_is_found_despite_disturbed_rounds() -> None:
    random = np.random.default_rng(0)
    found = [between_rounds(values_of(random, 12, 0.2), 0.01) for _ in range(40)]
    assert sum(middle > error for middle, error in found) >= 32
    assert abs(np.median([middle for middle, _ in found]) - 0.2) < 0.02


def test_drift_between_rounds_makes_no_difference() -> None:
    random = np.random.default_rng(1)
    load = np.cumsum(np.abs(random.normal(0, 0.2, 10)))  # times double again and again
    a, b = (load + random.normal(0, 0.01, 10) for _ in range(2))
    middle, error = between_rounds(list(b - a), 0.05)
    assert abs(middle) < error < 0.05


def test_two_programs_in_the_other_order_have_the_opposite_difference() -> None:
    random = np.random.default_rng(2)
    a, b = values_of(random, 6), values_of(random, 6, 0.3)
    middle, error = between_rounds([y - x for x, y in zip(a, b, strict=True)], 0.05)
    assert between_rounds([x - y for x, y in zip(a, b, strict=True)], 0.05) == pytest.approx((-middle, error))
    middle, error = between_series(a, b, 0.05)
    assert between_series(b, a, 0.05) == pytest.approx((-middle, error))


def test_the_drift_of_a_series_is_that_of_its_halves() -> None:
    assert drift([0.0, 0.0, 5.0, 1.0, 1.0]) == 1.0
    assert drift([]) == 0.0
