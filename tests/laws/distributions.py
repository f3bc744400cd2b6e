"""Laws of distributions: draws have SciPy's distribution and the shape asked for, and are the same numbers on every tier."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.function import function
from scanviz.engine.graph.nodes import Array
from tests.laws.law import law

MANY = 3000
UNLIKELY = 1e-7  # of a law that holds: some ten thousand examples a night


class _Distribution(NamedTuple):
    """A distribution: the name of its draw, how its parameters follow from two numbers, and what SciPy calls it.

    ``parameters(place, spread)`` takes arrays of a real and a positive number; ``expected`` gives the distribution function for
    the parameters.
    """

    name: str
    parameters: Callable[[Any, Any], list[Any]]
    expected: Callable[..., Any]


def _scipy(name: str, *order: Any, **named: Any) -> Any:
    from scipy import stats

    return getattr(stats, name)(*order, **named).cdf


DISTRIBUTIONS = (
    _Distribution("uniform", lambda p, s: [p, p + s], lambda a, b: _scipy("uniform", a, b - a)),
    _Distribution("normal", lambda p, s: [p, s], lambda a, b: _scipy("norm", a, b)),
    _Distribution("lognormal", lambda p, s: [p, s], lambda a, b: _scipy("lognorm", b, scale=np.exp(a))),
    _Distribution("laplace", lambda p, s: [p, s], lambda a, b: _scipy("laplace", a, b)),
    _Distribution("gumbel", lambda p, s: [p, s], lambda a, b: _scipy("gumbel_r", a, b)),
    _Distribution("exponential", lambda p, s: [s], lambda b: _scipy("expon", scale=b)),
    _Distribution("gamma", lambda p, s: [s, np.exp(p)], lambda a, b: _scipy("gamma", a, scale=b)),
    # a smaller b gives numbers so near to 1 that they are rounded to it
    _Distribution("beta", lambda p, s: [s, 1 + np.exp(p)], lambda a, b: _scipy("beta", a, b)),
    _Distribution(
        "truncated_normal",
        lambda p, s: [0.0 * p, 1.0 + 0.0 * s, p, p + s],
        lambda m, s, a, b: _scipy("truncnorm", a, b, m, s),
    ),
)
PLACES, SPREADS = st.floats(-3, 3), st.floats(-3, 3)
DTYPES = st.sampled_from(["float64", "float32"])
TIERS = st.sampled_from(["numpy", "reference"])


def _drawn(
    drawn: _Distribution, seed: int, given: list[Any], size: Any, dtype: str, tier: str, loop: bool
) -> Array:
    """Return a draw, in a step of a loop or outside of one."""
    from scanviz import scan

    stream = T.random.RandomStreams(seed)
    inputs = [T.tensor("float64", (None,) * np.ndim(value)) for value in given]

    def draw(*parameters: Any) -> Any:
        return getattr(stream, drawn.name)(*parameters, size=size, dtype=dtype)

    if loop:
        rows, updates = scan(draw, non_sequences=inputs, n_steps=2, name="draws")
        outputs: Any = rows[0]
    else:
        outputs, updates = draw(*inputs), {}
    found: Array = function(inputs, outputs, updates=updates, mode=tier)(*given)
    return found


@law(
    sample=14,
    drawn=st.sampled_from(DISTRIBUTIONS),
    place=PLACES,
    spread=SPREADS,
    seed=st.integers(0, 2**63),
    dtype=DTYPES,
    tier=TIERS,
)
def a_draw_has_the_distribution_of_its_name(
    drawn: _Distribution, place: float, spread: float, seed: int, dtype: str, tier: str
) -> None:
    """Many numbers of a distribution pass the test of Kolmogorov and Smirnov against SciPy's distribution function."""
    from scipy import stats

    given = [float(value) for value in drawn.parameters(np.float64(place), np.float64(np.exp(spread)))]
    values = _drawn(drawn, seed, given, MANY, dtype, tier, False)
    assert values.dtype == dtype and values.shape == (MANY,) and np.isfinite(values).all()
    p = stats.kstest(values.astype("float64"), drawn.expected(*given)).pvalue
    assert p > UNLIKELY, (drawn.name, given, p)


@law(
    sample=14,
    drawn=st.sampled_from(DISTRIBUTIONS),
    seed=st.integers(0, 2**63),
    rows=st.integers(0, 4),
    columns=st.integers(0, 4),
    sized=st.booleans(),
    dtype=DTYPES,
    loop=st.booleans(),
)
def a_draw_is_the_same_on_every_tier_and_has_the_requested_shape(
    drawn: _Distribution, seed: int, rows: int, columns: int, sized: bool, dtype: str, loop: bool
) -> None:
    """Parameters of draws broadcast to the requested shape, empty ones too; all tiers give the same bits, in loops too."""
    rng = np.random.default_rng(seed)
    place, spread = rng.normal(size=(rows, 1)), np.exp(rng.normal(size=columns))
    given = [np.asarray(value) for value in drawn.parameters(place, spread)]
    whole = np.broadcast_shapes(*(np.shape(value) for value in given))
    size = (2, *whole) if sized else None
    found = [_drawn(drawn, seed, given, size, dtype, tier, loop) for tier in ("numpy", "reference")]
    assert found[0].shape == (size or whole) and found[0].dtype == dtype
    assert found[0].tobytes() == found[1].tobytes(), drawn.name


@law(sample=8, count=st.integers(1, 4), spread=SPREADS, seed=st.integers(0, 2**63), dtype=DTYPES)
def vectors_have_the_moments_of_their_distribution(count: int, spread: float, seed: int, dtype: str) -> None:
    """Means and covariances of multivariate normal and Dirichlet draws are within six errors of the exact ones."""
    rng, stream = np.random.default_rng(seed), T.random.RandomStreams(seed)
    mean, root = rng.normal(size=count), rng.normal(size=(count, count)) + np.eye(count)
    cov = root @ root.T * np.exp(spread) + 0.1 * np.eye(count)
    alpha = np.exp(rng.normal(size=count))
    shares = alpha / alpha.sum()
    of_shares = (np.diag(shares) - np.outer(shares, shares)) / (1 + alpha.sum())
    outputs = [stream.multivariate_normal(mean, cov, MANY, dtype), stream.dirichlet(alpha, MANY, dtype)]
    normals, vectors = function([], outputs)()
    assert normals.shape == vectors.shape == (MANY, count) and normals.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(vectors.sum(axis=1), 1.0, rtol=1e-5 if dtype == "float32" else 1e-12)
    for values, centre, wanted in ((normals, mean, cov), (vectors, shares, of_shares)):
        errors = np.sqrt(np.diag(wanted) / MANY)
        assert (np.abs(values.astype("float64").mean(axis=0) - centre) <= 7 * errors + 1e-6).all()
        found = np.cov(values.astype("float64").T).reshape(count, count)
        scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
        np.testing.assert_array_less(np.abs(found - wanted), 0.5 * scale + 1e-6)
