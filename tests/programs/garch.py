"""A GARCH(1, 1) model of returns: its likelihood as a loop, and a fit by SciPy with the gradient of the loop.

The variance of tomorrow's return follows from today's: ``h[t] = omega + alpha * e[t-1]**2 + beta * h[t-1]``, with
``e[t] = r[t] - mu`` and ``r[t]`` normal with variance ``h[t]``.  Parameters are fitted without bounds: ``omega`` is an exponential,
``alpha + beta`` and the part that ``alpha`` has of it are sigmoids.

Source: T. Bollerslev, "Generalized autoregressive conditional heteroskedasticity", Journal of Econometrics 31 (1986).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

import scanviz
from scanviz import tensor as T


class Garch(NamedTuple):
    """Mean of returns, and the terms of the variance."""

    mu: object
    omega: object
    alpha: object
    beta: object


def model(free):
    """Return the parameters that four free numbers stand for."""
    lasting, share = T.sigmoid(free[2]), T.sigmoid(free[3])
    return Garch(free[0], T.exp(free[1]), lasting * share, lasting * (1 - share))


def variances(returns, garch, start):
    """Return the variance of each return from the previous ones."""

    def step(r_before, h_before, mu, omega, alpha, beta):
        return omega + alpha * (r_before - mu) ** 2 + beta * h_before

    rest, _ = scanviz.scan(step, returns[:-1], start, list(garch), name="garch")
    return T.concatenate([T.stack([start]), rest])


def minus_log_likelihood(free, returns):
    """Return the mean over returns of minus the logarithm of their density."""
    garch = model(free)
    h = variances(returns, garch, T.var(returns))
    return T.mean(0.5 * (T.log(2 * np.pi * h) + (returns - garch.mu) ** 2 / h))


def value_and_gradient(mode=None):
    """Return a compiled function of free parameters and returns: the cost and its gradient."""
    free, returns = T.vector("free"), T.vector("returns")
    cost = minus_log_likelihood(free, returns)
    return scanviz.function([free, returns], [cost, scanviz.grad(cost, free)], mode=mode, name="garch_cost")


def fit(returns, start, mode=None):
    """Return SciPy's result for the free parameters that fit returns best."""
    compiled = value_and_gradient(mode)

    def cost(free):
        value, gradient = compiled(free, returns)
        return float(value), gradient

    return minimize(cost, start, jac=True, method="BFGS", options={"gtol": 1e-7})


def simulated(count, garch, seed):
    """Return returns of a known model."""
    rng = np.random.default_rng(seed)
    h, found = garch.omega / (1 - garch.alpha - garch.beta), []
    for _ in range(count):
        shock = np.sqrt(h) * rng.standard_normal()
        found.append(garch.mu + shock)
        h = garch.omega + garch.alpha * shock**2 + garch.beta * h
    return np.array(found)
