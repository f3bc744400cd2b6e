"""Choices and permutations: every order equally likely, weights honoured, nothing twice."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.draws.discrete import categorical, integers
from scanviz.engine.ops.draws.philox import advance, draw_words, seed_state, spawn
from scanviz.engine.ops.draws.selection import choice, permutation

STATE = seed_state(31)


def orders(draw, n, count, repetitions):
    """Count how often each ordered selection of ``count`` of ``n`` comes, in consecutive draws."""
    state, counts = STATE, dict.fromkeys(itertools.permutations(range(n), count), 0)
    for _ in range(repetitions):
        state, value = draw(state)
        counts[tuple(value.tolist())] += 1
    return counts


def test_all_permutations_are_equally_likely():
    counts = orders(lambda state: permutation(state, 4), 4, 4, 4800)
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_all_choices_without_replacement_are_equally_likely():
    counts = orders(lambda state: choice(state, (2,), 5, replace=False), 5, 2, 4000)
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


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


def test_what_cannot_be_permuted_is_refused():
    with pytest.raises(ScanvizTypeError, match="must be an integer"):
        permutation(STATE, 2.5)
    with pytest.raises(ScanvizValueError, match="cannot permute"):
        permutation(STATE, -1)
    with pytest.raises(ScanvizValueError, match="cannot permute"):
        permutation(STATE, 300, "int8")
