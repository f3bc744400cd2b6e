"""A particle filter against one in NumPy that makes its own random numbers: Philox written out once more, from the paper."""

import numpy as np
import pytest

from scanviz import Mode
from tests.programs.particle_filter import compiled, simulated

SEED, COUNT, STEPS = 41, 24, 15
TIERS = [
    pytest.param("numpy", id="numpy"),
    pytest.param(Mode("reference", "all"), id="reference"),
    pytest.param(Mode("reference", "none"), id="reference without rewrites"),
    pytest.param(Mode("numpy", "none"), id="numpy without rewrites"),
    pytest.param("cupy", marks=pytest.mark.gpu, id="cupy"),
]


def philox(key, block):
    """Return the four words of a block of Philox 4x64-10: Salmon and others, SC 2011."""
    whole, low, high = 2**64 - 1, key & (2**64 - 1), key >> 64
    words = [block, 0, 0, 0]
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * words[0], 0xCA5A826395121157 * words[2]
        words = [
            (second >> 64) ^ words[1] ^ low,
            second & whole,
            (first >> 64) ^ words[3] ^ high,
            first & whole,
        ]
        low, high = (low + 0x9E3779B97F4A7C15) & whole, (high + 0xBB67AE8584CAA73B) & whole
    return words


class Uniforms:
    """Uniform numbers in order, four a block; the rest of a draw's last block is not used."""

    def __init__(self, key):
        self.key, self.block = key, 0

    def draw(self, count):
        found = []
        for _ in range((count + 3) // 4):
            found += [(word >> 11) * 2.0**-53 for word in philox(self.key, self.block)]
            self.block += 1
        return np.array(found[:count])

    def normals(self, count):
        radius, angle = self.draw(2 * count).reshape(2, count)
        return np.sqrt(-2 * np.log(1 - radius)) * np.cos(2 * np.pi * angle)


def plain_filter(observed, uniforms):
    """Return the expected result of the filter, particle by particle."""
    particles, weights = list(2 * uniforms.normals(COUNT)), [1 / COUNT] * COUNT
    total, means, equal, chosen = 0.0, [], [], []
    for t, y in enumerate(observed, 1):
        noise, shift = uniforms.normals(COUNT), uniforms.draw(1)[0]
        particles = [
            x / 2 + 25 * x / (1 + x * x) + 8 * np.cos(1.2 * t) + np.sqrt(10) * z
            for x, z in zip(particles, noise, strict=True)
        ]
        density = [np.exp(-0.5 * (y - x * x / 20) ** 2) / np.sqrt(2 * np.pi) for x in particles]
        weights = [w * p for w, p in zip(weights, density, strict=True)]
        total += np.log(sum(weights))
        weights = [w / sum(weights) for w in weights]
        means.append(sum(w * x for w, x in zip(weights, particles, strict=True)))
        equal.append(1 / sum(w * w for w in weights))
        ancestors = list(range(COUNT))
        if equal[-1] < COUNT / 2:
            ancestors, reached, place = [], weights[0], 0
            for k in range(COUNT):
                while reached < (k + shift) / COUNT and place < COUNT - 1:
                    place += 1
                    reached += weights[place]
                ancestors.append(place)
            particles, weights = [particles[k] for k in ancestors], [1 / COUNT] * COUNT
        chosen.append(ancestors)
    return total, np.array(means), np.array(equal), np.array(chosen)


@pytest.mark.parametrize("mode", TIERS)
def test_the_filter_is_the_plain_one_with_the_same_numbers_call_after_call(mode):
    _, observed = simulated(STEPS, seed=5)
    filtered, uniforms = compiled(SEED, COUNT, mode), Uniforms(SEED)
    for _ in range(2):
        for found, expected in zip(filtered(observed), plain_filter(observed, uniforms), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
