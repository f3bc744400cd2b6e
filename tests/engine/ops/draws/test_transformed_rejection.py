"""Probabilities of counts as deviances, against SciPy's, from 0 to counts beyond 2**50."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from scanviz.engine.ops.draws.counts import (
    _deviance,
    _log_factorial_rest,
    rejected_binomial,
    rejected_poisson,
)
from scanviz.engine.ops.draws.philox import seed_state


def test_the_rest_of_the_log_factorial_agrees_with_gammaln():
    k = np.arange(0.0, 400.0)
    expected = special.gammaln(k + 1) - special.xlogy(k, k) + k
    np.testing.assert_allclose(_log_factorial_rest(k), expected, atol=3e-12)


@given(k=st.integers(0, 10**6), mean=st.floats(1e-3, 1e6))
def test_the_deviance_agrees_with_its_formula(k, mean):
    expected = special.xlogy(float(k), k / mean) + mean - k
    got = _deviance(np.array([float(k)]), np.array([mean]))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * (k + mean))


def test_the_deviance_keeps_its_digits_where_its_formula_cancels():
    mean = np.array([1e15])
    for away in (1.0, 1e5, 1e7):
        relative = away / 1e15
        series = 1e15 * relative**2 * (1 / 2 - relative / 6)
        np.testing.assert_allclose(_deviance(mean + away, mean), series, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mean", [10.0, 1e4, 1e15])
def test_moments_of_large_counts_are_right(mean):
    elements, means = np.arange(40_000), np.full(40_000, mean)
    value = rejected_poisson(seed_state(6), elements, means)
    assert value.mean() == pytest.approx(mean, abs=4 * np.sqrt(mean / 40_000))
    assert value.var() == pytest.approx(mean, rel=0.04)
    n = np.floor(4 * means)
    value = rejected_binomial(seed_state(7), elements, n, np.full(40_000, 0.25))
    assert value.mean() == pytest.approx(mean, abs=4 * np.sqrt(0.75 * mean / 40_000))
    assert value.var() == pytest.approx(0.75 * mean, rel=0.04)
