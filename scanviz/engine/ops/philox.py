"""Philox 4x32-10: the counter-based generator behind every random number of scanviz.

A block of four 32-bit words is a pure function of a 64-bit key and a 128-bit counter, so a draw can be
computed in any order, on any backend and in any thread, and gives the same bits.  Nothing is hidden: a
*state* is a plain array.

State
    ``uint32`` array of shape (6,): ``key0, key1, counter0, counter1, counter2, counter3``, least significant
    word first.  States are values: nothing here writes into the one it is given.
Running index and lanes
    A draw reads blocks ``counter, counter + 1, …`` and leaves the counter after the last of them; how many
    depends on the shape drawn and the distribution, never on values.  A sampler that may have to try again
    (gamma, poisson, integers, …) does so without reading ahead: attempt ``j`` of an element takes the *same*
    running index in *lane* ``j``, which is ``counter3 + j`` modulo 2**32.  Draws collide only after 2**96
    blocks or 2**32 - 1 attempts.
Streams
    :func:`spawn` makes the key of child ``i`` from the parent's key: words 0 and 1 of the block with counter
    ``(i low, i high, 0, 0xFFFFFFFF)``, a lane that no draw reaches.
Which word gives which element
    32-bit element ``i`` is word ``i % 4`` of block ``i // 4``; 64-bit element ``i`` is made of words ``2 * (i
    % 2)`` (low half) and ``2 * (i % 2) + 1`` (high half) of block ``i // 2``.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
checked against the known answers published with Random123.  Not for cryptography.

A few blocks are computed with Python integers, many with NumPy; both give the same bits
(:mod:`scanviz.engine.ops.philox_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.ops.philox_blocks import (
    MASK32,
    MASK64,
    MASK128,
    PIECE,
    key_schedule,
    new_memory,
    new_room,
    next_blocks,
    one_block,
    scattered_blocks,
    write_blocks,
)
from scanviz.engine.ops.philox_blocks import Words as Words
from scanviz.engine.ops.philox_blocks import Words64 as Words64

STATE_WORDS = 6
_SPAWN_LANE = 0xFFFFFFFF


def seed_state(seed: int) -> Words:
    """Return the state whose key is ``seed`` and whose counter is zero.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1; different seeds give independent streams.

    Returns
    -------
    numpy.ndarray
        State, uint32 of shape (6,).

    Raises
    ------
    ScanvizTypeError
        If ``seed`` is not an integer.
    ScanvizValueError
        If it is negative or too large.

    Examples
    --------
    >>> seed_state(7)
    array([7, 0, 0, 0, 0, 0], dtype=uint32)
    """
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise ScanvizTypeError(
            "a random seed must be an integer", expected="0 to 2**64 - 1", found=repr(seed)
        )
    if not 0 <= seed <= MASK64:
        raise ScanvizValueError("a random seed is out of range", expected="0 to 2**64 - 1", found=seed)
    return np.array([int(seed) & MASK32, int(seed) >> 32, 0, 0, 0, 0], np.uint32)


def spawn(state: Words, index: int) -> Words:
    """Return the state of child stream number ``index``.

    It depends on the key of ``state`` and not on how much was drawn from it, so child ``i`` is always the
    same.

    Examples
    --------
    >>> first, second = spawn(seed_state(7), 0), spawn(seed_state(7), 1)
    >>> bool((first[:2] != second[:2]).any())
    True
    """
    if not 0 <= index <= MASK64:
        raise ScanvizValueError(
            "the number of a random stream is out of range", expected="0 to 2**64 - 1", found=index
        )
    key0, key1 = state[:2].tolist()
    words = one_block(key_schedule(key0, key1), index | _SPAWN_LANE << 96)
    return np.array([*words[:2], 0, 0, 0, 0], np.uint32)


def split(state: Words, streams: int) -> list[Words]:
    """Return the states of the first ``streams`` children of ``state`` (see :func:`spawn`)."""
    return [spawn(state, index) for index in range(streams)]


def advance(state: Words, blocks: int) -> Words:
    """Return a new state whose 128-bit counter is ``blocks`` further; negative goes back.

    Examples
    --------
    >>> advance(seed_state(7), 2**32 + 5)
    array([7, 0, 5, 1, 0, 0], dtype=uint32)
    """
    new = state.copy()
    low = int(state[2]) + blocks
    if 0 <= low <= MASK32:
        new[2] = low
    else:
        counter = (_counter(state) + blocks) & MASK128
        new[2:] = [counter >> 32 * word & MASK32 for word in range(4)]
    return new


def draw_blocks(state: Words, n: int, lane: int = 0) -> Words:
    """Return the ``n`` blocks that start at the state's counter, in lane ``lane``: uint32 of shape (n, 4), not to be written to."""
    key0, key1, word0, word1, word2, word3 = state.tolist()
    start = word0 | word1 << 32 | word2 << 64 | word3 << 96
    return next_blocks(key0, key1, lane, start + (lane << 96), n)


