"""Philox 4x32-10 against the published known answers, and the algebra of its states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.ops.philox import advance, draw_words, philox_blocks, seed_state, spawn

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
