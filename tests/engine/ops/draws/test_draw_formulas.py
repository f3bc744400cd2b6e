"""Draws as formulas give the bits of NumPy's draws: generator, transformation and rejection; their probabilities are SciPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from scanviz.engine.ops.draws import continuous as continuous
from scanviz.engine.ops.draws import counts as distributions_counts
from scanviz.engine.ops.draws import discrete as distributions_discrete
from scanviz.engine.ops.draws import distributions
from scanviz.engine.ops.draws.philox import advance, blocks_at, seed_state
from scanviz.engine.ops.formulas import counts as count_formulas
from scanviz.engine.ops.formulas.draws import draw_block
from scanviz.engine.ops.formulas.words import BLOCK_AT
from scanviz.engine.scalar.array_source import on_arrays
from scanviz.engine.scalar.blocks import text_of, typed
from scanviz.engine.scalar.expression import argument
from tests.support.drawing import formula_draw

N = 501
RNG = np.random.default_rng(0)
LOW, CHANCE = RNG.normal(size=N), RNG.random(N)
CHANCE[:3] = 0, 1, 0.5
HIGH = LOW + RNG.random(N)
SPAN = RNG.integers(1, 2**62, N)
TRIALS = np.concatenate([RNG.integers(0, 30, N // 2), RNG.integers(0, 10**6, N - N // 2)])
CONCENTRATION = np.append(RNG.random(N - 1) * 3, 0.0)
MEAN = np.append(10 ** (RNG.random(N - 2) * 6 - 2), [0.0, 10.0])
STATES = [advance(seed_state(1234567890123), by) for by in (0, 2**64 - 7, 2**128 - 5)]
CASES = {
    "uniform": (distributions.uniform, "float64", LOW, HIGH),
    "uniform of float32": (distributions.uniform, "float32", LOW, HIGH),
    "normal": (distributions.normal, "float64", LOW, CHANCE),
    "normal of float32": (distributions.normal, "float32", LOW, CHANCE),
    "exponential": (distributions.exponential, "float64", CHANCE),
    "exponential of float32": (distributions.exponential, "float32", CHANCE),
    "bernoulli": (distributions_discrete.bernoulli, "bool", CHANCE),
    "integers": (distributions_discrete.integers, "int64", np.full(N, -5), SPAN - 5),
    "integers of half of all": (
        distributions_discrete.integers,
        "uint64",
        np.zeros(N, "uint64"),
        np.full(N, 2**63 + 1, "uint64"),
    ),
    "lognormal": (distributions.lognormal, "float64", LOW, CHANCE),
    "lognormal of float32": (distributions.lognormal, "float32", LOW, CHANCE),
    "laplace": (continuous.laplace, "float64", LOW, CHANCE),
    "laplace of float32": (continuous.laplace, "float32", LOW, CHANCE),
    "gumbel": (continuous.gumbel, "float64", LOW, CHANCE),
    "beta": (continuous.beta, "float64", CONCENTRATION + 1e-4, 3 * CHANCE + 1e-4),
    "truncated_normal": (
        continuous.truncated_normal,
        "float64",
        LOW,
        CHANCE + 0.01,
        3 * HIGH,
        3 * HIGH + SPAN / 2**60,
    ),
    "gamma": (continuous.gamma, "float64", CONCENTRATION, CHANCE),
    "poisson": (distributions_counts.poisson, "int64", MEAN),
    "binomial": (distributions_counts.binomial, "int64", TRIALS, CHANCE),
}


@pytest.mark.parametrize("state", STATES, ids=lambda state: str(state[2:].tolist()))
@pytest.mark.parametrize("case", CASES)
def test_a_formula_draws_the_same_bits(case, state):
    function, dtype, *parameters = CASES[case]
    wanted = function(state, (N,), *parameters, dtype=dtype)[1]
    found = formula_draw(case.split()[0], state, N, dtype, parameters)
    assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def test_the_formula_of_the_generator_gives_the_blocks_of_offsets_and_lanes():
    block = typed(BLOCK_AT(*(argument(k) for k in range(6))), BLOCK_AT.arguments)
    offsets = np.array([0, 1, 5, 2**40])
    for state in STATES:
        for lane in (0, 3):
            found = on_arrays(block)(*state, offsets.astype("uint64"), np.uint64(lane))
            assert np.array_equal(np.stack(found, 1), blocks_at(state, offsets, lane))


def test_draws_that_read_arrays_have_no_formula():
    assert [
        draw_block(name) for name in ("categorical", "multinomial", "dirichlet", "choice", "permutation")
    ] == [None] * 5


def test_a_draw_prints():
    text = text_of(draw_block("gamma").block, "gamma")
    assert (
        "call" not in text and "philox_at" in text and "when" in text and "4294967295 steps at most" in text
    )


def on_numbers(formula, *numbers):
    """Return a formula's value for numbers or arrays."""
    block = typed([formula(*map(argument, range(len(numbers))))], ["float64"] * len(numbers))
    return on_arrays(block)(*map(np.asarray, numbers))[0]


def test_the_rest_of_the_log_factorial_agrees_with_gammaln():
    k = np.arange(0.0, 400.0)
    expected = special.gammaln(k + 1) - special.xlogy(k, k) + k
    np.testing.assert_allclose(on_numbers(count_formulas._log_factorial_rest, k), expected, atol=3e-12)


@given(k=st.integers(0, 10**6), mean=st.floats(1e-3, 1e6))
def test_the_deviance_agrees_with_its_formula(k, mean):
    expected = special.xlogy(float(k), k / mean) + mean - k
    got = on_numbers(count_formulas._deviance, [float(k)], [mean])
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * (k + mean))


def test_the_deviance_is_accurate_near_cancellation():
    mean = np.array([1e15])
    for away in (1.0, 1e5, 1e7):
        relative = away / 1e15
        series = 1e15 * relative**2 * (1 / 2 - relative / 6)
        found = on_numbers(count_formulas._deviance, mean + away, mean)
        np.testing.assert_allclose(found, series, rtol=1e-6, atol=1e-8)