def blocks_at(state: Words, offsets: npt.NDArray[np.int64], lane: int = 0) -> Words:
    """Return the blocks at ``counter + offsets`` in lane ``lane``: uint32 of shape (len(offsets), 4).

    Parameters
    ----------
    offsets : numpy.ndarray
        Non-negative int64 of shape (n,), in any order.
    """
    return scattered_blocks(key_schedule(*state[:2].tolist()), _counter(state) + (lane << 96), offsets)


def draw_words(state: Words, n: int, lane: int = 0) -> Words:
    """Return ``n`` 32-bit words, uint32 of shape (n,): element ``i`` is word ``i % 4`` of block ``i // 4``."""
    return draw_blocks(state, blocks_of_words(n), lane).reshape(-1)[:n]


def draw_words64(state: Words, n: int, lane: int = 0) -> Words64:
    """Return ``n`` 64-bit words, uint64 of shape (n,): element ``i`` is half ``i % 2`` of block ``i // 2``."""
    return pairs(draw_blocks(state, blocks_of_words64(n), lane)).reshape(-1)[:n]


def pieces_of_words64(state: Words, n: int) -> Iterator[tuple[slice, Words64]]:
    """Iterate over the words of ``draw_words64(state, n)`` in pieces that fit the cache, with where each belongs.

    A piece may be written to, and is overwritten by the next.
    """
    most = min(PIECE, blocks_of_words64(n))
    schedule, start = key_schedule(*state[:2].tolist()), _counter(state)
    memory, room = new_memory(most), new_room(most)
    for first in range(0, n, 2 * PIECE):
        size = min(2 * PIECE, n - first)
        piece = memory[: blocks_of_words64(size)]
        write_blocks(schedule, start + first // 2, piece, room)
        yield slice(first, first + size), piece.reshape(-1)[:size].astype(np.uint64, copy=False)


def draw_word64(state: Words) -> int:
    """Return the one 64-bit word that ``draw_words64(state, 1)`` gives, as a Python integer."""
    return draw_pair64(state)[0]


def draw_pair64(state: Words) -> tuple[int, int]:
    """Return the two 64-bit words that ``draw_words64(state, 2)`` gives, as Python integers."""
    low, high, next_low, next_high = draw_blocks(state, 1)[0].tolist()
    return high << 32 | low, next_high << 32 | next_low


def blocks_of_words(n: int) -> int:
    """Return how many blocks ``n`` 32-bit words take."""
    return (n + 3) // 4


def blocks_of_words64(n: int) -> int:
    """Return how many blocks ``n`` 64-bit words take."""
    return (n + 1) // 2


def pairs(blocks: Words) -> Words64:
    """Return the two 64-bit words of each block, low half first: uint64 of shape (n, 2)."""
    return blocks.astype("<u4", copy=False).view("<u8").astype(np.uint64, copy=False)


def _counter(state: Words) -> int:
    _, _, word0, word1, word2, word3 = state.tolist()
    counter: int = word0 | word1 << 32 | word2 << 64 | word3 << 96
    return counter
