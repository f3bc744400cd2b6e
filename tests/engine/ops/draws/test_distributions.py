"""Continuous draws: the documented formulas word by word, and how far states move (distributions: laws)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizError, ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.ops.draws.continuous import gamma
from scanviz.engine.ops.draws.distributions import exponential, normal, uniform
from scanviz.engine.ops.draws.philox import advance, draw_blocks, draw_words, draw_words32, seed_state, spawn
from scanviz.engine.ops.draws.unit_interval import (
    from_zero,
    from_zero_single,
    inside,
    up_to_one,
    up_to_one_single,
)

STATE = seed_state(20261120)
SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
DRAWS = {"uniform": uniform, "normal": normal, "exponential": exponential, "gamma": gamma}


def blocks_expected(name, n, dtype):
    if name == "gamma":
        return n
    if name == "normal":
        n += n % 2
    return -(-n // (4 if dtype == "float64" else 8))


@pytest.mark.parametrize("name", DRAWS)
@given(shape=SHAPES, dtype=st.sampled_from(["float32", "float64"]), seed=st.integers(0, 2**64 - 1))
def test_a_draw_has_its_shape_and_dtype_and_advances_the_state_by_its_shape(name, shape, dtype, seed):
    state = seed_state(seed)
    before = state.copy()
    after, value = DRAWS[name](state, shape, dtype=dtype)
    assert type(value) is np.ndarray and value.shape == shape and value.dtype == dtype
    np.testing.assert_array_equal(after, advance(state, blocks_expected(name, math.prod(shape), dtype)))
    np.testing.assert_array_equal(state, before)
    again, same = DRAWS[name](state, shape, dtype=dtype)
    np.testing.assert_array_equal(same, value)
    np.testing.assert_array_equal(again, after)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DRAWS)
def test_a_longer_draw_starts_with_the_elements_of_a_shorter_one(name, dtype):
    _, longest = DRAWS[name](STATE, (9000,), dtype=dtype)
    for n in (1, 2, 3, 7, 31, 33, 64, 65, 8193):
        np.testing.assert_allclose(
            DRAWS[name](STATE, (n,), dtype=dtype)[1], longest[:n], rtol=3e-6 if dtype == "float32" else 1e-12
        )
    np.testing.assert_allclose(DRAWS[name](STATE, (), dtype=dtype)[1], longest[0], rtol=3e-6)


@given(low=st.floats(-1e6, 1e6), width=st.floats(0, 1e6), n=st.integers(1, 70))
def test_uniforms_are_the_documented_bits(low, width, n):
    high = low + width
    words = draw_words(STATE, n).tolist()
    expected = [low + (high - low) * ((word >> 11) * 2.0**-53) for word in words]
    assert uniform(STATE, (n,), low, high)[1].tolist() == expected
    assert float(uniform(STATE, (), low, high)[1]) == expected[0]
    bottom, top = np.float32(low), np.float32(high)
    singles = [np.float32(word >> 8) * np.float32(2.0**-24) for word in draw_words32(STATE, n).tolist()]
    expected32 = [bottom + (top - bottom) * each for each in singles]
    assert uniform(STATE, (n,), low, high, "float32")[1].tolist() == expected32


@given(n=st.integers(1, 40))
def test_normals_are_the_documented_box_muller_pairs(n):
    words = draw_words(STATE, n + n % 2).tolist()
    expected = []
    for radius_word, angle_word in zip(words[0::2], words[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(1 - (radius_word >> 11) * 2.0**-53))
        angle = 2 * math.pi * (angle_word >> 11) * 2.0**-53
        expected += [radius * math.cos(angle), radius * math.sin(angle)]
    np.testing.assert_allclose(normal(STATE, (n,))[1], expected[:n], rtol=1e-12, atol=1e-14)
    singles = draw_words32(STATE, n + n % 2).tolist()
    expected = []
    for radius_word, angle_word in zip(singles[0::2], singles[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(radius_word * 2.0**-32 + 2.0**-33))
        angle = 2 * math.pi * (angle_word >> 8) * 2.0**-24
        expected += [radius * math.cos(angle), radius * math.sin(angle)]
    np.testing.assert_allclose(normal(STATE, (n,), dtype="float32")[1], expected[:n], rtol=1e-4, atol=2e-6)


def gamma_by_hand(block, shape):
    """Marsaglia and Tsang for one element, from its block number, with Python numbers alone."""
    shifted = shape + (shape < 1) - 1 / 3
    for lane in range(1, 100):
        far, turn, deciding, _ = draw_blocks(advance(STATE, block), 1, lane)[0].tolist()
        radius = math.sqrt(-2 * math.log(1 - (far >> 11) * 2.0**-53))
        x = radius * math.cos(2 * math.pi * (turn >> 11) * 2.0**-53)
        v = (1 + x / math.sqrt(9 * shifted)) ** 3
        if v > 0 and math.log(((deciding >> 12) + 0.5) * 2.0**-52) < x * x / 2 + shifted * (
            1 - v + math.log(v)
        ):
            break
    first = draw_blocks(advance(STATE, block), 1)[0, 0].item()
    u = ((first >> 12) + 0.5) * 2.0**-52
    return shifted * v * (u ** (1 / shape) if shape < 1 else 1.0)


def test_gammas_are_marsaglia_and_tsangs_with_one_block_an_element_and_attempt():
    shapes = np.linspace(0.05, 6, 400)
    expected = [gamma_by_hand(i, shape) for i, shape in enumerate(shapes.tolist())]
    np.testing.assert_allclose(gamma(STATE, (400,), shapes)[1], expected, rtol=1e-9)


@pytest.mark.parametrize("shape", [0.02, 1.0, 1e9])
def test_float32_gammas_are_rounded_float64_gammas(shape):
    double, single = (gamma(STATE, (1000,), shape, dtype=dtype)[1] for dtype in ("float64", "float32"))
    np.testing.assert_array_equal(single, double.astype(np.float32))


def test_streams_do_not_correlate():
    streams = [normal(spawn(STATE, k), (20_000,))[1] for k in range(4)]
    correlations = np.corrcoef(streams)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 4 / math.sqrt(20_000)


def test_parameters_broadcast_to_the_shape():
    low = np.array([[0.0], [10.0]])
    value = uniform(STATE, (2, 3), low, low + np.array([1.0, 2.0, 0.0]))[1]
    assert (value >= low).all() and (value[:, 2] == low[:, 0]).all()
    spread = normal(STATE, (4, 2), np.array([100.0, -100.0]), [0.0, 1.0])[1]
    assert (spread[:, 0] == 100).all() and (np.abs(spread[:, 1] + 100) < 10).all()
    assert gamma(STATE, (2, 2), np.array([[0.0], [5.0]]))[1][0].tolist() == [0.0, 0.0]


NAN, INF = math.nan, math.inf
BAD = [
    (uniform, (1.0, 0.0)),
    (uniform, (NAN, 1.0)),
    (uniform, (0.0, INF)),
    (uniform, (-1.7e308, 1.7e308)),
    (normal, (NAN, 1.0)),
    (normal, (0.0, -1.0)),
    (normal, (0.0, NAN)),
    (exponential, (-1.0,)),
    (exponential, (NAN,)),
    (gamma, (-0.5, 1.0)),
    (gamma, (NAN, 1.0)),
    (gamma, (1.0, -1.0)),
    (gamma, (INF, 1.0)),
]


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize(("function", "parameters"), BAD)
def test_bad_parameters_are_refused_by_the_name_of_the_distribution(function, parameters, shape):
    with pytest.raises(ScanvizValueError, match=function.__name__):
        function(STATE, shape, *parameters)


def test_a_message_shows_which_element_is_wrong():
    with pytest.raises(ScanvizValueError) as caught:
        normal(STATE, (2, 2), 0.0, [[1.0, 2.0], [-3.0, 1.0]])
    assert str(caught.value) == "\n".join(
        ["normal: `scale` is out of range", "  expected: 0 or more", "  found:    scale[1, 0] = -3.0"]
    )


@pytest.mark.parametrize("function", DRAWS.values())
def test_shapes_and_dtypes_that_do_not_fit_are_refused(function):
    with pytest.raises(ShapeError, match="does not broadcast"):
        function(STATE, (3,), np.ones(2))
    with pytest.raises(ShapeError, match="does not broadcast"):
        function(STATE, (), np.ones(1))
    with pytest.raises(ScanvizValueError, match="negative"):
        function(STATE, (-1,))
    with pytest.raises(ScanvizTypeError, match="float32 or float64"):
        function(STATE, (2,), dtype="int64")
    assert issubclass(ScanvizValueError, ValueError) and issubclass(ShapeError, ScanvizError)


def test_normals_drawn_one_by_one_have_the_bits_of_one_draw():
    state = seed_state(11)
    together = normal(state, (500, 4), 1.3, 2.7)[1][:, 0]
    for expected in together:
        state, one = normal(state, (), 1.3, 2.7)
        assert one.tobytes() == expected.tobytes() and one.dtype == expected.dtype and one.shape == ()


ENDS64 = np.array([0, 2**64 - 1], np.uint64)
ENDS32 = np.array([0, 2**32 - 1], np.uint32)


@pytest.mark.parametrize(
    ("function", "words", "least", "most"),
    [
        (from_zero, ENDS64, 0.0, 1 - 2.0**-53),
        (up_to_one, ENDS64, 2.0**-53, 1.0),
        (inside, ENDS64, 2.0**-53, 1 - 2.0**-53),
        (from_zero_single, ENDS32, 0.0, 1 - 2.0**-24),
        (up_to_one_single, ENDS32, 2.0**-33, 1.0),
    ],
)
def test_the_least_and_the_largest_number_are_the_documented_ones(function, words, least, most):
    got = function(words)
    assert got.dtype == (np.float64 if words.dtype == np.uint64 else np.float32)
    assert sorted(got.tolist()) == [least, most]
