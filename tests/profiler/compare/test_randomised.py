"""Intervals by exchanging runs: how often they find what is not there, and what is."""

from __future__ import annotations

import numpy as np
import pytest

from scanviz.profiler.compare.randomised import between_rounds, between_series, drift

FIGURES = 6


def rounds_of(random: np.random.Generator, count: int, effect: float = 0.0) -> np.ndarray:
    """Differences between two programs: some noise for all figures of a round, some for each, some rounds far off."""
    values = random.normal(0, 0.04, (FIGURES, count)) + random.normal(0, 0.03, count)
    values += (random.random((FIGURES, count)) < 0.05) * random.normal(0, 1, (FIGURES, count))
    values[0] += effect
    return values


@pytest.mark.parametrize("count", [3, 6, 8, 12])
def test_rounds_of_one_program_differ_in_at_most_the_stated_share(count: int) -> None:
    random = np.random.default_rng(count)
    wrong = sum(
        any(not one.low <= 0 <= one.high for one in between_rounds(rounds_of(random, count), 0.05))
        for _ in range(100)
    )
    assert wrong <= 12  # of 5 expected


@pytest.mark.parametrize("count", [3, 5, 8])
def test_series_of_one_program_differ_in_at_most_the_stated_share(count: int) -> None:
    random = np.random.default_rng(count)
    wrong = 0
    for _ in range(60):
        a, b = (rounds_of(random, count) for _ in range(2))
        wrong += any(not one.low <= 0 <= one.high for one in between_series(a, b, 0.05))
    assert wrong <= 9  # of 3 expected


def test_what_became_slower_is_found_though_some_rounds_met_something_else() -> None:
    random = np.random.default_rng(0)
    found = [between_rounds(rounds_of(random, 12, 0.2), 0.05) for _ in range(40)]
    assert sum(bounds[0].low > 0 for bounds in found) >= 32
    assert abs(np.median([bounds[0].middle for bounds in found]) - 0.2) < 0.02


def test_a_machine_that_drifts_from_round_to_round_makes_no_difference() -> None:
    random = np.random.default_rng(1)
    load = np.cumsum(np.abs(random.normal(0, 0.2, 10)))  # times double again and again
    a, b = (load + random.normal(0, 0.01, 10) for _ in range(2))
    [bounds] = between_rounds([b - a], 0.05)
    assert -0.05 < bounds.low <= 0 <= bounds.high < 0.05


def test_turning_two_programs_round_turns_their_bounds_round() -> None:
    random = np.random.default_rng(2)
    a, b = rounds_of(random, 6), rounds_of(random, 6, 0.3)
    for there, back in (
        (between_rounds(b - a, 0.05), between_rounds(a - b, 0.05)),
        (between_series(a, b, 0.05), between_series(b, a, 0.05)),
    ):
        for one, other in zip(there, back, strict=True):
            assert one == pytest.approx((-other.middle, -other.high, -other.low), abs=1e-6)


def test_more_exchanges_than_can_be_looked_at_are_drawn_the_same_each_time() -> None:
    values = rounds_of(np.random.default_rng(3), 20, 0.1)
    assert between_rounds(values, 0.05) == between_rounds(values, 0.05)
    assert between_series(values, values + 0.3, 0.05) == between_series(values, values + 0.3, 0.05)


def test_the_drift_of_a_series_is_that_of_its_halves() -> None:
    assert drift([0.0, 0.0, 5.0, 1.0, 1.0]) == 1.0
    assert drift([]) == 0.0
