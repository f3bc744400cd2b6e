"""Random streams: shapes, dtypes, distributions, reproducibility, states that move on."""

import numpy as np
import pytest
from scipy import stats

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError

N = 20_000


def draw(build, seed=123, **options):
    stream = T.random.RandomStreams(seed)
    return scanviz.function([], build(stream), **options)()


CONTINUOUS = {
    "uniform": (lambda s, d: s.uniform(2.0, 5.0, size=N, dtype=d), stats.uniform(2, 3)),
    "normal": (lambda s, d: s.normal(1.0, 2.0, size=N, dtype=d), stats.norm(1, 2)),
    "exponential": (lambda s, d: s.exponential(1.5, size=N, dtype=d), stats.expon(scale=1.5)),
    "standard normal": (lambda s, d: s.standard_normal(N, d), stats.norm()),
    "lognormal": (lambda s, d: s.lognormal(1.0, 0.5, size=N, dtype=d), stats.lognorm(0.5, scale=np.e)),
    "laplace": (lambda s, d: s.laplace(1.0, 0.5, size=N, dtype=d), stats.laplace(1.0, 0.5)),
    "gumbel": (lambda s, d: s.gumbel(1.0, 0.5, size=N, dtype=d), stats.gumbel_r(1.0, 0.5)),
    "beta": (lambda s, d: s.beta(0.3, 2.0, size=N, dtype=d), stats.beta(0.3, 2.0)),
    "dirichlet": (
        lambda s, d: s.dirichlet([0.5, 2.0, 3.0], size=N, dtype=d)[:, 1],
        stats.beta(2.0, 3.5),
    ),
    "truncated normal": (
        lambda s, d: s.truncated_normal(1.0, 2.0, 0.0, 4.0, size=N, dtype=d),
        stats.truncnorm(-0.5, 1.5, 1.0, 2.0),
    ),
    "tail of a normal": (
        lambda s, d: s.truncated_normal(low=5.0, size=N, dtype=d),
        stats.truncnorm(5.0, np.inf),
    ),
    "one of a multivariate normal": (
        lambda s, d: s.multivariate_normal([1.0, 2.0], [[4.0, 1.0], [1.0, 9.0]], N, d)[:, 1],
        stats.norm(2.0, 3.0),
    ),
    "gamma": (lambda s, d: s.gamma(2.5, 0.5, size=N, dtype=d), stats.gamma(2.5, scale=0.5)),
    "gamma below 1": (lambda s, d: s.gamma(0.4, size=N, dtype=d), stats.gamma(0.4)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions_pass_the_kolmogorov_smirnov_test(name, dtype):
    build, expected = CONTINUOUS[name]
    values = draw(lambda s: build(s, dtype))
    assert values.dtype == dtype
    assert stats.kstest(values.astype("float64"), expected.cdf).pvalue > 1e-3


DISCRETE = {
    "bernoulli": (lambda s: s.bernoulli(0.3, size=N), stats.bernoulli(0.3), range(2)),
    "binomial": (lambda s: s.binomial(size=N, n=7, p=0.4), stats.binom(7, 0.4), range(8)),
    "poisson": (lambda s: s.poisson(2.0, size=N), stats.poisson(2.0), range(9)),
    "large poisson": (lambda s: s.poisson(40.0, size=N), stats.poisson(40.0), range(20, 61)),
    "integers": (lambda s: s.integers(0, 6, size=N), stats.randint(0, 6), range(6)),
    "categorical": (
        lambda s: s.categorical([0.1, 0.2, 0.7], size=N),
        stats.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7])),
        range(3),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions_pass_the_chi_square_test(name):
    build, expected, support = DISCRETE[name]
    values = draw(build)
    assert values.dtype == "int64"
    counts = np.array([(values == k).sum() for k in support])
    probabilities = expected.pmf(list(support))
    inside = counts.sum()
    assert stats.chisquare(counts, probabilities / probabilities.sum() * inside).pvalue > 1e-3


def test_one_trial_is_drawn_as_what_it_is():
    few = draw(lambda s: s.binomial(size=(2000,), n=1, p=[0.25], dtype="int8"))
    assert few.dtype == np.int8 and abs(few.mean() - 0.25) < 0.05 and set(few) == {0, 1}
    rows = draw(lambda s: s.multinomial(size=2000, n=1, pvals=[0.2, 0.0, 0.8], dtype="int32"))
    assert rows.dtype == np.int32 and rows.shape == (2000, 3) and (rows.sum(axis=1) == 1).all()
    np.testing.assert_allclose(rows.mean(axis=0), [0.2, 0.0, 0.8], atol=0.05)


def test_multinomial_counts_its_trials():
    counts = draw(lambda s: s.multinomial(size=1000, n=20, pvals=[0.2, 0.3, 0.5]))
    assert counts.shape == (1000, 3) and (counts.sum(axis=1) == 20).all()
    np.testing.assert_allclose(counts.mean(axis=0), [4, 6, 10], rtol=0.05)


def test_choice_and_permutation_pick_without_repeating():
    chosen = draw(lambda s: s.choice(10, size=10, replace=False))
    assert sorted(chosen.tolist()) == list(range(10))
    rows = draw(lambda s: s.permutation(np.arange(12).reshape(6, 2)))
    assert sorted(rows[:, 0].tolist()) == [0, 2, 4, 6, 8, 10]
    picked = draw(lambda s: s.choice(np.array([5.0, 7.0]), size=100, p=[0.0, 1.0]))
    assert set(picked.tolist()) == {7.0}


def test_parameters_broadcast_and_sizes_may_be_symbolic():
    n, means = T.lscalar("n"), T.vector("means")
    stream = T.random.RandomStreams(1)
    f = scanviz.function([n, means], [stream.uniform(size=(n, 2)), stream.normal(means, 0.1)])
    a, b = f(3, [0.0, 100.0, -100.0])
    assert a.shape == (3, 2) and b.shape == (3,) and abs(b[1] - 100) < 1


@pytest.mark.parametrize("mode", ["reference", "numpy"])
def test_equal_seeds_give_equal_numbers_in_and_outside_loops(mode):
    def numbers():
        stream = T.random.RandomStreams(9)
        inside, updates = scanviz.scan(lambda: stream.normal(size=2), n_steps=5)
        f = scanviz.function([], [inside, stream.uniform(size=3)], updates=updates, mode=mode)
        return [np.concatenate([each.ravel() for each in f()]) for _ in range(2)]

    first, second = numbers(), numbers()
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])


