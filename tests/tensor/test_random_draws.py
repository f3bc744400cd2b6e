"""Draws in the functional form and from streams: the core's numbers, types known when building, refusals."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.ops.draws import continuous, counts, discrete, distributions
from scanviz.engine.ops.draws.philox import seed_state, spawn

SEED = 20261121
P = [0.1, 0.2, 0.3, 0.4]
ROWS = np.arange(10.0).reshape(5, 2)
ALPHA = [[1.0, 2.0, 3.0], [0.1, 0.1, 0.1]]
FLOAT32 = {"dtype": "float32"}
# a function of T.random and its arguments after the state, and the core's draw
DRAWS = [
    ("uniform", (-1.0, 2.0, (3, 2)), {}, lambda s: distributions.uniform(s, (3, 2), -1.0, 2.0)),
    (
        "normal",
        ([0.0, 5.0], 2.0),
        FLOAT32,
        lambda s: distributions.normal(s, (2,), [0.0, 5.0], 2.0, "float32"),
    ),
    (
        "normal",
        (),
        {"mean": [0.0, 5.0], "std": 2.0},
        lambda s: distributions.normal(s, (2,), [0.0, 5.0], 2.0),
    ),
    ("standard_normal", ((2, 3),), {}, lambda s: distributions.normal(s, (2, 3))),
    ("exponential", (2.0,), {}, lambda s: distributions.exponential(s, (), 2.0)),
    (
        "lognormal",
        ([0.0, 5.0], 2.0),
        FLOAT32,
        lambda s: distributions.lognormal(s, (2,), [0.0, 5.0], 2.0, "float32"),
    ),
    (
        "laplace",
        ([0.0, 5.0], 2.0),
        FLOAT32,
        lambda s: continuous.laplace(s, (2,), [0.0, 5.0], 2.0, "float32"),
    ),
    ("gumbel", ([[0.0], [5.0]], 2.0), {}, lambda s: continuous.gumbel(s, (2, 1), [[0.0], [5.0]], 2.0)),
    (
        "gamma",
        ([[0.5], [2.0]], [1.0, 3.0]),
        {},
        lambda s: continuous.gamma(s, (2, 2), [[0.5], [2.0]], [1.0, 3.0]),
    ),
    ("beta", ([0.1, 5.0], 2.0), {"size": (3, 2)}, lambda s: continuous.beta(s, (3, 2), [0.1, 5.0], 2.0)),
    ("dirichlet", (ALPHA,), {}, lambda s: continuous.dirichlet(s, (2,), ALPHA)),
    (
        "truncated_normal",
        (1.0, 2.0, [-np.inf, 5.0], 9.0),
        FLOAT32,
        lambda s: continuous.truncated_normal(s, (2,), 1.0, 2.0, [-np.inf, 5.0], 9.0, "float32"),
    ),
    ("poisson", ([1.0, 30.0],), {"size": (4, 2)}, lambda s: counts.poisson(s, (4, 2), [1.0, 30.0])),
    ("bernoulli", (0.3, 20), {}, lambda s: discrete.bernoulli(s, (20,), 0.3, "int64")),
    ("binomial", ([3, 90], 0.4), {}, lambda s: counts.binomial(s, (2,), [3, 90], 0.4)),
    ("integers", (-4, 9, 30, "int8"), {}, lambda s: discrete.integers(s, (30,), -4, 9, "int8")),
    ("integers", (7,), {}, lambda s: discrete.integers(s, (), 0, 7)),
    ("categorical", ([P, P[::-1]],), {}, lambda s: discrete.categorical(s, (2,), [P, P[::-1]])),
    ("multinomial", ([5, 60], P), {}, lambda s: counts.multinomial(s, (2,), [5, 60], P)),
    ("choice", (9, (2, 2)), {"replace": False}, lambda s: discrete.choice(s, (2, 2), 9, False)),
    ("choice", (4,), {"p": P}, lambda s: discrete.choice(s, (), 4, True, P)),
    ("permutation", (8,), {}, lambda s: discrete.permutation(s, 8)),
    ("permutation", (ROWS,), {}, lambda s: discrete.permutation(s, ROWS)),
]
each_draw = pytest.mark.parametrize(
    ("name", "given", "named", "core"), DRAWS, ids=[draw[0] for draw in DRAWS]
)


@pytest.mark.parametrize("mode", ["reference", "numpy"])
@each_draw
def test_functional_draws_are_the_cores_numbers_and_types(name, given, named, core, mode):
    functional = getattr(T.random, name)
    following, values = functional(T.random.random_state(SEED), *given, **named)
    again = functional(following, *given, **named)[1]
    first, second = scanviz.function([], [values, again], mode=mode)()
    state, expected = core(seed_state(SEED))
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, core(state)[1])
    assert first.dtype == expected.dtype == values.type.dtype
    assert first.shape == values.type.shape  # all of it was known when building


@each_draw
def test_draw_k_of_a_stream_starts_from_child_k_of_its_seed_and_moves_on_with_each_call(
    name, given, named, core
):
    stream = T.random.RandomStreams(SEED)
    for _ in range(3):
        stream.uniform()
    f = scanviz.function([], getattr(stream, name)(*given, **named))
    state = spawn(seed_state(SEED), 3)
    for _ in range(3):
        state, expected = core(state)
        np.testing.assert_array_equal(f(), expected)
    np.testing.assert_array_equal(stream.state_updates[3][0].get_value(), state)


@each_draw
def test_draws_in_a_loop_go_on_from_step_to_step(name, given, named, core):
    stream = T.random.RandomStreams(SEED)
    values, updates = scanviz.scan(lambda: getattr(stream, name)(*given, **named), n_steps=4)
    f = scanviz.function([], values, updates=updates)
    state = spawn(seed_state(SEED), 0)
    for _ in range(2):
        for row in f():
            state, expected = core(state)
            np.testing.assert_array_equal(row, expected)


def test_a_state_handled_by_hand_goes_through_a_loop_as_an_update():
    state = T.random.random_state(SEED)

    def step():
        following, value = T.random.normal(state, size=2)
        return value, {state: following}

    values, updates = scanviz.scan(step, n_steps=3)
    f = scanviz.function([], values, updates=updates)
    expected = seed_state(SEED)
    for _ in range(2):
        for row in f():
            expected, value = distributions.normal(expected, (2,))
            np.testing.assert_array_equal(row, value)


def test_reseeding_starts_every_draw_again():
    stream = T.random.RandomStreams(1)
    f = scanviz.function([], [stream.uniform(size=2), stream.permutation(5)])
    first = f()
    f()
    stream.seed(1)
    for a, b in zip(first, f(), strict=True):
        np.testing.assert_array_equal(a, b)
    stream.seed(2)
    assert not np.array_equal(first[0], f()[0])
    stream.seed()
    assert len({tuple(state.get_value().tolist()) for state, _ in stream.state_updates}) == 2


def test_streams_without_a_seed_differ():
    draws = [scanviz.function([], T.random.RandomStreams().uniform(size=4))() for _ in range(2)]
    assert not np.array_equal(*draws)


def test_a_pickled_function_continues_its_random_stream():
    stream = T.random.RandomStreams(3)
    f = scanviz.function([], stream.normal(size=3))
    f()
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(), f())


@given(n=st.integers(0, 6), m=st.integers(0, 6))
def test_sizes_and_parameters_may_be_symbolic(n, m):
    value, expected = SYMBOLIC(n, m, np.full((n, 1), 100.0)), (n, m)
    assert [each.shape for each in value] == [expected, expected, (*expected, 4), (n,), (n, 1)]
    assert sorted(value[3].tolist()) == list(range(n))


def _symbolic():
    n, m, mean = T.lscalar("n"), T.lscalar("m"), T.matrix("mean")
    stream = T.random.RandomStreams(4)
    return scanviz.function(
        [n, m, mean],
        [
            stream.normal(mean, size=(n, m)),
            stream.integers(0, 1 + n + m, size=[n, m]),
            stream.multinomial(n=5, pvals=P, size=T.stack([n, m])),
            stream.permutation(n),
            stream.poisson(mean),
        ],
    )


SYMBOLIC = _symbolic()


def test_shapes_of_draws_are_known_without_drawing():
    mean = T.matrix("mean")
    stream = T.random.RandomStreams(4)
    value = stream.multinomial(n=3, pvals=P, size=mean.shape)
    assert value.type.shape == (None, None, 4)
    f = scanviz.function([mean], value.shape[0] * 10 + value.shape[2])
    assert f(np.zeros((3, 2))) == 34


def test_an_invalid_draw_does_not_advance_the_stream():
    stream = T.random.RandomStreams(5)
    with pytest.raises(ScanvizTypeError):
        stream.uniform(dtype="int64")
    assert stream.state_updates == []


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda r: r.uniform(dtype="int32"), ScanvizTypeError, "uniform cannot be drawn as int32"),
        (lambda r: r.integers(3, dtype="float64"), ScanvizTypeError, "integers cannot be drawn as float64"),
        (lambda r: r.integers(0.5, 3), ScanvizTypeError, "integers: `low` must hold integers"),
        (lambda r: r.binomial(n=2.5), ScanvizTypeError, "binomial: `n` must hold integers"),
        (lambda r: r.normal([1.0, 2.0, 3.0], size=(2,)), ShapeError, "normal: `loc` does not broadcast"),
        (lambda r: r.normal(T.matrix("m"), size=3), ShapeError, "normal: `loc` does not broadcast"),
        (lambda r: r.categorical([P, P, P], size=(2,)), ShapeError, "categorical: `p` does not broadcast"),
        (lambda r: r.categorical(0.5), ShapeError, "categorical: `p` holds no category"),
        (lambda r: r.multinomial(n=3), ScanvizTypeError, "multinomial needs the probabilities"),
        (lambda r: r.permutation(2.5), ScanvizTypeError, "permutation: how many must be an integer"),
        (lambda r: T.random.uniform(T.scalar("x")), ScanvizTypeError, "a draw needs a random state first"),
        (lambda r: T.random.uniform(1.0, 2.0), ScanvizTypeError, "a draw needs a random state first"),
        (lambda r: T.random.RandomStreams(-1), ScanvizValueError, "seed is out of range"),
        (lambda r: T.random.RandomStreams(1.5), ScanvizTypeError, "seed must be an integer"),
        (lambda r: r.seed("a"), ScanvizTypeError, "seed must be an integer"),
    ],
)
def test_invalid_draws_are_refused_at_their_line(draw, error, message):
    with pytest.raises(error, match=message) as caught:
        draw(T.random.RandomStreams(1))
    assert "test_random_draws.py" in str(caught.value)


@pytest.mark.parametrize("mode", ["reference", "numpy"])
def test_a_bad_parameter_met_when_drawing_is_named_and_changes_nothing(mode):
    std = T.vector("std")
    stream = T.random.RandomStreams(6)
    f = scanviz.function([std], stream.normal(0.0, std), mode=mode)
    before = stream.state_updates[0][0].get_value()
    with pytest.raises(ScanvizValueError, match=r"`scale` is out of range") as caught:
        f([1.0, -2.0])
    assert "scale[1] = -2.0" in str(caught.value) and "test_random_draws.py" in str(caught.value)
    np.testing.assert_array_equal(stream.state_updates[0][0].get_value(), before)
    with pytest.raises(ScanvizValueError, match="scale"):
        f([1.0, np.nan])


def drawn(build):
    return scanviz.function([], build(T.random.RandomStreams(123)))()


def test_draws_of_one_trial_are_correct():
    few = drawn(lambda s: s.binomial(size=(2000,), n=1, p=[0.25], dtype="int8"))
    assert few.dtype == np.int8 and abs(few.mean() - 0.25) < 0.05 and set(few) == {0, 1}
    rows = drawn(lambda s: s.multinomial(size=2000, n=1, pvals=[0.2, 0.0, 0.8], dtype="int32"))
    assert rows.dtype == np.int32 and rows.shape == (2000, 3) and (rows.sum(axis=1) == 1).all()
    np.testing.assert_allclose(rows.mean(axis=0), [0.2, 0.0, 0.8], atol=0.05)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_counts_may_have_a_floating_dtype(dtype):
    values = drawn(lambda s: s.binomial(size=(3, 4), n=1, p=0.5, dtype=dtype))
    assert values.dtype == dtype and set(values.ravel().tolist()) <= {0, 1}
