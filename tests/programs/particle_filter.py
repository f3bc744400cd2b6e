"""A bootstrap particle filter for a nonlinear growth model, with systematic resampling where the weights have become uneven.

    x[t] = x[t-1] / 2 + 25 x[t-1] / (1 + x[t-1]**2) + 8 cos(1.2 t) + sqrt(10) noise,    y[t] = x[t]**2 / 20 + noise

Everything random comes from uniform numbers of one counter-based state, drawn in the step: those of the particles' noise, which
Box and Muller's formula makes normal, and one for resampling.  The first particles are drawn before the loop.

Source: N. Gordon, D. Salmond, A. Smith, "Novel approach to nonlinear/non-Gaussian Bayesian state estimation", IEE
Proceedings F 140 (1993).
"""

import numpy as np

import scanviz
from scanviz import tensor as T


def normals(uniforms):
    """Return normal numbers, as many as there are pairs of uniform ones."""
    radius, angle = T.sqrt(-2 * T.log(1 - uniforms[0])), 2 * np.pi * uniforms[1]
    return radius * T.cos(angle)


def moved(x, t, noise):
    """Return particles one step later."""
    return x / 2 + 25 * x / (1 + x**2) + 8 * T.cos(1.2 * t) + np.sqrt(10) * noise


def ancestors(weights, uniform, count):
    """Return which particles go on: places of a comb that is shifted at random, in the sums of weights."""
    teeth = (T.arange(count) + uniform) / count
    places = T.sum(T.cumsum(weights)[None, :] < teeth[:, None], axis=1)
    return T.minimum(places, count - 1)


def particle_filter(seed, count):
    """Return a function of observations: log-likelihood, estimates, numbers of equal weights, ancestors."""
    observed = T.vector("observed")
    state = T.random.random_state(seed, "state")
    begun, first = T.random.uniform(state, size=(2, count))

    def step(y, t, before, log_before, words):
        words, uniforms = T.random.uniform(words, size=(2, count))
        words, shift = T.random.uniform(words, size=())
        x = moved(before, t, normals(uniforms))
        log_weights = log_before - 0.5 * (y - x**2 / 20) ** 2 - 0.5 * np.log(2 * np.pi)
        step_likelihood = T.logsumexp(log_weights)
        log_weights = log_weights - step_likelihood
        weights = T.exp(log_weights)
        equal = 1 / T.sum(weights**2)
        uneven = equal < count / 2
        chosen = T.ifelse(uneven, ancestors(weights, shift, count), T.arange(count))
        log_after = T.where(uneven, -np.log(count), log_weights)
        return [x[chosen], log_after, words, step_likelihood, T.sum(weights * x), equal, chosen]

    results, _ = scanviz.scan(
        step,
        [observed, T.arange(1, observed.shape[0] + 1)],
        [2 * normals(first), T.full((count,), -np.log(count)), begun, None, None, None, None],
        name="filter",
    )
    words, likelihoods, means, equal, chosen = results[2:]
    wanted = [likelihoods.sum(), means, equal, chosen]
    return observed, wanted, [(state, words)]


def compiled(seed, count, mode=None):
    """Return the compiled filter; each call goes on with the random numbers after those of the last."""
    observed, wanted, updates = particle_filter(seed, count)
    return scanviz.function([observed], wanted, updates=updates, mode=mode, name="particle_filter")


def simulated(steps, seed):
    """Return states and observations of the model."""
    rng = np.random.default_rng(seed)
    x, states, observed = 0.0, [], []
    for t in range(1, steps + 1):
        x = x / 2 + 25 * x / (1 + x**2) + 8 * np.cos(1.2 * t) + np.sqrt(10) * rng.standard_normal()
        states.append(x)
        observed.append(x**2 / 20 + rng.standard_normal())
    return np.array(states), np.array(observed)
