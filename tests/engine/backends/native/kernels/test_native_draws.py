"""Random draws in native loops: the numbers of the other tiers, and the states after them."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from tests.engine.backends.native.emit.test_native_loops import tiers_of

R = T.random
EXACT = {"uniform", "bernoulli", "integers", "poisson", "binomial"}
DRAWS = {
    "uniform": lambda state, size, dtype, x: R.uniform(state, -1.0, x + 3.0, size=size, dtype=dtype),
    "normal": lambda state, size, dtype, x: R.normal(state, x, 2.0, size=size, dtype=dtype),
    "lognormal": lambda state, size, dtype, x: R.lognormal(state, x, 0.5, size=size, dtype=dtype),
    "exponential": lambda state, size, dtype, x: R.exponential(state, x + 3.0, size=size, dtype=dtype),
    "laplace": lambda state, size, dtype, x: R.laplace(state, x, 1.5, size=size, dtype=dtype),
    "gumbel": lambda state, size, dtype, x: R.gumbel(state, x, 1.5, size=size, dtype=dtype),
    "gamma": lambda state, size, dtype, x: R.gamma(state, x + 2.0, 1.5, size=size, dtype=dtype),
    "beta": lambda state, size, dtype, x: R.beta(state, x + 2.0, 1.5, size=size, dtype=dtype),
    "truncated_normal": lambda state, size, dtype, x: R.truncated_normal(
        state, x, 1.5, -0.5, 3.0, size=size, dtype=dtype
    ),
    "bernoulli": lambda state, size, dtype, x: R.bernoulli(state, 0.3, size=size),
    "integers": lambda state, size, dtype, x: R.integers(state, -5, 2**40, size=size),
    "poisson": lambda state, size, dtype, x: R.poisson(state, x + 3.0, size=size),
    "binomial": lambda state, size, dtype, x: R.binomial(state, 20, 0.3, size=size),
}


OF_ONE_DTYPE = {"bernoulli", "integers", "poisson", "binomial"}


@pytest.mark.parametrize("size", [None, (1,), (5,), (3, 11), (0,)])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in DRAWS for dtype in ("float64", "float32")[: 1 if name in OF_ONE_DTYPE else 2]],
)
def test_a_draw_in_each_step_is_that_of_the_other_tiers(name, size, dtype):
    found = []
    rows = np.linspace(-1.0, 1.0, 6)
    for tier in ("native", "reference"):
        state = T.random.random_state(5)
        x = T.vector("x")

        def step(x_t, h, state=state):
            following, drawn = DRAWS[name](state, size, dtype, x_t)
            return [h * 0.5 + T.sum(T.cast(drawn, "float64")), drawn], {state: following}

        (h, drawn), updates = scanviz.scan(step, x, [T.constant(0.0), None], name="chain")
        f = scanviz.function([x], [h, drawn], updates=updates, mode=Mode(tier, "none"))
        found.append([*f(rows), *f(rows), state.get_value()])
        if tier == "native":
            ((name_of_tier, why),) = tiers_of(f)
            assert name_of_tier == "native" and "called out" not in why
    for mine, theirs in zip(*found, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        if name in EXACT and mine.dtype != np.float64:
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-5 if dtype == "float32" else 1e-13)
    if name in EXACT:
        np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][-1], found[1][-1])


@pytest.mark.parametrize("by", [2**64 - 7, 2**128 - 5])
def test_a_counter_carries_across_its_words(by):
    from scanviz.engine.ops.draws.philox import advance, seed_state

    found = []
    for tier in ("native", "reference"):
        state = T.random.random_state(5)
        state.set_value(advance(seed_state(5), by))

        def step(h, state=state):
            following, drawn = R.uniform(state, size=(3,))
            return h + drawn, {state: following}

        h, updates = scanviz.scan(step, None, T.zeros((3,)), n_steps=9)
        f = scanviz.function([], h, updates=updates, mode=Mode(tier, "none"))
        found.append([f(), state.get_value()])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def both_tiers(step, start, steps=9):
    """Return what loops that draw give on the native tier and on the reference, with the state after two calls."""
    found = []
    for tier in ("native", "reference"):
        state = T.random.random_state(11)
        rows, updates = scanviz.scan(
            lambda h, state=state: step(state, h), None, start, n_steps=steps, name="drawing"
        )
        f = scanviz.function([], rows, updates=updates, mode=Mode(tier, "none"))
        found.append([f(), f(), state.get_value()])
        if tier == "native":
            assert tiers_of(f) == [("native", "machine code for the shapes met")], tiers_of(f)
    return found


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
@pytest.mark.parametrize(
    ("size", "shape"),
    [(None, (3,)), ((4,), (1,)), ((5,), (5, 7)), ((2, 3), (3, 2)), ((2, 3), (200,)), ((0,), (4,))],
)
def test_categories_are_those_of_the_other_tiers(size, shape, dtype):
    weights = np.random.default_rng(3).integers(0, 4, shape) + np.eye(shape[-1])[0]

    def step(state, h):
        following, drawn = R.categorical(
            state, (weights + h % 3) / T.sum(weights + h % 3, axis=-1, keepdims=True), size=size, dtype=dtype
        )
        return h + T.cast(T.sum(drawn), "float64"), {state: following}

    mine, theirs = both_tiers(step, T.constant(0.0))
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "draw",
    [
        lambda state, dtype: R.integers(state, 0, 100, size=(5,), dtype=dtype),
        lambda state, dtype: R.poisson(state, 3.0, size=(5,), dtype=dtype),
        lambda state, dtype: R.binomial(state, 50, 0.4, size=(5,), dtype=dtype),
    ],
    ids=["integers", "poisson", "binomial"],
)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integers_of_every_width_are_drawn(draw, dtype):
    def step(state, h):
        following, drawn = draw(state, dtype)
        return h + drawn, {state: following}

    mine, theirs = both_tiers(step, T.zeros((5,), dtype))
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("draw", "why"),
    [
        (lambda state, x: R.normal(state, 0.0, 0.5 - x, size=(3,)), "normal"),
        (lambda state, x: R.categorical(state, T.stack([x, 1.0]), size=(3,)), "categorical"),
        (lambda state, x: R.categorical(state, T.stack([-x, x + 1.0]), size=()), "categorical"),
        (
            lambda state, x: R.integers(state, T.cast(x, "int64") * -1, 5, size=(3,), dtype="uint64"),
            "integers",
        ),
        (
            lambda state, x: R.integers(state, 0, T.cast(x, "int64") * 200 + 5, size=(3,), dtype="int8"),
            "integers",
        ),
        (lambda state, x: R.poisson(state, x * 100, size=(3,), dtype="int8"), "poisson"),
        (lambda state, x: R.truncated_normal(state, 0.0, 1.0, x, 0.5, size=(3,)), "truncated_normal"),
    ],
    ids=[
        "scale below 0",
        "sum",
        "negative",
        "below 0",
        "beyond int8",
        "counts beyond int8",
        "no number between",
    ],
)
def test_invalid_parameters_of_draws_raise_the_error_of_the_other_tiers(draw, why):
    text = []
    for tier in ("native", "reference"):
        state, x = T.random.random_state(5), T.vector("x")

        def step(x_t, h, state=state):
            following, drawn = draw(state, x_t)
            return h + T.cast(T.sum(drawn), "float64"), {state: following}

        h, updates = scanviz.scan(step, x, T.constant(0.0), name="walk")
        f = scanviz.function([x], h, updates=updates, mode=Mode(tier, "none"))
        f(np.zeros(2))
        with pytest.raises(ScanvizError, match=why) as error:
            f(np.array([0.0, 0.0, 1.0]))
        text.append(str(error.value))
    assert text[0] == text[1] and "step 2" in text[0]
