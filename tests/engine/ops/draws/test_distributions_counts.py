"""Counts: binomial, poisson and multinomial draws follow their laws on every branch, and states move by shape."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.ops.draws.counts import binomial, multinomial, poisson
from scanviz.engine.ops.draws.philox import advance, draw_blocks, seed_state

STATE = seed_state(1234)
N = 20_000


def assert_law(values, law):
    """Chi-square over single counts where they are frequent, and over groups of counts elsewhere."""
    edges = np.unique(law.ppf(np.linspace(0, 1, 41)[1:-1])).astype(np.int64)
    observed = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    expected = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]])) * len(values)
    frequent = expected > 5
    if not frequent.all():
        observed = np.append(observed[frequent], observed[~frequent].sum())
        expected = np.append(expected[frequent], expected[~frequent].sum())
    if len(expected) > 1 and expected[-1] == 0:
        assert observed[-1] == 0
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) > 1:
        assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3


@pytest.mark.parametrize("lam", [0.001, 0.5, 3.0, 9.99, 10.0, 10.5, 40.0, 1e3, 1e6])
def test_poisson_counts_follow_their_law(lam):
    assert_law(poisson(STATE, (N,), lam)[1], stats.poisson(lam))


@pytest.mark.parametrize("lam", [1e12, 1e15])
def test_huge_poisson_counts_are_normal(lam):
    assert stats.kstest((poisson(STATE, (N,), lam)[1] - lam) / math.sqrt(lam), "norm").pvalue > 1e-3


BINOMIALS = [
    (1, 0.3),
    (5, 0.5),
    (40, 0.1),
    (12, 0.9),
    (20, 0.5),
    (25, 0.4),
    (100, 0.97),
    (1000, 0.5),
    (10**6, 1e-6),
    (10**6, 0.3),
    (10**12, 0.75),
    (2**53, 1e-14),
]


@pytest.mark.parametrize(("n", "p"), BINOMIALS)
def test_binomial_counts_follow_their_law(n, p):
    assert_law(binomial(STATE, (N,), n, p)[1], stats.binom(n, p))


def first_uniform(element):
    return (draw_blocks(advance(STATE, element), 1)[0, 0].item() >> 11) * 2.0**-53


@given(lam=st.floats(0, 9.99), n=st.integers(1, 40))
def test_small_poisson_counts_are_inverted_uniforms_of_their_blocks(lam, n):
    expected = []
    for element in range(n):
        u, k, probability = first_uniform(element), 0, math.exp(-lam)
        total = probability
        while u >= total and k < 128:
            k += 1
            probability *= lam / k
            total += probability
        expected.append(k)
    assert poisson(STATE, (n,), lam)[1].tolist() == expected


@given(tries=st.integers(0, 20), p=st.floats(0, 0.49), n=st.integers(1, 40))
def test_small_binomial_counts_are_inverted_uniforms_of_their_blocks(tries, p, n):
    value = binomial(STATE, (n,), tries, p)[1].tolist()
    law = stats.binom(tries, p)
    for element, k in enumerate(value):
        u = first_uniform(element)
        assert law.cdf(k - 1) - 1e-9 <= u <= law.cdf(k) + 1e-9


@given(
    shape=st.lists(st.integers(0, 4), max_size=3).map(tuple),
    lam=st.sampled_from([0.0, 2.0, 50.0]),
    tries=st.sampled_from([0, 1, 30, 1000]),
    dtype=st.sampled_from(["int16", "int32", "int64", "uint16", "uint64"]),
)
def test_random_states_advance_by_the_shape_alone(shape, lam, tries, dtype):
    count = math.prod(shape)
    for draw, blocks in (
        (lambda: poisson(STATE, shape, lam, dtype), count),
        (lambda: binomial(STATE, shape, tries, 0.4, dtype), count),
        (lambda: multinomial(STATE, shape, tries, [0.2, 0.3, 0.5], dtype), 2 * count),
    ):
        after, value = draw()
        assert value.dtype == dtype and value.shape[: len(shape)] == shape
        np.testing.assert_array_equal(after, advance(STATE, blocks))


def test_an_element_does_not_depend_on_its_neighbours_parameters():
    lam = np.tile([0.5, 30.0, 4.0, 1e5], 50)
    together = poisson(STATE, (200,), lam)[1]
    for value in (0.5, 30.0, 4.0, 1e5):
        alone = poisson(STATE, (200,), value)[1]
        np.testing.assert_array_equal(together[lam == value], alone[lam == value])
    p = np.tile([0.01, 0.5, 0.99, 0.3], 50)
    together = binomial(STATE, (200,), 60, p)[1]
    for value in (0.01, 0.5, 0.99, 0.3):
        alone = binomial(STATE, (200,), 60, value)[1]
        np.testing.assert_array_equal(together[p == value], alone[p == value])
    tries = np.tile([3, 32, 33, 500], 20)
    weights = [0.1, 0.4, 0.3, 0.2]
    together = multinomial(STATE, (80,), tries, weights)[1]
    for value in (3, 32, 33, 500):
        alone = multinomial(STATE, (80,), value, weights)[1]
        np.testing.assert_array_equal(together[tries == value], alone[tries == value])


def test_certain_outcomes_are_certain():
    tries = np.array([0, 1, 7, 10**6])
    assert binomial(STATE, (4,), tries, 0.0)[1].tolist() == [0, 0, 0, 0]
    assert binomial(STATE, (4,), tries, 1.0)[1].tolist() == tries.tolist()
    assert not poisson(STATE, (100,), 0.0)[1].any()
    for n in (5, 500):
        assert multinomial(STATE, (2,), n, [0.0, 1.0, 0.0])[1].tolist() == [[0, n, 0]] * 2
        assert multinomial(STATE, (), n, [1.0])[1].tolist() == [n]


@pytest.mark.parametrize("n", [1, 5, 32, 33, 2000])
def test_multinomial_counts_sum_to_n_and_have_binomial_margins(n):
    p = np.array([0.15, 0.0, 0.5, 0.35])
    value = multinomial(STATE, (N,), n, p)[1]
    assert (value.sum(axis=1) == n).all() and (value[:, 1] == 0).all()
    for category in (0, 2, 3):
        assert_law(value[:, category], stats.binom(n, p[category]))
    covariance = np.cov(value[:, 0], value[:, 2])[0, 1] / n
    assert covariance == pytest.approx(-0.15 * 0.5, abs=0.01)


def test_each_row_of_multinomials_has_its_own_probabilities():
    p = np.array([[0.9, 0.1], [0.2, 0.8]])
    for n in (10, 400):
        value = multinomial(STATE, (2000, 2), n, p)[1]
        np.testing.assert_allclose(value.mean(axis=0) / n, p, atol=0.01)
        assert (value.sum(axis=-1) == n).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: poisson(STATE, (2,), -1.0),
        lambda: poisson(STATE, (2,), math.nan),
        lambda: poisson(STATE, (), math.inf),
        lambda: poisson(STATE, (2,), 100.0, "int8"),
        lambda: poisson(STATE, (2,), 1e19),
        lambda: binomial(STATE, (2,), -1, 0.5),
        lambda: binomial(STATE, (2,), 200, 0.5, "int8"),
        lambda: binomial(STATE, (2,), 2**53 + 1, 0.5),
        lambda: binomial(STATE, (2,), 3, 1.5),
        lambda: binomial(STATE, (2,), 3, math.nan),
        lambda: multinomial(STATE, (2,), -1, [1.0]),
        lambda: multinomial(STATE, (2,), 3, [0.5, 0.6]),
        lambda: multinomial(STATE, (2,), 3, [-0.5, 1.5]),
        lambda: multinomial(STATE, (2,), 3, [math.nan, 1.0]),
    ],
)
def test_bad_parameters_are_refused(draw):
    with pytest.raises(ScanvizValueError, match="is out of range"):
        draw()


def test_wrong_types_and_shapes_are_refused():
    with pytest.raises(ScanvizTypeError, match="must hold integers"):
        binomial(STATE, (2,), 2.5, 0.5)
    with pytest.raises(ScanvizTypeError, match="an integer dtype"):
        poisson(STATE, (2,), 2.5, "float64")
    for draw in (
        lambda: binomial(STATE, (2,), [1, 2, 3], 0.5),
        lambda: poisson(STATE, (2,), [1.0, 2.0, 3.0]),
        lambda: multinomial(STATE, (2,), 3, np.full((3, 2), 0.5)),
    ):
        with pytest.raises(ShapeError, match="does not broadcast"):
            draw()
