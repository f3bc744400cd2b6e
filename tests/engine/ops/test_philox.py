"""Philox 4x32-10 against the published known answers, and the algebra of its states."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.philox import (
    advance,
    blocks_at,
    draw_blocks,
    draw_word64,
    draw_words,
    draw_words64,
    pairs,
    seed_state,
    spawn,
    split,
)

# Random123's kat_vectors, philox4x32 with 10 rounds: counter, key, result
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox_blocks(key, counter, n):
    """The blocks of a key for the counters ``counter``, ``counter + 1``, …"""
    return draw_blocks(np.concatenate([np.asarray(key, np.uint32), np.asarray(counter, np.uint32)]), n)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_the_published_answers_come_out(counter, key, expected):
    key, counter = np.array(key, np.uint32), np.array(counter, np.uint32)
    assert philox_blocks(key, counter, 1)[0].tolist() == list(expected)
    assert philox_blocks(key, counter, 50)[0].tolist() == list(expected)  # the vectorised path


@given(seed=st.integers(0, 2**64 - 1), n=st.integers(1, 40))
def test_one_block_at_a_time_equals_many_at_once(seed, n):
    state = seed_state(seed)
    together = philox_blocks(state[:2], state[2:], n)
    single = [philox_blocks(each[:2], each[2:], 1)[0] for each in (advance(state, k) for k in range(n))]
    np.testing.assert_array_equal(together, np.array(single))


@given(seed=st.integers(0, 2**64 - 1), a=st.integers(0, 2**70), b=st.integers(0, 2**70))
def test_advancing_adds_up_and_changes_no_argument(seed, a, b):
    state = seed_state(seed)
    before = state.copy()
    np.testing.assert_array_equal(advance(advance(state, a), b), advance(state, a + b))
    np.testing.assert_array_equal(state, before)


def test_streams_of_one_seed_have_keys_of_their_own():
    state = seed_state(42)
    keys = {tuple(spawn(state, k)[:2].tolist()) for k in range(2000)}
    assert len(keys) == 2000
    assert not np.array_equal(draw_words(spawn(state, 0), 8), draw_words(spawn(state, 1), 8))


def test_equal_seeds_give_equal_states_and_unequal_ones_do_not():
    assert seed_state(5).tolist() == seed_state(5).tolist() != seed_state(6).tolist()


def words_of(number, count):
    return [number >> 32 * k & 0xFFFFFFFF for k in range(count)]


# Counters just below where a carry runs into the next word, and below where all of it wraps round.
EDGES = st.sampled_from([0, 2**32, 2**64, 2**96, 2**128]).flatmap(
    lambda edge: st.integers(edge - 60, edge + 60).map(lambda counter: counter % 2**128)
)


@given(counter=EDGES, n=st.integers(17, 90))
def test_carries_run_through_all_words_of_the_counter(counter, n):
    key = [7, 11]
    together = philox_blocks(key, words_of(counter, 4), n)
    alone = [philox_blocks(key, words_of((counter + k) % 2**128, 4), 1)[0] for k in range(n)]
    np.testing.assert_array_equal(together, alone)


@given(counter=EDGES, blocks=st.integers(-(2**130), 2**130))
def test_advance_is_addition_modulo_2_to_the_128(counter, blocks):
    state = np.array([1, 2, *words_of(counter, 4)], np.uint32)
    assert advance(state, blocks).tolist() == [1, 2, *words_of((counter + blocks) % 2**128, 4)]


@given(counter=EDGES, lane=st.integers(0, 2**32 - 1), offsets=st.lists(st.integers(0, 2**40), max_size=40))
def test_blocks_at_offsets_are_those_of_advanced_states(counter, lane, offsets):
    state = np.array([3, 4, *words_of(counter, 4)], np.uint32)
    in_lane = advance(state, lane << 96)
    expected = [draw_blocks(advance(in_lane, at), 1)[0] for at in offsets]
    got = blocks_at(state, np.array(offsets, np.int64), lane)
    np.testing.assert_array_equal(got, np.array(expected, np.uint32).reshape(-1, 4))


def test_long_draws_are_made_of_pieces_that_join():
    state = seed_state(12)
    blocks = draw_blocks(state, 10_000, lane=3)
    for at in (0, 4095, 4096, 8191, 8192, 9999):
        np.testing.assert_array_equal(blocks[at], draw_blocks(advance(state, at), 1, lane=3)[0])
    np.testing.assert_array_equal(blocks_at(state, np.arange(10_000), 3), blocks)


@given(n=st.integers(0, 100))
def test_elements_come_from_the_documented_words(n):
    state = seed_state(99)
    blocks = draw_blocks(state, n).tolist()
    assert draw_words(state, n).tolist() == [blocks[i // 4][i % 4] for i in range(n)]
    expected = [blocks[i // 2][2 * (i % 2)] + 2**32 * blocks[i // 2][2 * (i % 2) + 1] for i in range(n)]
    assert draw_words64(state, n).tolist() == expected
    assert pairs(draw_blocks(state, n)).dtype == np.uint64
    assert n == 0 or draw_word64(state) == expected[0]


def test_a_stream_is_the_same_child_however_much_was_drawn():
    state = seed_state(5)
    np.testing.assert_array_equal(spawn(advance(state, 2**80 + 3), 4), spawn(state, 4))
    np.testing.assert_array_equal(split(state, 5)[4], spawn(state, 4))


def test_bits_are_fair_and_uncorrelated_within_and_across_streams():
    first, second = (draw_words(state, 40_000) for state in split(seed_state(8), 2))
    shifted = draw_words(advance(seed_state(8), 1), 40_000)
    for words in (first, first ^ second, first ^ shifted, first[1:] ^ first[:-1], first[4:] ^ first[:-4]):
        ones = np.unpackbits(np.ascontiguousarray(words).view(np.uint8)).sum()
        assert stats.binomtest(int(ones), 32 * len(words)).pvalue > 1e-3
        counts = np.bincount(words >> 24, minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-3


def test_keys_one_bit_apart_give_unrelated_blocks():
    base = draw_words(seed_state(0), 4000)
    distances = [
        np.unpackbits((base ^ draw_words(seed_state(1 << bit), 4000)).view(np.uint8)).mean()
        for bit in range(64)
    ]
    assert max(abs(distance - 0.5) for distance in distances) < 4.5 * 0.5 / np.sqrt(32 * 4000)


def test_blocks_do_not_repeat():
    states = [seed_state(1), seed_state(2), advance(seed_state(1), 5000), spawn(seed_state(1), 0)]
    rows = itertools.chain.from_iterable(map(tuple, draw_blocks(state, 5000).tolist()) for state in states)
    assert len(set(rows)) == 20_000


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range_are_refused(seed):
    with pytest.raises(ScanvizValueError, match="seed is out of range"):
        seed_state(seed)
    with pytest.raises(ScanvizValueError, match="out of range"):
        spawn(seed_state(0), seed)


@pytest.mark.parametrize("seed", [1.0, "1", None, True])
def test_seeds_that_are_no_integers_are_refused(seed):
    with pytest.raises(ScanvizTypeError, match="must be an integer"):
        seed_state(seed)
