"""Philox 4x64-10 against the published known answers, and the algebra of its states."""

import itertools
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.draws import philox
from scanviz.engine.ops.draws.philox import (
    CLOSE,
    MOST_AHEAD,
    PIECE,
    advance,
    blocks_at,
    consecutive_blocks,
    draw_blocks,
    draw_words,
    draw_words32,
    first_word,
    first_words,
    next_blocks,
    one_block,
    scattered_blocks,
    seed_state,
    spawn,
    split,
    writable_pieces,
)

# Random123's kat_vectors, philox4x64 with 10 rounds: place, key, result
KNOWN = [
    (
        (0, 0, 0, 0),
        (0, 0),
        (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
    ),
    (
        (2**64 - 1,) * 4,
        (2**64 - 1,) * 2,
        (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
    ),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]


def philox_blocks(key, index, n, lane=0):
    """The blocks of a key for the indices ``index``, ``index + 1``, …"""
    return draw_blocks(np.array([*key, *words_of(index, 2)], np.uint64), n, lane)


@pytest.mark.parametrize(("place", "key", "expected"), KNOWN)
def test_philox_agrees_with_the_published_test_vectors(place, key, expected):
    assert one_block(key, sum(word << 64 * k for k, word in enumerate(place))) == expected


@given(
    key=st.tuples(*[st.integers(0, 2**64 - 1)] * 2), index=st.integers(1, 2**128 - 20), n=st.integers(1, 12)
)
def test_blocks_are_those_of_the_generator_that_numpy_has(key, index, n):
    for lane in (0, 1, 2**64 - 1):
        numpy = np.random.Philox(key=key[0] + (key[1] << 64), counter=index - 1 + (lane << 192))
        np.testing.assert_array_equal(philox_blocks(key, index, n, lane).reshape(-1), numpy.random_raw(4 * n))


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
    assert not np.array_equal(draw_words32(spawn(state, 0), 8), draw_words32(spawn(state, 1), 8))


def test_equal_seeds_give_equal_states_and_unequal_ones_do_not():
    assert seed_state(5).tolist() == seed_state(5).tolist() != seed_state(6).tolist()


def words_of(number, count):
    return [number >> 64 * k & 2**64 - 1 for k in range(count)]


# Indices just below where a carry runs into the next word, and below where all of it wraps round.
EDGES = st.sampled_from([0, 2**64, 2**128]).flatmap(
    lambda edge: st.integers(edge - 60, edge + 60).map(lambda index: index % 2**128)
)


@given(index=EDGES, n=st.integers(17, 90))
def test_carries_run_through_both_words_of_the_index(index, n):
    key = [7, 11]
    together = philox_blocks(key, index, n)
    alone = [philox_blocks(key, (index + k) % 2**128, 1)[0] for k in range(n)]
    np.testing.assert_array_equal(together, alone)


@given(index=EDGES, blocks=st.integers(-(2**130), 2**130))
def test_advance_is_addition_modulo_2_to_the_128(index, blocks):
    state = np.array([1, 2, *words_of(index, 2)], np.uint64)
    assert advance(state, blocks).tolist() == [1, 2, *words_of((index + blocks) % 2**128, 2)]


@given(index=EDGES, lane=st.integers(0, 2**64 - 1), offsets=st.lists(st.integers(0, 2**40), max_size=40))
def test_blocks_at_offsets_are_those_of_advanced_states(index, lane, offsets):
    state = np.array([3, 4, *words_of(index, 2)], np.uint64)
    expected = [draw_blocks(advance(state, at), 1, lane)[0] for at in offsets]
    got = blocks_at(state, np.array(offsets, np.int64), lane)
    np.testing.assert_array_equal(got, np.array(expected, np.uint64).reshape(-1, 4))


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
    expected = [blocks[i // 4][i % 4] for i in range(n)]
    assert draw_words(state, n).tolist() == expected
    assert draw_words32(state, n).tolist() == [
        blocks[i // 8][i % 8 // 2] >> 32 * (i % 2) & 2**32 - 1 for i in range(n)
    ]
    assert draw_words32(state, n).dtype == np.uint32
    assert n < 2 or (first_word(state), first_words(state)) == (expected[0], tuple(expected[:2]))


def test_a_stream_is_the_same_child_however_much_was_drawn():
    state = seed_state(5)
    np.testing.assert_array_equal(spawn(advance(state, 2**80 + 3), 4), spawn(state, 4))
    np.testing.assert_array_equal(split(state, 5)[4], spawn(state, 4))


def test_bits_are_fair_and_uncorrelated_within_and_across_streams():
    first, second = (draw_words32(state, 40_000) for state in split(seed_state(8), 2))
    shifted = draw_words32(advance(seed_state(8), 1), 40_000)
    for words in (first, first ^ second, first ^ shifted, first[1:] ^ first[:-1], first[4:] ^ first[:-4]):
        ones = np.unpackbits(np.ascontiguousarray(words).view(np.uint8)).sum()
        assert stats.binomtest(int(ones), 32 * len(words)).pvalue > 1e-3
        counts = np.bincount(words >> 24, minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-3


def test_keys_one_bit_apart_give_unrelated_blocks():
    base = draw_words32(seed_state(0), 4000)
    distances = [
        np.unpackbits((base ^ draw_words32(seed_state(1 << bit), 4000)).view(np.uint8)).mean()
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


KEY = (0x123456789ABCDEF0, 0x0F1E2D3C4B5A6978)
INDICES = st.sampled_from([0, 77, 2**64 - 40, 2**128 - 50])


@pytest.fixture(params=["by NumPy", "by the formula"], autouse=True)
def maker(request, monkeypatch):
    """The function that makes many blocks."""
    if request.param == "by the formula":
        monkeypatch.setattr(philox, "_numpy_generator", lambda blocks: None)
    return request.param


def one_at_a_time(index, n, lane=0, key=KEY):
    return [list(one_block(key, (index + k) % 2**128 + (lane << 192))) for k in range(n)]


@given(
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 0, 1, -3, 700]), st.integers(0, 90), st.integers(0, 1))),
    INDICES,
)
def test_blocks_that_follow_one_another_are_those_of_their_places(asked, index):
    philox._ahead.clear()
    for jump, n, lane in asked:
        index += jump
        if index < 0:
            continue
        found = next_blocks(KEY, index, n, lane)
        assert found.shape == (n, 4) and found.dtype == np.uint64
        assert found.tolist() == one_at_a_time(index, n, lane)
        index += n


@pytest.mark.parametrize("index", [0, 2**64 - 3, 2**128 - 5000, 2**128 - 2])
def test_many_blocks_are_those_of_their_places_also_where_the_index_begins_anew(index):
    n = 5003
    for lane in (0, 7):
        found = consecutive_blocks(KEY, index, n, lane)
        for k in (0, 1, 2, 3, 4, 4095, 4096, 4999, 5000, n - 1):
            assert [found[k].tolist()] == one_at_a_time(index + k, 1, lane)


@given(INDICES, st.lists(st.integers(0, 500), max_size=120), st.sampled_from([1, CLOSE - 1, 1000]))
def test_blocks_in_any_order_are_those_of_their_places(index, offsets, apart):
    found = scattered_blocks(KEY, index, apart * np.array(offsets, np.int64), 2)
    assert found.tolist() == [one_at_a_time(index + apart * at, 1, 2)[0] for at in offsets]


def test_numpys_generator_is_imported_only_for_many_blocks(maker):
    code = (
        "import sys; from scanviz.engine.ops.draws.philox import *; state = seed_state(1)\n"
        "for k in range(20): draw_words(advance(state, k), 1)\n"
        "assert 'numpy.random' not in sys.modules\n"
        "few = draw_words(state, 400).tolist()\n"
        "assert draw_words(state, 300_000)[:400].tolist() == few and 'numpy.random' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_blocks_drawn_ahead_are_read_only_and_bounded():
    philox._ahead.clear()
    state = seed_state(3)
    for _ in range(300):
        blocks = draw_blocks(state, 40)
        state = advance(state, 40)
    with pytest.raises(ValueError, match="read-only"):
        blocks[0, 0] = 1
    for seed in range(200):
        draw_blocks(seed_state(seed), 3)
    kept = [len(blocks) for _, blocks in philox._ahead.values()]
    assert len(kept) <= philox._MOST_STREAMS and max(kept) <= MOST_AHEAD


def test_threads_draw_the_right_numbers_from_one_stream():
    wrong = []

    def draw(offset):
        state = advance(seed_state(5), offset)
        for _ in range(200):
            if draw_blocks(state, 3).tolist() != one_at_a_time(offset, 3, key=(5, 0)):
                wrong.append(offset)
            state, offset = advance(state, 3), offset + 3

    threads = [threading.Thread(target=draw, args=(7 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("n", [0, 1, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 3])
def test_words_in_pieces_are_the_words(n):
    state = advance(seed_state(9), 5)
    whole = np.empty(n, np.uint64)
    for place, words in writable_pieces(state, n):
        whole[place] = words
    np.testing.assert_array_equal(whole, draw_words(state, n))
