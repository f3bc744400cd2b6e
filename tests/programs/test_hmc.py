"""Hamiltonian Monte Carlo: leapfrog by an inner loop with the gradient in its step, accept or reject, counter-based draws.

The chain is compared, draw by draw, with one in plain NumPy that is given the same momenta and uniform numbers.

Source: R. Neal, "MCMC using Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo, chapter 5 (2011), figure 2.
"""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T

TIERS = [Mode(backend, rewrites) for backend in ("numpy", "reference") for rewrites in ("all", "none")]
CUPY = pytest.param(Mode("cupy"), marks=pytest.mark.gpu, id="cupy")
MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[1.0, 0.6, 0.0], [0.6, 1.5, -0.3], [0.0, -0.3, 0.7]])
PRECISION = np.linalg.inv(COVARIANCE)
SIZE, LEAPS = 0.3, 8


def energy(position):
    """Return minus the logarithm of the target's density, up to a constant."""
    away = position - MEAN
    return 0.5 * T.dot(away, T.dot(PRECISION, away))


def leap(position, momentum):
    half = momentum - SIZE / 2 * scanviz.grad(energy(position), position)
    moved = position + SIZE * half
    return moved, half - SIZE / 2 * scanviz.grad(energy(moved), moved)


def sampler(mode, draws, seed):
    """Return a function of no inputs that draws: positions, whether accepted, momenta, uniform numbers; and where it is."""
    rng = T.random.RandomStreams(seed=seed)
    here = scanviz.shared(np.zeros(3), "here")

    def draw():
        momentum = rng.normal(size=(3,))
        uniform = rng.uniform(size=())
        (positions, momenta), _ = scanviz.scan(
            leap, outputs_info=[here, momentum], n_steps=LEAPS, name="leapfrog"
        )
        there, arrived = positions[-1], momenta[-1]
        gain = energy(here) - energy(there) + 0.5 * (T.sum(momentum**2) - T.sum(arrived**2))
        accepted = uniform < T.exp(gain)
        position = T.where(accepted, there, here)
        return [position, accepted, momentum, uniform], {here: position}

    outputs, updates = scanviz.scan(draw, n_steps=draws, name="hmc")
    return scanviz.function([], outputs, updates=updates, mode=mode), here


def chain(position, momenta, uniforms):
    """Return the positions that plain NumPy goes to, and whether it accepted."""
    positions, accepted = [], []
    for momentum, uniform in zip(momenta, uniforms, strict=True):
        q, p = position.copy(), momentum - SIZE / 2 * PRECISION @ (position - MEAN)
        for k in range(LEAPS):
            q = q + SIZE * p
            p = p - (SIZE if k < LEAPS - 1 else SIZE / 2) * PRECISION @ (q - MEAN)
        before = (position - MEAN) @ PRECISION @ (position - MEAN) + momentum @ momentum
        after = (q - MEAN) @ PRECISION @ (q - MEAN) + p @ p
        accepted.append(uniform < np.exp((before - after) / 2))
        position = q if accepted[-1] else position
        positions.append(position)
    return np.array(positions), np.array(accepted)


@pytest.mark.parametrize("mode", [*TIERS, CUPY], ids=str)
def test_a_chain_equals_plain_numpy_given_the_same_draws_and_continues_in_the_next_call(mode):
    sample, here = sampler(mode, 25, seed=3)
    start, every = np.zeros(3), []
    for _ in range(2):
        positions, accepted, momenta, uniforms = map(np.asarray, sample())
        expected, decided = chain(start, momenta, uniforms)
        np.testing.assert_array_equal(accepted, decided)
        np.testing.assert_allclose(positions, expected, rtol=1e-9, atol=1e-9)
        start = positions[-1]
        np.testing.assert_array_equal(here.get_value(), start)
        every += [*uniforms]
    assert len(set(every)) == 50 and all(0 <= each < 1 for each in every)