def test_draws_of_a_loop_continue_those_of_single_calls():
    stream = T.random.RandomStreams(2)
    single = scanviz.function([], stream.uniform())
    alone = [float(single()) for _ in range(4)]
    again = T.random.RandomStreams(2)
    looped, updates = scanviz.scan(lambda: again.uniform(), n_steps=4)
    assert scanviz.function([], looped, updates=updates)().tolist() == alone


def test_bad_parameters_are_refused_by_name():
    for build in (
        lambda s: s.bernoulli(1.5, size=3),
        lambda s: s.uniform(2.0, 1.0, size=3),
        lambda s: s.poisson(-1.0),
        lambda s: s.integers(3, 3, size=2),
        lambda s: s.choice(3, size=4, replace=False),
    ):
        with pytest.raises(ScanvizError):
            draw(build)


def test_the_functional_form_hands_states_on():
    state = T.random.random_state(5)
    following, first = T.random.uniform(state, size=2)
    _, second = T.random.uniform(following, size=2)
    a, b = scanviz.function([], [first, second])()
    assert not np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_counts_can_be_asked_for_in_a_floating_dtype(dtype):
    values = draw(lambda s: s.binomial(size=(3, 4), n=1, p=0.5, dtype=dtype))
    assert values.dtype == dtype and set(values.ravel().tolist()) <= {0, 1}
