"""Blocks ahead of time and many at once are those that one block at a time gives, whatever was asked for before."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.ops.draws import philox_blocks
from scanviz.engine.ops.draws.philox import (
    PIECE,
    advance,
    draw_blocks,
    draw_words,
    seed_state,
    writable_pieces,
)
from scanviz.engine.ops.draws.philox_blocks import (
    CLOSE,
    MOST_AHEAD,
    consecutive_blocks,
    next_blocks,
    one_block,
    scattered_blocks,
)

KEY = (0x123456789ABCDEF0, 0x0F1E2D3C4B5A6978)
INDICES = st.sampled_from([0, 77, 2**64 - 40, 2**128 - 50])


@pytest.fixture(params=["by NumPy", "by the formula"], autouse=True)
def maker(request, monkeypatch):
    """Who makes many blocks."""
    if request.param == "by the formula":
        monkeypatch.setattr(philox_blocks, "_numpy_generator", lambda blocks: None)
    return request.param


def one_at_a_time(index, n, lane=0, key=KEY):
    return [list(one_block(key, (index + k) % 2**128 + (lane << 192))) for k in range(n)]


@given(
    st.lists(st.tuples(st.sampled_from([0, 0, 0, 0, 1, -3, 700]), st.integers(0, 90), st.integers(0, 1))),
    INDICES,
)
def test_blocks_that_follow_one_another_are_those_of_their_places(asked, index):
    philox_blocks._ahead.clear()
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


def test_the_generator_of_numpy_is_imported_where_many_blocks_are_wanted_only(maker):
    code = (
        "import sys; from scanviz.engine.ops.draws.philox import *; state = seed_state(1)\n"
        "for k in range(20): draw_words(advance(state, k), 1)\n"
        "assert 'numpy.random' not in sys.modules\n"
        "few = draw_words(state, 400).tolist()\n"
        "assert draw_words(state, 300_000)[:400].tolist() == few and 'numpy.random' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_generator_that_gives_something_else_is_not_taken(monkeypatch):
    class Other(np.random.Philox):
        def random_raw(self, size):
            return super().random_raw(size) + 1

    philox_blocks._compared_generator.cache_clear()
    assert philox_blocks._compared_generator() is np.random.Philox
    monkeypatch.setattr(np.random, "Philox", Other)
    philox_blocks._compared_generator.cache_clear()
    assert philox_blocks._compared_generator() is None
    philox_blocks._compared_generator.cache_clear()


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
