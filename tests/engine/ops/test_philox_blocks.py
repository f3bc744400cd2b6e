"""Blocks ahead of time and many at once are those that one block at a time gives, whatever was asked for before."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.ops import philox_blocks
from scanviz.engine.ops.philox import advance, draw_blocks, pieces_of_words64, seed_state
from scanviz.engine.ops.philox import draw_words64 as words64
from scanviz.engine.ops.philox_blocks import (
    MOST_AHEAD,
    PIECE,
    consecutive_blocks,
    key_schedule,
    next_blocks,
    one_block,
)

KEY = (0x12345678, 0x9ABCDEF0)
COUNTERS = st.sampled_from([0, 77, 2**32 - 40, 2**64 - 5, 2**96 - 3, 2**128 - 50])


def one_at_a_time(start, n, key=KEY):
    return [one_block(key_schedule(*key), start + k) for k in range(n)]


@given(
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 0, 1, -3, 700]), st.integers(0, 90), st.integers(0, 1))),
    COUNTERS,
)
def test_blocks_that_follow_one_another_are_those_of_their_counters(asked, start):
    philox_blocks._ahead.clear()
    for jump, n, lane in asked:
        start += jump
        if start < 0:
            continue
        found = next_blocks(*KEY, lane, start + (lane << 96), n)
        assert found.shape == (n, 4) and found.dtype == np.uint32
        assert found.tolist() == [list(words) for words in one_at_a_time(start + (lane << 96), n)]
        start += n


@pytest.mark.parametrize("start", [0, 2**32 - 3, 2**64 - PIECE, 2**64 - 1, 2**128 - 2])
def test_pieces_end_where_more_than_word_0_of_the_counter_changes(start):
    n = PIECE + 5
    found = consecutive_blocks(key_schedule(*KEY), start, n)
    for k in (0, 1, 2, 3, 4, PIECE - 1, PIECE, n - 1):
        assert tuple(found[k].tolist()) == one_block(key_schedule(*KEY), start + k)


def test_what_is_kept_ahead_cannot_be_written_to_and_is_bounded():
    philox_blocks._ahead.clear()
    state = seed_state(3)
    for _ in range(300):
        blocks = draw_blocks(state, 40)
        state = advance(state, 40)
    with pytest.raises(ValueError, match="read-only"):
        blocks[0, 0] = 1
    for seed in range(200):
        draw_blocks(seed_state(seed), 3)
    kept = [len(blocks) for _, blocks in philox_blocks._ahead.values()]
    assert len(kept) <= philox_blocks._MOST_STREAMS and max(kept) <= MOST_AHEAD


def test_threads_that_draw_from_one_stream_get_what_each_asked_for():
    wrong = []

    def draw(offset):
        state = advance(seed_state(5), offset)
        for _ in range(200):
            expected = one_at_a_time(offset, 3, (5, 0))
            if draw_blocks(state, 3).tolist() != [list(words) for words in expected]:
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
    for place, words in pieces_of_words64(state, n):
        whole[place] = words
    np.testing.assert_array_equal(whole, words64(state, n))
