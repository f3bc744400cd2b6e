"""Integers, bernoulli and categorical draws, choices and permutations: exact numbers from documented words, laws, refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.ops.draws import discrete as distributions_discrete
from scanviz.engine.ops.draws.discrete import bernoulli, categorical, choice, integers, permutation, pick
from scanviz.engine.ops.draws.philox import advance, draw_words, seed_state, spawn

STATE = seed_state(77)
N = 30_000
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def integer_by_hand(state, element, low, high):
    """Lemire's method for one element with Python's long integers."""
    span = high - low
    for lane in range(100):
        word = int(draw_words(state, element + 1, lane)[element])
        if word * span % 2**64 >= 2**64 % span:
            return low + (word * span >> 64)
    raise AssertionError("no attempt was accepted")


@st.composite
def ranges(draw):
    dtype = draw(st.sampled_from(DTYPES))
    limits = np.iinfo(dtype)
    most = min(int(limits.max), 2**64 - 2)
    low = draw(st.integers(int(limits.min), most))
    return dtype, low, draw(st.integers(low + 1, min(most + 1, 2**64 - 1)))


@given(wanted=ranges(), n=st.integers(0, 45), seed=st.integers(0, 2**64 - 1))
def test_integers_are_lemires_for_any_dtype_and_range(wanted, n, seed):
    dtype, low, high = wanted
    state = seed_state(seed)
    after, value = integers(state, (n,), low, high, dtype)
    assert value.dtype == dtype and value.shape == (n,)
    assert value.tolist() == [integer_by_hand(state, i, low, high) for i in range(n)]
    np.testing.assert_array_equal(after, advance(state, -(-n // 4)))


@given(wanted=ranges(), seed=st.integers(0, 2**64 - 1))
def test_a_single_integer_is_the_first_of_many(wanted, seed):
    dtype, low, high = wanted
    after, value = integers(seed_state(seed), (), low, high, dtype)
    assert type(value) is np.ndarray and value.dtype == dtype and value.shape == ()
    assert value.tolist() == integer_by_hand(seed_state(seed), 0, low, high)
    np.testing.assert_array_equal(after, advance(seed_state(seed), 1))


def test_a_single_integer_is_drawn_again_when_its_word_is_rejected():
    span = 2**63 + 1
    states = [seed_state(seed) for seed in range(50)]
    got = [int(integers(state, (), 0, span, "uint64")[1]) for state in states]
    assert got == [integer_by_hand(state, 0, 0, span) for state in states]
    first = [int(draw_words(state, 1)[0]) * span >> 64 for state in states]
    assert 10 < sum(a != b for a, b in zip(first, got, strict=True)) < 40


@pytest.mark.parametrize("shape", [(), (9,), (2, 3)])
def test_of_all_integers_of_64_bits_each_word_is_one(shape):
    low, high = np.int64(-(2**63)), np.uint64(2**63)
    _, value = integers(STATE, shape, low, high, "int64")
    drawn = [integer_by_hand(STATE, i, int(low), int(high)) for i in range(math.prod(shape))]
    assert value.reshape(-1).tolist() == drawn


def test_all_integers_of_64_bits_are_drawn_beside_fewer():
    low, high = np.array([-(2**63), 1, -(2**63), 0]), np.array([2**63, 7, 1, 2**63], np.uint64)
    _, value = integers(STATE, (4,), low, high, "int64")
    ends = zip(low.tolist(), high.tolist(), strict=True)
    assert value.tolist() == [integer_by_hand(STATE, i, *both) for i, both in enumerate(ends)]


def test_rejected_words_are_drawn_again_in_the_next_lane():
    span = 2**63 + 1  # nearly half of all words are rejected
    _, value = integers(STATE, (300,), 0, span, "uint64")
    assert value.tolist() == [integer_by_hand(STATE, i, 0, span) for i in range(300)]
    first = [word * span >> 64 for word in draw_words(STATE, 300).tolist()]
    differing = sum(a != b for a, b in zip(first, value.tolist(), strict=True))
    assert 100 < differing < 200


def test_each_element_has_its_own_range():
    low, high = np.arange(-40, 40).reshape(8, 10), np.arange(-39, 121, 2).reshape(8, 10)
    _, value = integers(STATE, (8, 10), low, high)
    expected = [
        integer_by_hand(STATE, i, a, b)
        for i, (a, b) in enumerate(zip(low.ravel().tolist(), high.ravel().tolist(), strict=True))
    ]
    assert value.ravel().tolist() == expected
    huge = np.array([3, 2**63 + 1, 2**64 - 1, 2**63 + 1], np.uint64)
    _, value = integers(STATE, (4,), 0, huge, "uint64")
    assert value.tolist() == [integer_by_hand(STATE, i, 0, int(b)) for i, b in enumerate(huge.tolist())]


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (3, 3, "int64"),
        (2**63, 2**63 + 1, "int64"),
        (4, 3, "int64"),
        (0, 129, "int8"),
        (-1, 5, "uint8"),
        ([0, 5], [1, 5], "int64"),
    ],
)
def test_empty_ranges_and_those_a_dtype_does_not_hold_are_refused(low, high, dtype):
    for shape in ((2,), () if np.ndim(low) == 0 else (1, 2)):
        with pytest.raises(ScanvizValueError, match="integers"):
            integers(STATE, shape, low, high, dtype)


def test_ends_that_are_no_integers_are_refused():
    for low, high in ((0.0, 3), (0, 2.5), (False, 2), (0, 2**70)):
        with pytest.raises(ScanvizTypeError, match="integers"):
            integers(STATE, (2,), low, high)
    with pytest.raises(ScanvizTypeError, match="an integer dtype"):
        integers(STATE, (2,), 0, 3, "float64")


@given(p=st.floats(0, 1), n=st.integers(0, 60))
def test_bernoulli_compares_the_documented_uniform(p, n):
    after, value = bernoulli(STATE, (n,), p)
    assert value.dtype == bool
    assert value.tolist() == [(word >> 11) * 2.0**-53 < p for word in draw_words(STATE, n).tolist()]
    np.testing.assert_array_equal(after, advance(STATE, -(-n // 4)))


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, [0.5, 2.0]])
def test_bernoulli_refuses_invalid_probabilities(p):
    with pytest.raises(ScanvizValueError, match="`p` is out of range"):
        bernoulli(STATE, (2,), p)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categories_come_with_their_probabilities(dtype):
    weights = np.array([0.1, 0.0, 0.25, 0.6, 0.05], dtype)
    after, value = categorical(STATE, (N,), weights)
    counts = np.bincount(value, minlength=5)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3, 4]], N * np.array([0.1, 0.25, 0.6, 0.05])).pvalue > 1e-3
    np.testing.assert_array_equal(after, advance(STATE, N // 4))


@given(
    words=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=9),
    span=st.sampled_from([1, 2, 6, 1000, 2**31 + 1, 2**32 - 1]),
    unfair=st.booleans(),
)
def test_a_word_that_may_be_unfair_is_seen_among_others(words, span, unfair):
    words = [word for word in words if word * span % 2**64 >= 2**32] + [0] * unfair
    out = np.empty(len(words), np.uint64)
    fair = distributions_discrete._write_fair(np.array(words, np.uint64), np.array([span], np.uint64), out)
    assert fair == (not unfair) and out.tolist() == [word * span >> 64 for word in words]


@given(
    weights=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), min_size=1, max_size=5)
)
def test_rows_of_probabilities_draw_like_each_row_alone(weights):
    rows = np.array([np.array(row) / sum(row) for row in weights])
    _, together = categorical(STATE, (6, len(rows)), rows)
    for column, row in enumerate(rows):
        _, alone = categorical(STATE, (6, len(rows)), row)
        np.testing.assert_array_equal(together[:, column], alone[:, column])
        assert (row[together[:, column]] > 0).all()


@given(weights=st.lists(st.floats(0, 1e3), min_size=1, max_size=8).filter(lambda w: sum(w) > 1e-3))
def test_the_largest_uniform_never_picks_a_category_of_probability_0(weights):
    sums = np.cumsum(np.array([*weights, 0.0]))
    largest = np.array(1 - 2.0**-53)
    for sum_rows in (sums, sums[None]):
        assert weights[int(np.ravel(pick(sum_rows, largest))[0])] > 0


@pytest.mark.parametrize("pvals", [[0.5, 0.4], [1.5, -0.5], [math.nan, 1.0], [math.inf, 0.0], [[1.0], [0.9]]])
def test_invalid_distributions_are_refused(pvals):
    with pytest.raises(ScanvizValueError, match="categorical: `p"):
        categorical(STATE, (2,), pvals)


def test_a_batch_of_distributions_that_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="does not broadcast"):
        categorical(STATE, (2,), np.full((3, 2), 0.5))
    for none in (1.0, np.ones((2, 0))):
        with pytest.raises(ShapeError, match="holds no category"):
            categorical(STATE, (2,), none)
    with pytest.raises(ScanvizValueError, match="int8 does not hold"):
        categorical(STATE, (2,), np.full(200, 1 / 200), "int8")


def orders(draw, n, count, repetitions):
    """Count how often each ordered selection of ``count`` of ``n`` comes, in consecutive draws."""
    state, counts = STATE, dict.fromkeys(itertools.permutations(range(n), count), 0)
    for _ in range(repetitions):
        state, value = draw(state)
        counts[tuple(value.tolist())] += 1
    return counts


def test_weighted_choices_without_replacement_are_successive_draws():
    p = [0.5, 0.3, 0.15, 0.05]
    counts = orders(lambda state: choice(state, (2,), 4, False, p), 4, 2, 6000)
    expected = [p[a] * p[b] / (1 - p[a]) * 6000 for a, b in counts]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-3


@given(n=st.integers(0, 80), seed=st.integers(0, 2**64 - 1))
def test_a_permutation_is_the_order_of_documented_words(n, seed):
    state = seed_state(seed)
    after, value = permutation(state, n)
    words = draw_words(state, n).tolist()
    assert value.tolist() == sorted(range(n), key=words.__getitem__)
    np.testing.assert_array_equal(after, advance(state, -(-n // 4)))
    assert choice(state, (n // 2,), n, replace=False)[1].tolist() == value.tolist()[: n // 2]


@given(rows=st.integers(0, 20))
def test_rows_of_an_array_are_permuted_together(rows):
    array = np.arange(3.0 * rows).reshape(rows, 3)
    _, value = permutation(STATE, array)
    np.testing.assert_array_equal(value, array[permutation(STATE, rows)[1]])
    assert value.dtype == array.dtype and not np.shares_memory(value, array)


def test_choices_with_replacement_are_integers_or_categories():
    after, value = choice(STATE, (3, 4), 7, dtype="int32")
    expected_after, expected = integers(STATE, (3, 4), 0, 7, "int32")
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(after, expected_after)
    np.testing.assert_array_equal(
        choice(STATE, (9,), 2, p=[0.2, 0.8])[1], categorical(STATE, (9,), [0.2, 0.8])[1]
    )


@given(k=st.integers(0, 30), seed=st.integers(0, 1000))
def test_candidates_of_probability_0_are_never_chosen(k, seed):
    p = np.where(np.arange(60) % 2, 1 / 30, 0.0)
    after, value = choice(spawn(STATE, seed), (k,), 60, False, p)
    assert (value % 2 == 1).all() and len(set(value.tolist())) == k
    np.testing.assert_array_equal(after, advance(spawn(STATE, seed), 15))


def test_nothing_can_be_chosen_from_nothing():
    assert choice(STATE, (0,), 0)[1].shape == (0,)
    assert choice(STATE, (0,), 0, replace=False)[1].shape == (0,)
    assert permutation(STATE, 0)[1].shape == (0,)
    with pytest.raises(ScanvizValueError, match="nothing to choose from"):
        choice(STATE, (1,), 0)


def test_impossible_choices_are_refused():
    with pytest.raises(ScanvizValueError, match="too few candidates"):
        choice(STATE, (4,), 3, replace=False)
    with pytest.raises(ScanvizValueError, match="too few candidates"):
        choice(STATE, (2, 1), 3, False, [0.0, 1.0, 0.0])
    with pytest.raises(ScanvizValueError, match="wrong length"):
        choice(STATE, (1,), 3, p=[0.5, 0.5])
    with pytest.raises(ScanvizValueError, match="`p"):
        choice(STATE, (1,), 2, p=[math.nan, 1.0])


def test_permutation_refuses_invalid_arguments():
    with pytest.raises(ScanvizTypeError, match="must be an integer"):
        permutation(STATE, 2.5)
    with pytest.raises(ScanvizValueError, match="cannot permute"):
        permutation(STATE, -1)
    with pytest.raises(ScanvizValueError, match="cannot permute"):
        permutation(STATE, 300, "int8")
