"""GARCH fitted with the gradient of a loop: value, gradient and fit against NumPy alone, on every tier."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from scanviz import Mode
from tests.programs.garch import Garch, fit, simulated, value_and_gradient

TRUE = Garch(0.05, 0.1, 0.15, 0.75)
START = np.array([0.0, -1.0, 1.0, -1.0])
TIERS = [
    pytest.param("numpy", id="numpy"),
    pytest.param(Mode("reference", "all"), id="reference"),
    pytest.param(Mode("reference", "none"), id="reference without rewrites"),
    pytest.param(Mode("numpy", "none"), id="numpy without rewrites"),
    pytest.param("cupy", marks=pytest.mark.gpu, id="cupy"),
]


def plain_cost(free, returns):
    """Return the expected cost, with NumPy and a Python loop."""
    mu, omega = free[0], np.exp(free[1])
    lasting, share = 1 / (1 + np.exp(-free[2])), 1 / (1 + np.exp(-free[3]))
    h, total = np.var(returns), 0.0
    for k, r in enumerate(returns):
        if k:
            h = omega + lasting * share * (returns[k - 1] - mu) ** 2 + lasting * (1 - share) * h
        total += 0.5 * (np.log(2 * np.pi * h) + (r - mu) ** 2 / h)
    return total / len(returns)


@pytest.mark.parametrize("mode", TIERS)
def test_the_cost_and_its_gradient_are_those_of_a_plain_loop(mode):
    returns = simulated(60, TRUE, seed=3)
    compiled = value_and_gradient(mode)
    for free in (START, np.array([0.1, -3.0, 2.0, 0.5]), np.array([-0.2, 1.0, -2.0, 3.0])):
        value, gradient = compiled(free, returns)
        np.testing.assert_allclose(value, plain_cost(free, returns), rtol=1e-12)
        by_differences = approx_fprime(free, plain_cost, 1e-7, returns)
        np.testing.assert_allclose(gradient, by_differences, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", TIERS)
def test_the_fit_agrees_with_plain_numpy(mode):
    returns = simulated(300, TRUE, seed=1)
    found = fit(returns, START, mode)
    alone = minimize(plain_cost, START, (returns,), method="BFGS")
    assert found.success, found.message
    assert found.fun <= alone.fun + 1e-9
    np.testing.assert_allclose(found.x, alone.x, rtol=2e-2, atol=2e-2)
    assert np.abs(found.jac).max() < 1e-6
    assert found.nfev * 3 < alone.nfev, "a gradient saves the calls that differences need"
