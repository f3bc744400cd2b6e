"""Hamiltonian Monte Carlo: draws from a density by following its gradient, in the manner of the old scan tutorials.

Source: S. Duane, A. Kennedy, B. Pendleton, D. Roweth, "Hybrid Monte Carlo", Physics Letters B 195 (1987). The gradient of the
energy stands inside the step of the inner loop (leapfrog); momenta and acceptance are random; the last position is a
shared variable that the outer loop updates, so that a second call goes on where the first one ended.
"""

import numpy as np

import scanviz
from scanviz import tensor as T

SIZE, LEAPS, DRAWS = 0.25, 12, 1500
COVARIANCE = np.array([[1.0, 0.8], [0.8, 1.5]])


def energy(position):
    """Return minus the logarithm of the density of a normal distribution, up to a constant."""
    return 0.5 * T.dot(position, T.dot(np.linalg.inv(COVARIANCE), position))


def kinetic(momentum):
    return 0.5 * T.sum(momentum**2)


def leapfrog(position, momentum):
    half = momentum - SIZE / 2 * scanviz.grad(energy(position), position)
    moved = position + SIZE * half
    return moved, half - SIZE / 2 * scanviz.grad(energy(moved), moved)


if __name__ == "__main__":
    rng = T.random.RandomStreams(seed=1987)
    here = scanviz.shared(np.array([3.0, -3.0]), "here")

    def draw():
        momentum = rng.normal(size=(2,))
        (positions, momenta), _ = scanviz.scan(
            leapfrog, outputs_info=[here, momentum], n_steps=LEAPS, name="leapfrog"
        )
        there, arrived = positions[-1], momenta[-1]
        gain = energy(here) + kinetic(momentum) - energy(there) - kinetic(arrived)
        accepted = rng.uniform(size=()) < T.exp(gain)
        position = T.where(accepted, there, here)
        return [position, T.cast(accepted, "float64")], {here: position}

    (draws, accepted), updates = scanviz.scan(draw, n_steps=DRAWS, name="hmc")
    sample = scanviz.function([], [draws, accepted.mean()], updates=updates, name="sample")
    sample()  # until it has forgotten where it began
    found, rate = sample()
    print(
        f"{len(found)} draws, {100 * float(rate):.0f} % accepted, the last at {np.round(here.get_value(), 3)}"
    )
    estimate = np.cov(found.T)
    print(f"variances {estimate[0, 0]:.2f} and {estimate[1, 1]:.2f}, covariance {estimate[0, 1]:.2f}")
    print(f"wanted    {COVARIANCE[0, 0]:.2f} and {COVARIANCE[1, 1]:.2f}, covariance {COVARIANCE[0, 1]:.2f}")
